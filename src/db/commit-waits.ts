/**
 * Finds out if COMMITs wait for a synchronous standby. While none answers, PostgreSQL lets every COMMIT
 * wait, without an error: reads and pings continue, and nothing is stored.
 */
import type { Queryable } from './database.ts';

/** A standby confirms a COMMIT in milliseconds; a COMMIT that waits longer counts. */
const COMMIT_WAIT_MAX_MS = 1000;

const STATE = `
  SELECT current_setting('synchronous_standby_names') <> '' AS "isConfigured",
         (SELECT count(*)::int FROM pg_stat_activity
           WHERE datname = current_database() AND wait_event = 'SyncRep'
             AND query_start < clock_timestamp() - make_interval(secs => $1::float8 / 1000)
         ) AS waiting`;

/**
 * Makes the `standby` probe, which fails while a COMMIT in this database has waited for a standby for longer
 * than `COMMIT_WAIT_MAX_MS`. Without a synchronous standby it never fails: a database that is away is another
 * probe's.
 */
export function createStandbyProbe(database: Queryable): () => Promise<void> {
  let isConfigured = false;
  return async () => {
    const found = await database
      .query<{ isConfigured: boolean; waiting: number }>(STATE, [COMMIT_WAIT_MAX_MS])
      .catch((error: unknown) => {
        if (isConfigured) throw error;
        return { rows: [] };
      });
    const [state] = found.rows;
    if (state === undefined) return;
    ({ isConfigured } = state);
    if (isConfigured && state.waiting > 0) {
      throw new Error(`${state.waiting} COMMITs wait for a synchronous standby`);
    }
  };
}
