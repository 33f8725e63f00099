/**
 * Whether COMMITs wait for a synchronous standby. While none answers, PostgreSQL lets every COMMIT
 * wait, without an error: reads and pings continue, and nothing is stored.
 */
import type { Queryable } from './database.ts';

/** A standby confirms a COMMIT in milliseconds; a COMMIT that waits longer counts. */
const COMMIT_WAIT_MAX_MS = 1000;

/**
 * The `standby` probe.
 *
 * @throws {Error} when a COMMIT in this database has waited for a standby for longer
 */
export async function checkCommitWaits(database: Queryable): Promise<void> {
  const { rows } = await database.query<{ waiting: number }>(
    `SELECT count(*)::int AS waiting FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event = 'SyncRep'
        AND query_start < clock_timestamp() - make_interval(secs => $1::float8 / 1000)`,
    [COMMIT_WAIT_MAX_MS],
  );
  const waiting = rows[0]?.waiting ?? 0;
  if (waiting > 0) throw new Error(`${waiting} COMMITs wait for a synchronous standby`);
}
