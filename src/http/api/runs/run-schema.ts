/** The bodies of the run routes. */
import { z } from 'zod';

import { SEVERITIES } from '../../../model/rules.ts';
import { CHECK_LIMITS } from '../../../model/run-check.ts';
import { WAITS } from '../../../model/run-wait.ts';
import { CHECKED, EVALUATION_STATES, RUN_STATES } from '../../../model/runs.ts';
import { SURFACES } from '../../../model/steps.ts';
import { component, count, hex8, hex16, nextCursor, timestamp } from '../openapi/component.ts';
import { corpusIdentity } from '../rules/rule-schema.ts';

const name = z.string().nullable();
const countOrNull = (description: string) =>
  z.int().min(0).nullable().describe(`${description} Null until the run is evaluated.`);

const timestampOrNull = (description: string) =>
  z.iso.datetime({ offset: true }).nullable().describe(description);

const members = {
  id: hex16('Its trace id, or a hash of service, session and prompt where there is no trace.'),
  state: z.enum(RUN_STATES),
  evaluation: z.enum(EVALUATION_STATES).describe('Was its text matched against the rules?'),
  name: name.describe('Of its root span. Null where it is redacted, too.'),
  service: name,
  agent: name,
  model: name,
  session_id: name,
  user_id: name,
  started_at: timestampOrNull('To the nanosecond; null while no step has arrived that has it.'),
  ended_at: timestampOrNull('To the nanosecond; null while no step has arrived that has it.'),
  first_arrived_at: timestamp('When its first step arrived.'),
  last_arrived_at: timestamp('When its latest step arrived.'),
  spans: count('Spans that arrived.'),
  log_records: count('Log records that arrived.'),
  waits_for: z
    .enum(WAITS)
    .nullable()
    .describe(
      'What its evaluation waits for. `session_end`: the next prompt of its session or the end of it. ' +
        '`root_span`: a span without a parent. `late_steps`: it is finished, and further steps may ' +
        'arrive. Null once it is evaluated.',
    ),
  evaluation_due_at: timestampOrNull(
    'When its evaluation begins at the latest, give or take `PASS_INTERVAL_MS`, if nothing more of it ' +
      'arrives. Null once it is evaluated.',
  ),
  evaluated_at: timestampOrNull('Null until the run is evaluated.'),
  corpus_version: z
    .string()
    .nullable()
    .describe(
      'Version of the rule corpus it was matched against. Null until the run is evaluated.',
    ),
  corpus_identity: corpusIdentity
    .nullable()
    .describe(
      'Identity of that corpus, as in `GET /platform/v1/atr/rules`. Null until the run is evaluated, and for runs ' +
        'evaluated by a version of Sluice that did not record it.',
    ),
  late_steps: count('Steps that arrived after its evaluation, and were not matched.'),
  unread_steps: countOrNull(
    'Steps that were not matched, or not in full: past the steps, bytes or CPU time of one evaluation.',
  ),
  checked: z
    .enum(CHECKED)
    .describe(
      'What of it was checked, by the worst that is known. `pending`: not evaluated yet. `failed`: every ' +
        'attempt failed. `nothing`: no text was found. `tool_names_only`: the only texts were names ' +
        'of tools. `partly`: `check_limits` says why. `not_recorded`: evaluated by an older version, ' +
        'which did not record what its texts were. `fully`: every text that was sent.',
    ),
  check_limits: z
    .array(z.enum(CHECK_LIMITS))
    .describe('Why not everything was checked; the member of that name says how much.'),
  texts: countOrNull('Texts of its steps; 0 means that the sender sends none.'),
  surfaces: z
    .array(z.enum(SURFACES))
    .nullable()
    .describe('What its texts were. Null until the run is evaluated, and for `not_recorded`.'),
  truncated_texts: countOrNull('Texts of which only the first `text_cap_bytes` were matched.'),
  text_cap_bytes: z
    .int()
    .min(1)
    .nullable()
    .describe(
      '`SURFACE_CAP_BYTES` at its evaluation. Null until then, and where an older version ran it.',
    ),
  unparsed_values: countOrNull(
    'Values whose strings were matched as they are written, not parsed: too large or too deep.',
  ),
  text_incomplete: z
    .boolean()
    .nullable()
    .describe('Does its sender say that text is missing? Null until the run is evaluated.'),
  text_gaps: z
    .array(z.enum(['dropped_by_sender', 'cut_by_sender', 'withheld_by_sender', 'stored_elsewhere']))
    .nullable()
    .describe('Why text is missing.'),
  capture_hint: z
    .string()
    .nullable()
    .describe(
      'The line of configuration or code that makes its instrumentation send text, where nothing but ' +
        'tool names came, or text was withheld.',
    ),
  findings: count('Findings in it.'),
  highest_severity: z.enum(SEVERITIES).nullable().describe('Of its findings.'),
};

export const runItem = component('RunItem', z.object(members).describe('A run in a list.'));

export const runStep = component(
  'RunStep',
  z
    .object({
      source: z.enum(['span', 'log']),
      name: name.describe('Null where the workspace redacts and a rule matched it.'),
      kind: z.enum([
        'tool',
        'llm',
        'agent',
        'chain',
        'retriever',
        'embedding',
        'duplicate',
        'other',
      ]),
      span_id: hex8('Null for a log record that names no span.'),
      parent_span_id: hex8('Null for a root span.'),
      service: z.string().nullable(),
      started_at: timestamp('To the nanosecond.'),
      ended_at: timestamp('To the nanosecond.'),
      status: z.enum(['unset', 'ok', 'error']),
      surfaces: z
        .array(
          z.object({
            surface: z.enum(SURFACES),
            texts: count('Texts on it.'),
            bytes: count('Their length in UTF-8.'),
          }),
        )
        .describe('How much text the step has, by surface; never the text itself.'),
      cut: z
        .boolean()
        .describe(
          'The step is larger than 48 KiB and was not read whole: its name and the sizes of its ' +
            'texts are those of the part that was read.',
        ),
    })
    .describe('A span of a run, or a log record.'),
);

export const run = component(
  'Run',
  z
    .object({
      ...members,
      steps: z.array(runStep).describe('The first steps in time.'),
      steps_left_out: count('Further steps.'),
    })
    .describe('One run with an outline of its steps.'),
);

export const runPage = component(
  'RunPage',
  z.object({ runs: z.array(runItem), next_cursor: nextCursor }).describe('Runs, the newest first.'),
);
