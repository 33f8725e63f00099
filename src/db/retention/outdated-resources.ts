/**
 * Deletes resources that no kept row can refer to. If they return, ingest stores them again, because
 * every process forgets stored resources after a day (`shared-contents.ts`).
 */
import { oldestDay, utcDay } from '../telemetry/partitions.ts';
import { BATCH_ROWS, type DeletionTurn } from './deletion.ts';

const DAY_MS = 86_400_000;
/**
 * For how long an older version may run beside this one: it does not move the day of use, so the rows
 * that it stores may refer to what was last used when the newer version began.
 */
const OLDER_VERSION_DAYS = 7;

/** A row that ingest is using again is locked by it, or has its new day by the time it is locked here. */
const DELETE_UNUSED = `
  WITH unused AS (
    SELECT workspace_id, id FROM resources WHERE last_used_on < $1::date
     ORDER BY last_used_on LIMIT ${BATCH_ROWS} FOR UPDATE SKIP LOCKED
  )
  DELETE FROM resources AS t USING unused u WHERE t.workspace_id = u.workspace_id AND t.id = u.id`;

/**
 * Deletes what was last used before the oldest day of telemetry that is there, and before `retentionDays`.
 *
 * @param nowMs milliseconds since 1970, by PostgreSQL's clock
 * @param retentionDays of telemetry; 0 keeps everything
 * @returns how many rows were deleted
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
  const first = Date.parse(oldest < firstKeptDay ? oldest : firstKeptDay);
  const usedBefore = utcDay(first - OLDER_VERSION_DAYS * DAY_MS);
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
