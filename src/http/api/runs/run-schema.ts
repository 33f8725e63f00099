/** The bodies of the run routes: their schemas, and the functions that make them of runs. */
import { z } from 'zod';

import type { Int64 } from '../../../model/json.ts';
import { SEVERITIES } from '../../../model/rules.ts';
import { CHECK_LIMITS, checkOf, lateSteps } from '../../../model/run-check.ts';
import {
  CHECKED,
  EVALUATION_STATES,
  namesOfRun,
  RUN_STATES,
  type RunSummary,
  WAITS,
  type WaitTimes,
  waitOf,
} from '../../../model/runs.ts';
import { type StepOutline, SURFACES } from '../../../model/steps.ts';
import { usageInApi } from '../../../model/usage.ts';
import {
  type BodyOf,
  bodyFrom,
  component,
  count,
  hex8,
  hex16,
  nextCursor,
  timestamp,
} from '../openapi/component.ts';
import { corpusIdentity } from '../rules/rule-schema.ts';

const name = z.string().nullable();
const countOrNull = (description: string) =>
  z.int().min(0).nullable().describe(`${description} Null until the run is evaluated.`);

const timestampOrNull = (description: string) =>
  z.iso.datetime({ offset: true }).nullable().describe(description);

const members = {
  id: hex16('The trace id; for a run without a trace, a hash of service, session and prompt.'),
  state: z.enum(RUN_STATES),
  evaluation: z.enum(EVALUATION_STATES).describe('Whether its text was matched against the rules.'),
  name: name.describe('Name of the root span; null if unknown or redacted.'),
  title: name.describe(
    'The beginning of the first text that a user sent. Null until the run is evaluated, if the ' +
      'workspace redacts excerpts, and once the steps are past retention.',
  ),
  ...namesOfRun(() => name),
  started_at: timestampOrNull('With nanoseconds; null until a step with a time has arrived.'),
  ended_at: timestampOrNull('With nanoseconds; null until a step with a time has arrived.'),
  first_arrived_at: timestamp('When its first step arrived.'),
  last_arrived_at: timestamp('When its latest step arrived.'),
  ...usageInApi((field) =>
    (field === 'costUsd' ? z.number() : z.int())
      .min(0)
      .nullable()
      .describe('Sum over its steps, as the sender reports it. Null until the run is evaluated.'),
  ),
  spans: count(
    'Spans that arrived. Those that were sent again with the same content count once: in lists, from the evaluation on.',
  ),
  repeated_spans: count(
    'Spans that were sent again with the same content, and are counted by no other number.',
  ),
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
      'Identity of that corpus, as in `GET /platform/v1/atr/rules`. Null until the run is evaluated.',
    ),
  late_steps: count(
    'Steps that arrived after the evaluation and were not matched. They are evaluated by themselves, once, ' +
      '`RUN_SETTLE_MS` after the last of them; if `evaluation` is `evaluation_failed`, every attempt at that failed.',
  ),
  late_evaluated_steps: count(
    'Steps that arrived after the evaluation and were evaluated by themselves.',
  ).optional(),
  late_evaluated_at: timestamp('When the last of them were. Absent if there are none.').optional(),
  unread_steps: countOrNull(
    'Steps that were not matched, or not in full, because the run exceeds the limits of one evaluation (steps, bytes, CPU time).',
  ),
  checked: z
    .enum(CHECKED)
    .describe(
      'How much of the run was checked. `pending`: not evaluated yet. `failed`: every ' +
        'attempt failed. `nothing`: no text was found. `tool_names_only`: the only texts were names ' +
        'of tools. `partly`: `check_limits` says why. `fully`: every text that was sent.',
    ),
  check_limits: z
    .array(z.enum(CHECK_LIMITS))
    .describe('Why not everything was checked: names of the members that say how much was not.'),
  texts: countOrNull('Texts in its steps; 0 if the sender sent none.'),
  surfaces: z
    .array(z.enum(SURFACES))
    .nullable()
    .describe('Kinds of its texts. Null until the run is evaluated.'),
  truncated_texts: countOrNull(
    'Texts that were left out or matched in part, because a surface of a step has more than `text_cap_bytes`.',
  ),
  text_cap_bytes: z
    .int()
    .min(1)
    .nullable()
    .describe('`SURFACE_CAP_BYTES` at the time of the evaluation. Null until then.'),
  unparsed_values: countOrNull(
    'Values that were matched as plain text because they are too large or too deeply nested to parse.',
  ),
  text_incomplete: z
    .boolean()
    .nullable()
    .describe('Whether its sender reports missing text. Null until the run is evaluated.'),
  text_gaps: z
    .array(z.enum(['dropped_by_sender', 'cut_by_sender', 'withheld_by_sender', 'stored_elsewhere']))
    .nullable()
    .describe('Why text is missing.'),
  unread_texts: countOrNull(
    'Attributes with long text that Sluice does not know how to read; they were not checked.',
  ),
  unread_keys: z
    .array(z.string())
    .nullable()
    .describe('Keys of the first 20 of them. Numbers in keys are shown as `N`.'),
  unknown_roles: z
    .array(z.string())
    .nullable()
    .describe(
      'The first 20 roles of messages that Sluice does not know. Their texts were matched as user input or agent answer, and as tool results.',
    ),
  capture_hint: z
    .string()
    .nullable()
    .describe(
      'The line of configuration or code that makes its instrumentation send text, where nothing but ' +
        'tool names came, or text was withheld.',
    ),
  findings: count('Number of findings in the run.'),
  highest_severity: z.enum(SEVERITIES).nullable().describe('Highest severity of its findings.'),
};

