/**
 * Deletes resources that no kept row can refer to. If they return, ingest stores them again, because
 * every process forgets stored resources after a day (`shared-contents.ts`).
 */
import { oldestDay, utcDay } from '../telemetry/partitions.ts';
import { BATCH_ROWS, type DeletionTurn } from './deletion.ts';

const DAY_MS = 86_400_000;

/** A row that ingest is using again is locked by it, or has its new day by the time it is locked here. */
const DELETE_UNUSED = `
  WITH unused AS (
    SELECT workspace_id, id FROM resources WHERE last_used_on < $1::date
     ORDER BY last_used_on LIMIT ${BATCH_ROWS} FOR UPDATE SKIP LOCKED
  )
  DELETE FROM resources AS t USING unused u WHERE t.workspace_id = u.workspace_id AND t.id = u.id`;

/**
 * Deletes resources that were last used before the oldest stored day of telemetry, and before
 * `retentionDays`.
 *
 * @param nowMs milliseconds since 1970, by PostgreSQL's clock
 * @param retentionDays of telemetry; 0 keeps everything
 * @returns the number of deleted rows
 */
export async function deleteUnusedResources(
  turn: DeletionTurn,
  nowMs: number,
  retentionDays: number,
): Promise<number> {
  if (retentionDays === 0 || turn.isOver) return 0;
  // A day that is past retention is still there while somebody reads it.
  const firstKeptDay = utcDay(nowMs - retentionDays * DAY_MS);
  const oldest = (await oldestDay(turn.database)) ?? firstKeptDay;
  const usedBefore = oldest < firstKeptDay ? oldest : firstKeptDay;
  let deleted = 0;
  while (!turn.isOver) {
    const rows = await turn.batch(async (connection) => {
      const { rowCount } = await connection.query(DELETE_UNUSED, [usedBefore]);
      return rowCount ?? 0;
    });
    deleted += rows ?? 0;
    if (rows === null || rows < BATCH_ROWS) break;
  }
  return deleted;
}
