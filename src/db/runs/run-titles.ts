/**
 * Removes the titles of runs, and the names of their tools: text of customers, which is kept no longer than the steps that it was taken
 * from, and not where the workspace redacts. Readers check the setting, too (runs.ts).
 */
import type { Queryable } from '../database.ts';
import { utcDay } from '../telemetry/partitions.ts';

const DAY_MS = 86_400_000;
const SLICE_WORKSPACES = 1000;
/** Runs of one statement, so that ingest and the pass never wait long for their rows. */
const BATCH_RUNS = 2000;

/** Index `runs_with_title`, workspace by workspace. A run that is being changed is left for the next time. */
const REMOVE = `
  WITH slice AS MATERIALIZED (
    SELECT id, redact_excerpts FROM workspaces WHERE id > $1 ORDER BY id LIMIT ${SLICE_WORKSPACES}
  ), titled AS (
    SELECT run.* FROM slice CROSS JOIN LATERAL (
      SELECT workspace_id, run_id FROM runs
       WHERE workspace_id = slice.id AND (title IS NOT NULL OR tools IS NOT NULL)
         AND first_arrival_at < CASE WHEN redact_excerpts THEN 'infinity' ELSE $2::timestamptz END
       ORDER BY first_arrival_at LIMIT ${BATCH_RUNS} FOR UPDATE SKIP LOCKED
    ) AS run LIMIT ${BATCH_RUNS}
  ), removed AS (
    UPDATE runs r SET title = NULL, tools = NULL FROM titled
     WHERE r.workspace_id = titled.workspace_id AND r.run_id = titled.run_id
    RETURNING r.run_id
  )
  SELECT (SELECT max(id) FROM slice) AS last, (SELECT count(*)::int FROM removed) AS removed`;

interface Removed {
  /** workspace at the end of the slice; null when there is none left */
  readonly last: number | null;
  readonly removed: number;
}

/** Removes the titles and tools of runs past retention, and of workspaces that redact. */
export async function removeOutdatedTitles(
  database: Queryable,
  nowMs: number,
  retentionDays: number,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const firstKeptDay = `${utcDay(nowMs - retentionDays * DAY_MS)}T00:00:00Z`;
  const before = retentionDays === 0 ? '-infinity' : firstKeptDay;
  let after = 0;
  while (!signal.aborted) {
    const { rows } = await database.query<Removed>(REMOVE, [after, before]);
    const { last = null, removed = 0 } = rows[0] ?? {};
    if (last === null) return;
    if (removed < BATCH_RUNS) after = last;
  }
}
