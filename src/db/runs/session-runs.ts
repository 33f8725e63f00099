/**
 * Completes runs that have no root span, by the next prompt of their session or the session's end.
 * Other such runs time out.
 *
 * Ingest appends marks; here they are applied and removed once they have settled. A run whose records
 * arrive after the mark that ends it was removed stays open until it times out.
 *
 * A sender may send any number of marks and runs of one session, so a statement's work is bounded
 * by named limits, and a mark is removed whether or not all its runs were completed.
 */
import { type Database, inTransaction, type Queryable } from '../database.ts';
import { type RunTimes, settleAllowance } from './run-times.ts';

/**
 * A run whose latest record is this much later than the session's end was not ended by it: the
 * session continued. What the sender writes while it ends is within this time.
 */
export const AFTER_END_NANOS = 5_000_000_000;
const MARKS_MAX = 1000;
/** Most runs of one session completed by one statement, the earliest first; the others time out. */
const RUNS_OF_SESSION_MAX = 100;
/** Most runs completed by one statement, workspaces in turn; the others time out. */
const RUNS_MAX = 2000;
/** After this time no further statement starts, so that claims are not delayed. */
const TIME_MAX_MS = 500;
/** A statement usually takes at most 100 ms, but may wait for a lock. */
const STATEMENT_TIMEOUT_MS = 3000;
const TRANSACTION_TIMEOUT_MS = 5000;

interface MarksApplied {
  readonly marks: number;
  readonly runs: number;
}

/**
 * Removes settled marks and completes the open runs of their sessions that began before them.
 * Processes share the marks; runs are locked in key order, as ingest does, and waited for, because
 * a mark comes only once.
 *
 * Two of a session's marks are enough: the newest, and the newest that names another run. A mark
 * completes the runs that began before it, except its own. So the newest mark completes every run
 * that any other mark completes, except its own run, for which the newest mark of another run
 * decides. The result is the same as if every mark were applied, except for a run with records well
 * after the session's end: it waits for the next mark or times out.
 */
export async function closeSessionRuns(
  database: Queryable,
  times: RunTimes,
): Promise<MarksApplied> {
  const { rows } = await database.query<MarksApplied>(
    `WITH settled AS (
       SELECT workspace_id, id FROM session_marks
        WHERE arrived_at <= now() - make_interval(secs => $1::float8 / 1000)
        ORDER BY arrived_at LIMIT ${MARKS_MAX} FOR UPDATE SKIP LOCKED
     ), removed AS (
       DELETE FROM session_marks AS m USING settled
        WHERE m.workspace_id = settled.workspace_id AND m.id = settled.id
       RETURNING m.workspace_id, m.session_key, m.run_id, m.at_unix_nano
     ), ranked AS (
       SELECT *, first_value(run_id) OVER (PARTITION BY workspace_id, session_key
                                           ORDER BY at_unix_nano DESC) AS newest_run
         FROM removed
     ), mark AS (
       SELECT workspace_id, session_key, newest_run, max(at_unix_nano) AS newest_at,
              max(at_unix_nano) FILTER (WHERE run_id IS DISTINCT FROM newest_run) AS other_at
         FROM ranked GROUP BY workspace_id, session_key, newest_run
     ), earlier AS (
       SELECT run.*, row_number() OVER (PARTITION BY run.workspace_id) AS turn
         FROM mark CROSS JOIN LATERAL (
           SELECT workspace_id, run_id FROM runs
            WHERE workspace_id = mark.workspace_id AND session_key = mark.session_key
              AND session_key IS NOT NULL AND state = 'running' AND evaluation = 'pending'
              AND start_unix_nano < mark.newest_at
              AND (run_id IS DISTINCT FROM mark.newest_run OR start_unix_nano < mark.other_at)
              AND (mark.newest_run IS NOT NULL
                   OR coalesce(end_unix_nano, start_unix_nano)
                      <= mark.newest_at + ${AFTER_END_NANOS})
            ORDER BY start_unix_nano LIMIT ${RUNS_OF_SESSION_MAX}
         ) AS run
     ), over AS (
       SELECT r.workspace_id, r.run_id
         FROM (SELECT * FROM earlier ORDER BY turn LIMIT ${RUNS_MAX}) AS earliest JOIN runs AS r
           ON r.workspace_id = earliest.workspace_id AND r.run_id = earliest.run_id
        WHERE r.state = 'running' AND r.evaluation = 'pending'
        ORDER BY r.workspace_id, r.run_id FOR UPDATE OF r
     ), completed AS (
       UPDATE runs AS r
          SET state = 'completed',
              settles_until = now() + make_interval(secs => $2::float8 / 1000)
         FROM over WHERE r.workspace_id = over.workspace_id AND r.run_id = over.run_id
       RETURNING 1
     )
     SELECT (SELECT count(*)::int FROM removed) AS marks,
            (SELECT count(*)::int FROM completed) AS runs`,
    [times.settleMs, settleAllowance(times).finishedMs],
  );
  return rows[0] ?? { marks: 0, runs: 0 };
}

/** Applies settled marks for up to half a second; the rest is applied before the next claim. */
export async function applySessionMarks(database: Database, times: RunTimes): Promise<void> {
  const begun = performance.now();
  const turn = () =>
    inTransaction(
      database,
      async (connection) => {
        await connection.query(`SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}`);
        return await closeSessionRuns(connection, times);
      },
      TRANSACTION_TIMEOUT_MS,
    );
  while ((await turn()).marks === MARKS_MAX) {
    if (performance.now() - begun > TIME_MAX_MS) return;
  }
}
