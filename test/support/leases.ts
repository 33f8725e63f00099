/** Leases of runs that no claim made. */
import type { Queryable } from '../../src/db/database.ts';

/**
 * Adds a lease to every run that was tried before, as a process leaves it that releases the run.
 *
 * @param until SQL: the runs may be claimed from then on
 */
export async function leaseTried(database: Queryable, until = "'-infinity'"): Promise<void> {
  await database.query(
    `INSERT INTO leases (workspace_id, run_id, lease_until, claimed_to, claimed_rows)
     SELECT workspace_id, run_id, ${until}, now(), spans + log_records FROM runs WHERE attempts > 0
         ON CONFLICT DO NOTHING`,
  );
}
