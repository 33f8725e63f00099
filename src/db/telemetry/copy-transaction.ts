/**
 * Stores a batch in one transaction, sent as one pipeline: receipts, COPY of blocks and of places, session
 * marks, then the runs.
 *
 * Runs are upserted last, so that their row locks are held for the shortest time. Every writer takes
 * its locks in one order (receipts, runs; in each by key), so there are no deadlocks.
 */
import type { Connection } from '../database.ts';
import { NEXT_TURN, type PipelineStep, runPipeline, type Statement } from '../pipeline.ts';
import { SEQUENTIAL, type TelemetryPlacement } from '../placement.ts';
import { ARRIVED_AFTER_CLAIMS, arrivedSteps } from '../runs/late-steps.ts';
import type { SettleAllowance } from '../runs/run-times.ts';
import { type Block, copyBlocks } from './blocks.ts';
import type { EncodedRequest } from './encoded-request.ts';
import type { SessionMark } from './log-runs.ts';
import { mergeDeltas, type RunDelta } from './run-delta.ts';

interface OwnedMark extends SessionMark {
  readonly workspaceId: number;
}

/** Appended, never updated: `session-runs.ts` takes them from there. */
function insertSessionMarks(marks: readonly OwnedMark[]): Statement {
  return {
    text: `INSERT INTO session_marks (workspace_id, session_key, run_id, at_unix_nano)
           SELECT * FROM unnest($1::int[], $2::uuid[], $3::uuid[], $4::bigint[])`,
    columns: [
      marks.map(({ workspaceId }) => workspaceId),
      marks.map(({ sessionKey }) => sessionKey),
      marks.map(({ runId }) => runId),
      marks.map(({ atUnixNano }) => atUnixNano),
    ],
  };
}

/** Merges the deltas into the stored runs, by the rules by which `run-delta.ts` merges deltas. */
function upsertRuns(deltas: readonly RunDelta[], allowance: SettleAllowance | null): Statement {
  const column = <T>(value: (delta: RunDelta) => T) => deltas.map(value);
  return {
    text: `INSERT INTO runs AS r (workspace_id, run_id, state, name, service_name,
             start_unix_nano, end_unix_nano, spans, log_records, session_key, settles_until)
           SELECT t.*, now() + make_interval(secs => ($11::float8[])[
                         CASE WHEN t.state = 'running' THEN 1 ELSE 2 END] / 1000)
             FROM unnest($1::int[], $2::uuid[], $3::text[], $4::text[], $5::text[],
               $6::bigint[], $7::bigint[], $8::int[], $9::int[], $10::uuid[])
               AS t (workspace, run, state, name, service, start, "end", spans, logs, session)
           ON CONFLICT (workspace_id, run_id) DO UPDATE SET
             state = CASE WHEN r.state = 'failed' OR excluded.state = 'running' THEN r.state
                          ELSE excluded.state END,
             name = least(r.name COLLATE "C", excluded.name),
             service_name = CASE
               WHEN (r.state IN ('completed', 'failed')) = (excluded.state <> 'running')
                 THEN least(r.service_name COLLATE "C", excluded.service_name)
               WHEN excluded.state = 'running' THEN r.service_name
               ELSE excluded.service_name END,
             start_unix_nano = least(r.start_unix_nano, excluded.start_unix_nano),
             end_unix_nano = greatest(r.end_unix_nano, excluded.end_unix_nano),
             spans = r.spans + excluded.spans,
             log_records = r.log_records + excluded.log_records,
             session_key = coalesce(r.session_key, excluded.session_key),
             ${arrivedSteps(
               'now() + make_interval(secs => ($11::float8[])[2] / 1000)',
               `CASE WHEN r.state = 'running' AND excluded.state <> 'running'
                     THEN excluded.settles_until ELSE r.settles_until END`,
             )},
             last_arrival_at = now()`,
    columns: [
      column((delta) => delta.workspaceId),
      column((delta) => delta.runId),
      column((delta) => (delta.failed ? 'failed' : delta.finished ? 'completed' : 'running')),
      column((delta) => delta.name),
      column((delta) => delta.serviceName),
      column((delta) => delta.startUnixNano),
      column((delta) => delta.endUnixNano),
      column((delta) => delta.spans),
      column((delta) => delta.logRecords),
      column((delta) => delta.sessionKey),
      [allowance?.openMs ?? null, allowance?.finishedMs ?? null],
    ],
  };
}

