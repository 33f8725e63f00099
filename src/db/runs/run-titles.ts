/**
 * Removes the titles of runs: text of customers, which is kept no longer than the steps that it was taken
 * from, and not where the workspace redacts. Readers check the setting, too (runs.ts).
 */
import type { Queryable } from '../database.ts';
import { utcDay } from '../telemetry/partitions.ts';

const DAY_MS = 86_400_000;
/** Runs of one statement, so that ingest and the pass never wait long for their rows. */
const BATCH_RUNS = 2000;

/** Index `runs_with_title`. A run that is being changed is left for the next time. */
const REMOVE = `
  WITH titled AS (
    SELECT run_id FROM runs
     WHERE workspace_id = $1 AND title IS NOT NULL AND first_arrival_at < $2::timestamptz
     ORDER BY first_arrival_at LIMIT ${BATCH_RUNS} FOR UPDATE SKIP LOCKED
  )
  UPDATE runs r SET title = NULL FROM titled
   WHERE r.workspace_id = $1 AND r.run_id = titled.run_id`;

async function removeTitles(
  database: Queryable,
  workspaceId: number,
  before: string,
): Promise<void> {
  for (;;) {
    const { rowCount } = await database.query(REMOVE, [workspaceId, before]);
    if (rowCount === 0) return;
  }
}

/**
 * Removes the titles of all runs whose first steps are past retention, and those of workspaces that redact.
 *
 * @param nowMs milliseconds since 1970, by PostgreSQL's clock
 * @param retentionDays whole days kept beside today; 0 keeps everything
 */
export async function removeOutdatedTitles(
  database: Queryable,
  nowMs: number,
  retentionDays: number,
): Promise<void> {
  const firstKeptDay = `${utcDay(nowMs - retentionDays * DAY_MS)}T00:00:00Z`;
  const before = retentionDays === 0 ? '-infinity' : firstKeptDay;
  const { rows } = await database.query<{ id: number; redacts: boolean }>(
    'SELECT id, redact_excerpts AS redacts FROM workspaces ORDER BY id',
  );
  for (const { id, redacts } of rows) {
    await removeTitles(database, id, redacts ? 'infinity' : before);
  }
}
