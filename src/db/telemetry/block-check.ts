/** Reads a sample of the stored blocks, for `sluice doctor`. */
import { onlyRow, type Queryable } from '../database.ts';
import { lookUp } from '../placement.ts';
import {
  readBlock,
  type StoredBlock,
  UnreadableBlockError,
  UnsupportedCodecError,
} from './block-codec.ts';
import { CODECS, type Codecs } from './codecs.ts';

/** Maximum number of blocks to read: about 6 MB. */
export const CHECKED_BLOCKS_MAX = 100;
/** Pages of a table to sample; each has at least one row, and mostly many. */
const SAMPLED_PAGES = 200;

export interface BlockCheck {
  readonly checked: number;
  /** id of each damaged block, and the reason why it cannot be read */
  readonly faults: readonly string[];
  /** blocks whose codec this process does not have; they may be as they were stored */
  readonly unsupported: number;
}

/**
 * Reads rows of random pages of a partitioned table, different ones each time. Only an empty table
 * yields none: the share of pages to read follows from the size of the files, not from statistics.
 */
async function sampleRows<Row extends object>(
  database: Queryable,
  table: string,
  columns: string,
  rowsMax: number,
): Promise<Row[]> {
  const size = (await lookUp(database)) === 'local' ? 'pg_relation_size' : 'citus_relation_size';
  const { pages } = onlyRow(
    await database.query<{ pages: number }>(
      `SELECT coalesce(sum(${size}(inhrelid)), 0)::float8
                / current_setting('block_size')::int AS pages
         FROM pg_inherits WHERE inhparent = $1::regclass`,
      [table],
    ),
  );
  const percent = Math.min(100, (100 * SAMPLED_PAGES) / Math.max(pages, 1));
  // In random order, because LIMIT would prefer the rows of the first days.
  const { rows } = await database.query<Row>(
    `SELECT ${columns} FROM ${table} TABLESAMPLE SYSTEM ($1) ORDER BY random() LIMIT ${rowsMax}`,
    [percent],
  );
  return rows;
}

const BLOCK_COLUMNS = 'block_id::text AS id, codec, bytes, checksum, data';

/**
 * Checks up to `CHECKED_BLOCKS_MAX` blocks.
 *
 * @param codecs those of this process
 */
export async function checkBlocks(
  database: Queryable,
  codecs: Codecs = CODECS,
): Promise<BlockCheck> {
  const blocks = await sampleRows<StoredBlock>(
    database,
    'blocks',
    BLOCK_COLUMNS,
    CHECKED_BLOCKS_MAX,
  );
  const faults: string[] = [];
  let unsupported = 0;
  for (const block of blocks) {
    try {
      await readBlock(block, codecs);
    } catch (error) {
      if (error instanceof UnsupportedCodecError) unsupported += 1;
      else if (error instanceof UnreadableBlockError) faults.push(error.message);
      else throw error;
    }
  }
  return { checked: blocks.length, faults, unsupported };
}
