/** Puts the database of a benchmark back between two measurements. */
import type pg from 'pg';

/** A checkout that is measured beside this one may lack some: blocks, receipts, or rows of points. */
const EMPTIED = ['spans', 'log_records', 'blocks', 'metric_points', 'runs', 'findings', 'receipts'];

/**
 * Empties the tables that requests and the pass fill, and the receipts, so that the same bodies can be
 * sent again and are stored again.
 */
export async function emptyTables(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    'SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NOT NULL',
    [EMPTIED],
  );
  // With what people wrote about findings.
  await client.query(`TRUNCATE ${rows.map(({ name }) => name).join(', ')} CASCADE`);
}
