/** Puts the database of a benchmark back between two measurements. */
import type pg from 'pg';

import { RECORD_TABLES } from './stored-records.ts';

/**
 * Empties the tables that requests and the pass fill, and the receipts, so that the same bodies can be
 * sent again and are stored again.
 */
export async function emptyTables(client: pg.Client): Promise<void> {
  const tables = [...RECORD_TABLES, 'runs', 'leases', 'findings'];
  // With what people wrote about findings.
  await client.query(`TRUNCATE ${tables.join(', ')} CASCADE`);
}
