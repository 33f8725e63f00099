/**
 * The end of runs that have no span to end them: the next prompt of their session, or the session's
 * end. What says neither times out like any run.
 *
 * Ingest only appends marks; here they are taken away, once they have settled: a run whose records
 * arrive that much later than the mark that ends it stays open until it times out.
 */
import type { Database } from './database.ts';

/** Bounds one statement; what is left is taken before the next claim. */
const MARKS_MAX = 1000;

/**
 * Completes the open runs that began before a settled mark of their session. Call before claiming.
 * Processes share the marks; runs are locked in key order, as ingest does, and waited for, because
 * a mark comes only once.
 *
 * @param settleMs age of a mark at which everything it is about has arrived
 * @returns how many runs were completed now
 */
export async function closeSessionRuns(database: Database, settleMs: number): Promise<number> {
  const { rowCount } = await database.query(
    `WITH settled AS (
       SELECT workspace_id, id FROM session_marks
        WHERE arrived_at <= now() - make_interval(secs => $1::float8 / 1000)
        ORDER BY arrived_at LIMIT ${MARKS_MAX} FOR UPDATE SKIP LOCKED
     ), mark AS (
       DELETE FROM session_marks AS m USING settled
        WHERE m.workspace_id = settled.workspace_id AND m.id = settled.id
       RETURNING m.workspace_id, m.session_key, m.run_id, m.at_unix_nano
     ), over AS (
       SELECT r.workspace_id, r.run_id
         FROM mark JOIN runs AS r
           ON r.workspace_id = mark.workspace_id AND r.session_key = mark.session_key
        WHERE r.session_key IS NOT NULL AND r.state = 'running' AND r.evaluation = 'pending'
          AND r.start_unix_nano < mark.at_unix_nano
          AND r.run_id IS DISTINCT FROM mark.run_id
        ORDER BY r.workspace_id, r.run_id FOR UPDATE OF r
     )
     UPDATE runs AS r SET state = 'completed'
       FROM over WHERE r.workspace_id = over.workspace_id AND r.run_id = over.run_id`,
    [settleMs],
  );
  return rowCount ?? 0;
}