/** Follows `upsertRuns` of the same runs. */
function noteAfterClaims(deltas: readonly RunDelta[]): Statement {
  return {
    text: ARRIVED_AFTER_CLAIMS,
    columns: [deltas.map(({ workspaceId }) => workspaceId), deltas.map(({ runId }) => runId)],
  };
}

const runCharacters = ({ name, serviceName }: RunDelta): number =>
  (name?.length ?? 0) + (serviceName?.length ?? 0);

/** More runs are sorted, which takes milliseconds, in a separate turn of the event loop. */
const SORTED_BESIDE_MAX = 2000;

interface BatchSettings {
  /** for how long arrivals delay the evaluation of a run; null: without limit */
  readonly allowance?: SettleAllowance | null;
  readonly receipts?: Iterable<PipelineStep>;
  /** how long a step waits for the locks of others; without limit by default */
  readonly lockTimeoutMs?: number | null;
  readonly placement?: TelemetryPlacement;
  readonly blocks: readonly Block[];
  /** called with the transaction's time before COMMIT is sent; what it throws prevents it */
  readonly onCommit?: (nowMs: number) => void;
}

type BatchContents = Required<Pick<BatchSettings, 'allowance' | 'receipts' | 'blocks'>>;

/** The statements of a batch, created as they are sent, thousands of rows group by group. */
function* stepsOf(
  requests: readonly EncodedRequest[],
  { allowance, receipts, blocks }: BatchContents,
): Generator<PipelineStep, void> {
  yield* receipts;
  yield* copyBlocks(blocks);
  const marks = requests.flatMap(({ workspaceId, sessionMarks }) =>
    sessionMarks.map((mark) => ({ workspaceId, ...mark })),
  );
  for (const rows of rowGroups(marks)) yield insertSessionMarks(rows);
  const areMany = requests.reduce((sum, { runs }) => sum + runs.length, 0) > SORTED_BESIDE_MAX;
  if (areMany) yield NEXT_TURN;
  const deltas = mergeDeltas(requests.map(({ runs }) => runs));
  if (areMany) yield NEXT_TURN;
  for (const rows of rowGroups(deltas, runCharacters)) yield upsertRuns(rows, allowance);
  for (const rows of rowGroups(deltas)) yield noteAfterClaims(rows);
}

/** Stores a batch in a separate transaction. After an error the transaction is still open. */
export async function storeBatch(
  connection: Connection,
  requests: readonly EncodedRequest[],
  {
    allowance = null,
    receipts = [],
    lockTimeoutMs = null,
    placement = 'local',
    blocks,
    onCommit = () => {},
  }: BatchSettings,
): Promise<void> {
  const steps = stepsOf(requests, { allowance, receipts, blocks });
  await runPipeline(connection, steps, {
    settings: {
      ...(lockTimeoutMs === null ? {} : { lock_timeout: String(lockTimeoutMs) }),
      ...(placement === 'local' ? {} : SEQUENTIAL),
    },
    beforeCommit: onCommit,
  });
}

/** Most rows of a statement; serializing ten columns of that many takes two milliseconds. */
const ROWS_MAX = 1000;
/** Most characters of text in a statement's rows; a single row may have more. */
const CHARACTERS_MAX = 512 * 1024;

/** Splits rows into groups, in order. @param charactersOf the length of a row's texts, where that varies */
function* rowGroups<Row>(
  rows: readonly Row[],
  charactersOf: (row: Row) => number = () => 0,
): Generator<readonly Row[], void> {
  let start = 0;
  let characters = 0;
  for (const [index, row] of rows.entries()) {
    const own = charactersOf(row);
    const isFull = index - start >= ROWS_MAX || characters + own > CHARACTERS_MAX;
    if (isFull && index > start) {
      yield rows.slice(start, index);
      start = index;
      characters = 0;
    }
    characters += own;
  }
  if (start < rows.length) yield start === 0 ? rows : rows.slice(start);
}
