/**
 * Reads the texts of blocks: hot blocks, metrics, and packed blocks, whose two parts are joined.
 */
import type { Holes } from '../../model/packed/narrow-text.ts';
import type { RecordRanges } from '../../model/record-ranges.ts';
import type { Signal } from '../../model/telemetry.ts';
import type { Queryable } from '../database.ts';
import {
  BLOCK_BYTES_MAX,
  readBlock,
  type StoredBlock,
  UnreadableBlockError,
  UnsupportedCodecError,
} from './block-codec.ts';
import { SIGNAL_NUMBERS } from './blocks.ts';
import {
  type NarrowBlock,
  type PackedText,
  readNarrow,
  readPacked,
} from './packed/packed-block.ts';

export interface BlockKey {
  readonly blockId: string;
  /** the UTC day on which it arrived (`2026-11-20`) */
  readonly arrivedOn: string;
}

export interface RecordsOfBlock extends BlockKey {
  readonly records: RecordRanges;
}

export class MissingBlockError extends UnreadableBlockError {
  override name = 'MissingBlockError';

  constructor(blockId: string) {
    super(blockId, 'it is missing');
  }
}

export type BlockText = BlockKey &
  (
    | {
        readonly signal: Signal;
        readonly text: Buffer;
        readonly holes?: Holes;
        /** of a text that is apart */
        readonly widen?: PackedText['widen'];
      }
    | {
        readonly signal: Signal | null;
        readonly error: UnreadableBlockError | UnsupportedCodecError;
      }
  );

/** Whole texts; or narrow ones of packed blocks, without attributes and long strings; apart: with `widen`. */
export type TextForm = 'whole' | 'narrow' | 'apart';

/** Maximum blocks that one statement reads; each has up to `BLOCK_BYTES_MAX`, and a longer one is read alone. */
const SLICE_BLOCKS = 32;
const INT_MAX = 2 ** 31 - 1;
/** Blocks that are decompressed in the thread pool while the caller works on the one before them. */
const BLOCKS_AHEAD = 2;

const SIGNALS = new Map(
  Object.entries(SIGNAL_NUMBERS).map(([signal, number]) => [number, signal as Signal]),
);

export interface TextRow extends StoredBlock {
  /** of a packed block; else null, as the other columns of its narrow part */
  readonly narrow: Buffer | null;
  readonly narrowBytes: number;
  readonly narrowChecksum: number;
  readonly documentsBytes: number;
}

export const TEXT_COLUMNS = `codec, bytes, checksum, narrow_bytes AS "narrowBytes",
  narrow_checksum AS "narrowChecksum", documents_bytes AS "documentsBytes"`;
export const HOT_TEXT_COLUMNS = `codec, bytes, checksum, NULL::integer AS "narrowBytes",
  NULL::integer AS "narrowChecksum", NULL::integer AS "documentsBytes"`;

export async function readText(row: TextRow): Promise<Buffer> {
  const { id, codec, bytes, checksum, data } = row;
  if (row.narrow === null) return await readBlock({ id, codec, bytes, checksum, data });
  return (await readApart(row)).widen();
}

async function readApart(row: TextRow): Promise<PackedText> {
  const { documentsBytes: bytes, checksum, data } = row;
  return await readPacked({ ...narrowOf(row), documents: { bytes, checksum, data } });
}

function narrowOf(row: TextRow): NarrowBlock {
  const { id, codec, bytes, narrow, narrowBytes, narrowChecksum } = row;
  const data = narrow ?? Buffer.alloc(0);
  return { id, codec, bytes, narrow: { bytes: narrowBytes, checksum: narrowChecksum, data } };
}

interface BlockRow extends Omit<TextRow, 'data'> {
  readonly signal: number;
  /** null for a long block */
  readonly data: Buffer | null;
}

/** A longer packed block is read alone. */
const PACKED_BYTES_MAX = 8 * BLOCK_BYTES_MAX;
const SHORT = { hot: BLOCK_BYTES_MAX, packed: PACKED_BYTES_MAX };
const ANY = { hot: INT_MAX, packed: INT_MAX };

