/** Reads a sample of the stored blocks, for `sluice doctor`. */
import { onlyRow, type Queryable } from '../database.ts';
import {
  readBlock,
  type StoredBlock,
  UnreadableBlockError,
  UnsupportedCodecError,
} from './block-codec.ts';
import { CODECS, type Codecs } from './codecs.ts';

/** Maximum number of blocks to read: about 6 MB. */
export const CHECKED_BLOCKS_MAX = 100;

export interface BlockCheck {
  readonly checked: number;
  /** id of each damaged block, and the reason why it cannot be read */
  readonly faults: readonly string[];
  /** blocks whose codec this process does not have; they may be as they were stored */
  readonly unsupported: number;
}

/** PostgreSQL's estimate of the number of blocks; a day that was never analyzed counts as empty. */
const ESTIMATE = `
  SELECT coalesce(sum(greatest(child.reltuples, 0)), 0)::float8 AS blocks
    FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid
   WHERE inhparent = 'blocks'::regclass`;

/** Reads random pages, so that every check reads different blocks. */
const SAMPLE = `
  SELECT block_id::text AS id, codec, bytes, checksum, data
    FROM blocks TABLESAMPLE SYSTEM ($1) LIMIT ${CHECKED_BLOCKS_MAX}`;

/**
 * Checks up to `CHECKED_BLOCKS_MAX` blocks.
 *
 * @param codecs those of this process
 */
export async function checkBlocks(
  database: Queryable,
  codecs: Codecs = CODECS,
): Promise<BlockCheck> {
  const { blocks } = onlyRow(await database.query<{ blocks: number }>(ESTIMATE));
  // Sample twice the maximum, because the number of blocks per page varies.
  const percent = Math.min(100, (200 * CHECKED_BLOCKS_MAX) / Math.max(blocks, 1));
  const { rows } = await database.query<StoredBlock>(SAMPLE, [percent]);
  const faults: string[] = [];
  let unsupported = 0;
  for (const block of rows) {
    try {
      await readBlock(block, codecs);
    } catch (error) {
      if (error instanceof UnsupportedCodecError) unsupported += 1;
      else if (error instanceof UnreadableBlockError) faults.push(error.message);
      else throw error;
    }
  }
  return { checked: rows.length, faults, unsupported };
}
