/** The runs in the read API: a page, newest first, and one by its id with an outline of its steps. */
import { z } from 'zod';

import type { Store } from '../../../db/store.ts';
import { SluiceError } from '../../../errors.ts';
import type { Hex16, Int64 } from '../../../model/json.ts';
import { SEVERITIES } from '../../../model/rules.ts';
import { checkOf, lateSteps } from '../../../model/run-check.ts';
import { type WaitTimes, waitOf } from '../../../model/run-wait.ts';
import {
  CHECKED,
  EVALUATION_STATES,
  namesOfRun,
  RUN_NAME_ROWS,
  RUN_STATES,
  type RunFilter,
  type RunSummary,
  toNamed,
} from '../../../model/runs.ts';
import type { StepOutline } from '../../../model/steps.ts';
import { NDJSON_TYPE, type StreamedAnswer } from '../../transport/exchange.ts';
import { json } from '../../transport/problem.ts';
import {
  flag,
  idOf,
  moment,
  pageCursor,
  parseQuery,
  toCursor,
  wholeNumber,
} from '../../transport/query.ts';
import type { AuthorizedHandler } from '../authorized.ts';
import type { BodyOf } from '../openapi/component.ts';
import type { run as runBody, runItem, runPage, runStep } from './run-schema.ts';

export interface RunReader {
  /** how long runs wait for their evaluation */
  readonly times: WaitTimes;
  readonly list: Store['runs']['list'];
  /** with the first steps in time, and the number of further ones */
  readonly find: (
    workspaceId: number,
    id: Hex16,
  ) => Promise<{
    run: RunSummary;
    steps: readonly StepOutline[];
    stepsLeftOut: number;
  } | null>;
  /**
   * the run as a request of OTLP
   * @throws {SluiceError} `not_found` without such a run, `conflict` where the workspace redacts
   */
  readonly exportOtlp: (
    workspaceId: number,
    id: Hex16,
    signal: 'traces' | 'logs',
  ) => Promise<AsyncIterable<Buffer>>;
}

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 500;
/** The length to which stored names are cut. */
const NAME_CHARS_MAX = 256;

const name = z.string().max(NAME_CHARS_MAX).optional();

/** The parameters of the list. */
export const runsQuery = z.object({
  state: z.enum(RUN_STATES).optional().describe('Only runs in this state.'),
  evaluation: z
    .enum(EVALUATION_STATES)
    .optional()
    .describe('Only runs whose evaluation has this state.'),
  ...namesOfRun((label) =>
    name.describe(`Only runs whose ${label} contains this text, in any case.`),
  ),
  session_id: name.describe(
    'Only runs of this session; where no run has this whole id, of sessions whose id contains it.',
  ),
  text_incomplete: flag
    .optional()
    .describe('`true`: only runs whose sender reports missing text; `false`: only others.'),
  checked: z.enum(CHECKED).optional().describe('Only runs with this state of checking.'),
  has_findings: flag
    .optional()
    .describe('`true`: only runs with findings; `false`: only runs without.'),
  since: moment.optional().describe('Only runs whose first step arrived then or later.'),
  until: moment.optional().describe('Only runs whose first step arrived before.'),
  cursor: pageCursor.optional().describe('`next_cursor` of the page before.'),
  limit: wholeNumber(1, LIMIT_MAX, LIMIT_DEFAULT).describe('Runs on a page.'),
});

const NANOS_PER_MS = 1_000_000n;

/** Nanoseconds since 1970 as RFC 3339, to the nanosecond. */
export function isoOfNanos(nanos: Int64): string {
  const value = BigInt(nanos);
  const below = ((value % NANOS_PER_MS) + NANOS_PER_MS) % NANOS_PER_MS;
  const date = new Date(Number((value - below) / NANOS_PER_MS));
  return date.toISOString().replace('Z', `${String(below).padStart(6, '0')}Z`);
}

const orNull = (nanos: Int64 | null): string | null => (nanos === null ? null : isoOfNanos(nanos));

/** The parameters of the export of a run. */
export const otlpQuery = z.object({
  signal: z
    .enum(['traces', 'logs'])
    .default('traces')
    .describe('`traces`: the spans of the run. `logs`: its log records.'),
});

