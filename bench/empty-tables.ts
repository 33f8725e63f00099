/** Puts the database of a benchmark back between two measurements. */
import type pg from 'pg';

import { presentTables } from './stored-records.ts';

/** A checkout that is measured beside this one may have rows in place of blocks, or lack receipts. */
const EMPTIED = [
  'spans',
  'log_records',
  'metric_points',
  'hot_blocks',
  'hot_places',
  'blocks',
  'places',
  'receipts',
  'runs',
  'leases',
  'findings',
];

/**
 * Empties the tables that requests and the pass fill, and the receipts, so that the same bodies can be
 * sent again and are stored again.
 */
export async function emptyTables(client: pg.Client): Promise<void> {
  const present = await presentTables(client, EMPTIED);
  // With what people wrote about findings.
  await client.query(`TRUNCATE ${present.join(', ')} CASCADE`);
}
