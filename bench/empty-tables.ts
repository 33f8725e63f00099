/** Puts the database of a benchmark back between two measurements. */
import type pg from 'pg';

const EMPTIED = ['spans', 'log_records', 'metric_points', 'runs', 'findings'];

/**
 * Empties the tables that requests and the pass fill, and the receipts, so that the same bodies can be
 * sent again and are stored again.
 */
export async function emptyTables(client: pg.Client): Promise<void> {
  // A checkout that is measured beside this one may be older than receipts.
  const { rows } = await client.query<{ name: string | null }>(
    "SELECT to_regclass('receipts')::text AS name",
  );
  const receipts = rows.flatMap(({ name }) => name ?? []);
  // With what people wrote about findings.
  await client.query(`TRUNCATE ${[...EMPTIED, ...receipts].join(', ')} CASCADE`);
}
