/** Finds the runs of an export in the order of their arrival, with the days on which their records arrived. */
import type { Hex16, Int64 } from '../../model/json.ts';
import type { Database, Queryable } from '../database.ts';
import { fromMicros, toMicros, utcDayOf } from '../sql-times.ts';
import type { RunToRead } from './run-to-read.ts';

/** Runs that one statement looks through: about 50 ms of work (two slow cores). */
const PAGE_RUNS = 10_000;

export interface RunCursor {
  /** microseconds since 1970 of its first arrival */
  readonly atMicros: Int64;
  readonly runId: Hex16;
}

export interface RunsOfAgent {
  readonly workspaceId: number;
  readonly agent: string;
  /** runs that are over before, or begin at or after, are left out; milliseconds since 1970 */
  readonly sinceMs: number | null;
  readonly untilMs: number | null;
}

export type ExportedRun = RunToRead & RunCursor;

const COLUMNS = `workspace_id AS "workspaceId", run_id AS "runId", ${toMicros('first_arrival_at')} AS "atMicros",
  ${utcDayOf('first_arrival_at')} AS "firstArrivalOn", ${utcDayOf('last_arrival_at')} AS "lastArrivalOn"`;

const NANOS_OF_MS = 1_000_000n;
const toNanos = (ms: number | null): string | null =>
  ms === null ? null : String(BigInt(ms) * NANOS_OF_MS);

const OF_AGENT = `
  WITH page AS (
    SELECT workspace_id, run_id, first_arrival_at, last_arrival_at, agent_name, start_unix_nano, end_unix_nano
      FROM runs
     WHERE workspace_id = $1 AND (first_arrival_at, run_id) > (${fromMicros('$2')}, $3::uuid)
     ORDER BY first_arrival_at, run_id LIMIT ${PAGE_RUNS})
  SELECT ${COLUMNS},
         coalesce(agent_name = $4, false) AND ($5::bigint IS NULL OR coalesce(end_unix_nano >= $5, true))
           AND ($6::bigint IS NULL OR coalesce(start_unix_nano < $6, true)) AS "isWanted"
    FROM page ORDER BY first_arrival_at, run_id`;

export interface AgentRuns {
  readonly runs: readonly ExportedRun[];
  readonly next: RunCursor | null;
}

export const BEFORE_RUNS: RunCursor = { atMicros: '0', runId: '0'.repeat(32) };

/** Finds the evaluated runs of an agent: its name is known from the evaluation on. */
export async function findRunsOfAgent(
  database: Database,
  { workspaceId, agent, sinceMs, untilMs }: RunsOfAgent,
  after: RunCursor,
): Promise<AgentRuns> {
  const { rows } = await database.query<ExportedRun & { readonly isWanted: boolean }>(OF_AGENT, [
    workspaceId,
    after.atMicros,
    after.runId,
    agent,
    toNanos(sinceMs),
    toNanos(untilMs),
  ]);
  const last = rows.length < PAGE_RUNS ? undefined : rows.at(-1);
  return {
    runs: rows.flatMap(({ isWanted, ...run }) => (isWanted ? [run] : [])),
    next: last === undefined ? null : { atMicros: last.atMicros, runId: last.runId },
  };
}

/** Finds runs by their ids. Runs that the workspace does not have are left out. */
export async function findRunsByIds(
  database: Queryable,
  workspaceId: number,
  runIds: readonly Hex16[],
): Promise<readonly ExportedRun[]> {
  const { rows } = await database.query<ExportedRun>(
    `SELECT ${COLUMNS} FROM runs WHERE workspace_id = $1 AND run_id = ANY ($2::uuid[])
      ORDER BY first_arrival_at, run_id`,
    [workspaceId, runIds],
  );
  return rows;
}