/** A run as the list shows it. */
export function toRunItem(run: RunSummary, times: WaitTimes): BodyOf<typeof runItem> {
  const wait = waitOf(run, times);
  const { startUnixNano: start, endUnixNano: end } = run;
  const { checked, limits } = checkOf(run);
  return {
    id: run.runId,
    state: run.state,
    evaluation: run.evaluation,
    name: run.name,
    title: run.title,
    ...toNamed(run),
    started_at: orNull(start),
    ended_at: orNull(end),
    first_arrived_at: run.firstArrivalAt.toISOString(),
    last_arrived_at: run.lastArrivalAt.toISOString(),
    input_tokens: run.inputTokens,
    output_tokens: run.outputTokens,
    cost_usd: run.costUsd,
    spans: run.spans,
    repeated_spans: run.repeatedSpans,
    log_records: run.logRecords,
    waits_for: wait?.for ?? null,
    evaluation_due_at: wait?.until.toISOString() ?? null,
    evaluated_at: run.evaluatedAt?.toISOString() ?? null,
    corpus_version: run.corpusVersion,
    corpus_identity: run.corpusIdentity,
    late_steps: lateSteps(run),
    ...(run.lateEvaluatedAt != null && {
      late_evaluated_steps: run.lateEvaluatedSteps ?? 0,
      late_evaluated_at: run.lateEvaluatedAt.toISOString(),
    }),
    unread_steps: run.unreadSteps,
    checked,
    check_limits: [...limits],
    texts: run.texts,
    surfaces: run.surfaces,
    truncated_texts: run.truncatedTexts,
    text_cap_bytes: run.textCapBytes,
    unparsed_values: run.unparsedValues,
    text_incomplete: run.textGaps === null ? null : run.textGaps.length > 0,
    text_gaps: run.textGaps,
    unread_texts: run.unreadTexts,
    unread_keys: run.unreadKeys,
    unknown_roles: run.unknownRoles,
    capture_hint: run.captureHint,
    findings: run.severities.length,
    highest_severity: SEVERITIES.find((one) => run.severities.includes(one)) ?? null,
  };
}

const STATUS_WORDS = ['unset', 'ok', 'error'] as const;

/** A step of a run, as its outline shows it. */
export function toRunStep(step: StepOutline): BodyOf<typeof runStep> {
  return {
    source: step.source,
    name: step.name,
    kind: step.kind,
    span_id: step.spanId,
    parent_span_id: step.parentSpanId,
    service: step.serviceName,
    started_at: isoOfNanos(step.startUnixNano),
    ended_at: isoOfNanos(step.endUnixNano),
    status: STATUS_WORDS[step.statusCode] ?? 'unset',
    surfaces: step.surfaces,
    cut: step.isCut,
  };
}

/** The filter of a query. */
export function runFilterOf(query: z.infer<typeof runsQuery>): RunFilter {
  return {
    state: query.state,
    evaluation: query.evaluation,
    ...Object.fromEntries(RUN_NAME_ROWS.map(({ key, name }) => [key, query[name]])),
    textIncomplete: query.text_incomplete,
    checked: query.checked,
    hasFindings: query.has_findings,
    since: query.since,
    until: query.until,
  };
}

/** `GET /platform/v1/runs` */
export function listRuns(reader: Pick<RunReader, 'list' | 'times'>): AuthorizedHandler {
  return async (exchange, { workspaceId }) => {
    const query = parseQuery(runsQuery, exchange.query);
    const { cursor = null, limit } = query;
    const { runs, next } = await reader.list(
      workspaceId,
      runFilterOf(query),
      cursor,
      limit,
      exchange.signal,
    );
    const body: BodyOf<typeof runPage> = {
      runs: runs.map((run) => toRunItem(run, reader.times)),
      next_cursor: toCursor(next),
    };
    return json(body);
  };
}

/** `GET /platform/v1/runs/{runId}` */
export function showRun(reader: Pick<RunReader, 'find' | 'times'>): AuthorizedHandler {
  return async (_exchange, { workspaceId }, { runId }) => {
    const id = idOf(runId);
    const found = id === null ? null : await reader.find(workspaceId, id);
    if (found === null) throw new SluiceError('not_found', 'This workspace has no such run.');
    const { run, steps, stepsLeftOut } = found;
    const body: BodyOf<typeof runBody> = {
      ...toRunItem(run, reader.times),
      steps: steps.map(toRunStep),
      steps_left_out: stepsLeftOut,
      unreadable_blocks: run.unreadable?.blocks ?? 0,
      unreadable_steps: run.unreadable?.steps ?? 0,
    };
    return json(body);
  };
}

/** `GET /platform/v1/runs/{runId}/otlp` */
export function exportRun(
  reader: Pick<RunReader, 'exportOtlp'>,
): AuthorizedHandler<StreamedAnswer> {
  return async (exchange, { workspaceId }, { runId }) => {
    const { signal } = parseQuery(otlpQuery, exchange.query);
    const id = idOf(runId);
    if (id === null) throw new SluiceError('not_found', 'This workspace has no such run.');
    const chunks = await reader.exportOtlp(workspaceId, id, signal);
    return { contentType: NDJSON_TYPE, chunks };
  };
}