const IS_SHORT = 'octet_length(data) <= $3 AND bytes <= $3';
const IS_SHORT_PACKED = `octet_length(data) + coalesce(octet_length(narrow), 0) <= $3
                AND bytes <= CASE WHEN narrow IS NULL THEN $3 ELSE $4 END`;

/** Blocks of both trees. A hot block that could not be read is in both. */
const BLOCKS = `
  SELECT block_id AS id, ${HOT_TEXT_COLUMNS}, signal, CASE WHEN ${IS_SHORT} THEN data END AS data, NULL::bytea AS narrow
    FROM hot_blocks WHERE block_id = ANY ($1::uuid[]) AND arrived_on = ANY ($2::date[])
  UNION ALL
  SELECT block_id AS id, ${TEXT_COLUMNS}, signal,
         CASE WHEN ${IS_SHORT_PACKED} THEN CASE WHEN $5 AND narrow IS NOT NULL THEN '' ELSE data END END AS data,
         CASE WHEN ${IS_SHORT_PACKED} THEN narrow END AS narrow
    FROM blocks WHERE block_id = ANY ($1::uuid[]) AND arrived_on = ANY ($2::date[])`;

/**
 * Reads blocks one after the other, in the order of the keys. Memory is bounded: at most `SLICE_BLOCKS`
 * compressed blocks of usual size and three texts are held at a time, or one long block.
 *
 * @throws the database's error; a block that cannot be read is an answer
 */
export async function* readBlocks(
  database: Queryable,
  keys: Iterable<BlockKey>,
  form: TextForm = 'whole',
): AsyncGenerator<BlockText, void, void> {
  for (const slice of slicesOf(keys)) {
    const rows = await blocksOf(database, slice, SHORT, form);
    const begun: Promise<BlockText>[] = [];
    let next = 0;
    while (next < slice.length || begun.length > 0) {
      while (next < slice.length && begun.length <= BLOCKS_AHEAD) {
        const key = slice[next] as BlockKey;
        const row = rows.get(key.blockId);
        // A long block is read when its turn comes.
        if (row?.data === null && begun.length > 0) break;
        const text = textOf(database, key, row, form);
        text.catch(() => {});
        begun.push(text);
        next += 1;
      }
      yield await (begun.shift() as Promise<BlockText>);
    }
  }
}

function* slicesOf(keys: Iterable<BlockKey>): Generator<readonly BlockKey[]> {
  let slice: BlockKey[] = [];
  for (const key of keys) {
    if (slice.push(key) < SLICE_BLOCKS) continue;
    yield slice;
    slice = [];
  }
  if (slice.length > 0) yield slice;
}

async function blocksOf(
  database: Queryable,
  keys: readonly BlockKey[],
  bytesMax: typeof SHORT,
  form: TextForm,
): Promise<ReadonlyMap<string, BlockRow>> {
  const { rows } = await database.query<BlockRow>(BLOCKS, [
    keys.map(({ blockId }) => blockId),
    [...new Set(keys.map(({ arrivedOn }) => arrivedOn))],
    bytesMax.hot,
    bytesMax.packed,
    form === 'narrow',
  ]);
  return new Map(rows.map((row) => [row.id, row]));
}

async function textOf(
  database: Queryable,
  key: BlockKey,
  row: BlockRow | undefined,
  form: TextForm,
): Promise<BlockText> {
  const { blockId } = key;
  const isLong = row?.data === null;
  const stored = isLong ? (await blocksOf(database, [key], ANY, form)).get(blockId) : row;
  const signal = SIGNALS.get(stored?.signal ?? 0) ?? null;
  try {
    if (stored === undefined || stored.data === null) {
      throw new MissingBlockError(blockId);
    }
    const { signal: _number, data, ...block } = stored;
    if (signal === null) throw new UnreadableBlockError(blockId, 'its signal is not known');
    const full = { ...block, data };
    if (form === 'whole' || block.narrow === null) {
      return { ...key, signal, text: await readText(full) };
    }
    const read = form === 'narrow' ? readNarrow(narrowOf(full)) : readApart(full);
    return { ...key, signal, ...(await read) };
  } catch (error) {
    if (error instanceof UnreadableBlockError || error instanceof UnsupportedCodecError) {
      return { ...key, signal, error };
    }
    throw error;
  }
}