export const runItem = component('RunItem', z.object(members).describe('A run in a list.'));

export const runStep = component(
  'RunStep',
  z
    .object({
      source: z.enum(['span', 'log']),
      name: name.describe('Null if the workspace redacts and a rule matched the name.'),
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
            texts: count('Number of texts.'),
            bytes: count('Total length in bytes (UTF-8).'),
          }),
        )
        .describe('How much text the step has, by surface; never the text itself.'),
      cut: z
        .boolean()
        .describe(
          'The step is larger than 48 KiB, or deeply structured, and was not read whole: its name and the sizes of its ' +
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
      steps: z.array(runStep).describe('The first steps, in time order.'),
      steps_left_out: count('Number of further steps that are not listed.'),
      unreadable_blocks: count(
        'Stored blocks with steps of the run that could not be read, because they are damaged or missing. `checked` is never `fully` then.',
      ),
      unreadable_steps: count('Steps of the run in these blocks.'),
    })
    .describe('One run with an outline of its steps.'),
);

export const runPage = component(
  'RunPage',
  z
    .object({
      runs: z.array(runItem),
      next_cursor: nextCursor,
      searched_to: timestamp(
        'Of a sorted list: runs that arrived before were not sorted; the same request with this as `until` sorts them. ' +
          'Null when all were.',
      ).nullable(),
    })
    .describe('A page of runs.'),
);

export const runSearch = component(
  'RunSearch',
  z
    .object({
      runs: z.array(
        runItem.extend({
          text_match: z
            .object({ before: z.string(), match: z.string(), after: z.string() })
            .describe('The first place of the text, with up to 80 characters on either side.'),
        }),
      ),
      searched_to: z.iso
        .datetime({ offset: true })
        .nullable()
        .describe('What arrived since then is searched. Null once the whole range is searched.'),
      blocks_tested: count('Stored blocks whose filters were tested for this page.'),
      blocks_read: count('Blocks that were read for this page.'),
      blocks_unreadable: count('Blocks that could not be read: the text may be in them.'),
      pending_left_out: z
        .boolean()
        .describe('Some runs are not evaluated yet and were not searched. Search again later.'),
      next_cursor: nextCursor,
    })
    .describe('A page of a search, the newest runs first.'),
);

const anyMembers = z.array(z.looseObject({}));

export const exportedRun = component(
  'ExportedRun',
  z
    .object({ resourceSpans: anyMembers.optional(), resourceLogs: anyMembers.optional() })
    .describe('A `TraceRequest` or a `LogsRequest`, by `signal`: a body that the ingest takes.'),
);

const NANOS_PER_MS = 1_000_000n;

/** Nanoseconds since 1970 as RFC 3339, to the nanosecond. */
export function isoOfNanos(nanos: Int64): string {
  const value = BigInt(nanos);
  const below = ((value % NANOS_PER_MS) + NANOS_PER_MS) % NANOS_PER_MS;
  const date = new Date(Number((value - below) / NANOS_PER_MS));
  return date.toISOString().replace('Z', `${String(below).padStart(6, '0')}Z`);
}

const orNull = (nanos: Int64 | null): string | null => (nanos === null ? null : isoOfNanos(nanos));

export function toRunItem(run: RunSummary, times: WaitTimes): BodyOf<typeof runItem> {
  const wait = waitOf(run, times);
  const { checked, limits } = checkOf(run);
  const { lateEvaluatedAt, lateEvaluatedSteps, ...known } = run;
  return bodyFrom(runItem, {
    ...known,
    checked,
    checkLimits: limits,
    id: run.runId,
    agent: run.agentName,
    service: run.serviceName,
    startedAt: orNull(run.startUnixNano),
    endedAt: orNull(run.endUnixNano),
    firstArrivedAt: run.firstArrivalAt,
    lastArrivedAt: run.lastArrivalAt,
    waitsFor: wait?.for ?? null,
    evaluationDueAt: wait?.until ?? null,
    lateSteps: lateSteps(run),
    ...(lateEvaluatedAt != null && {
      lateEvaluatedAt,
      lateEvaluatedSteps: lateEvaluatedSteps ?? 0,
    }),
    textIncomplete: run.textGaps === null ? null : run.textGaps.length > 0,
    findings: run.severities.length,
    highestSeverity: SEVERITIES.find((one) => run.severities.includes(one)) ?? null,
  });
}

const STATUS_WORDS = ['unset', 'ok', 'error'] as const;

export function toRunStep(step: StepOutline): BodyOf<typeof runStep> {
  return bodyFrom(runStep, {
    ...step,
    service: step.serviceName,
    startedAt: isoOfNanos(step.startUnixNano),
    endedAt: isoOfNanos(step.endUnixNano),
    status: STATUS_WORDS[step.statusCode] ?? 'unset',
    cut: step.isCut,
  });
}
