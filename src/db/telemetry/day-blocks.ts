/**
 * Reads all blocks of a workspace that arrived on a UTC day, a few at a time, in the order of their ids.
 *
 *   day ─► windows, by the times in the blocks' ids ─► slices ─► texts
 *
 * Traces and logs are in hot blocks, until these are dropped (docs/decisions/0009-hot-and-packed-blocks.md), then in
 * packed blocks of the same day of arrival. Each record is in one hot block, and in one packed block.
 *
 * A slice is read in one short snapshot; nothing is held open between slices, so that a reader that takes
 * hours delays neither VACUUM nor the dropping of old days. A block that was stored before the first slice
 * was read is in exactly one slice.
 */
import type { Signal } from '../../model/telemetry.ts';
import { type Database, inSnapshot, type Queryable } from '../database.ts';
import type { UnreadableBlockError, UnsupportedCodecError } from './block-codec.ts';
import { SIGNAL_NUMBERS } from './blocks.ts';
import { letsIn } from './packed/block-search.ts';
import { listPartitions, partitionName } from './partitions.ts';
import { type BlockKey, readBlocks } from './stored-blocks.ts';

/** Maximum blocks of a slice, and maximum bytes of their texts unless it is one block. */
const SLICE_BLOCKS = 32;
const SLICE_BYTES = 8 * 1024 * 1024;
/**
 * Time that a statement looks through, so that none is long among millions of others' blocks. A reader may
 * widen it where nothing arrived.
 */
export const WINDOW_MS = 10 * 60_000;

/** Before the id of every block, and after it. */
export const FIRST_ID = '0'.repeat(32);
export const LAST_ID = 'f'.repeat(32);

export const idAt = (ms: number): string =>
  Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0').padEnd(32, '0');

export const timeOfId = (blockId: string): Date =>
  new Date(Number.parseInt(blockId.slice(0, 12), 16));

export interface BlocksOfDay {
  readonly workspaceId: number;
  readonly signals: readonly Signal[];
  /** UTC day of arrival, as `2026-11-20` */
  readonly day: string;
  readonly last: string;
}

export type DayBlock = BlockKey & {
  readonly signal: Signal;
  readonly records: number;
} & ({ readonly text: Buffer } | { readonly error: UnreadableBlockError | UnsupportedCodecError });

export interface BlockSlice {
  /** none if nothing arrived within a window */
  readonly blocks: readonly DayBlock[];
  /** where the next slice begins; null after the last one of the day */
  readonly next: string | null;
  /** as `FoundDay`; if it has changed, the day must be read again from its start */
  readonly isHot: boolean;
}

const OF_WINDOW = `arrived_on = $1::date AND workspace_id = $2 AND signal = ANY ($3::smallint[])
         AND block_id > $4::uuid AND block_id <= $5::uuid`;

/** Traces and logs are read as they arrived, or packed once the hot places of the day are gone; never both. */
const LIST = (isHot: boolean): string => `
  SELECT block_id AS "blockId", signal, records, bytes
    FROM blocks WHERE ${OF_WINDOW} ${isHot ? `AND signal = ${SIGNAL_NUMBERS.metrics}` : ''}
   ${isHot ? `UNION ALL SELECT block_id, signal, records, bytes FROM hot_blocks WHERE ${OF_WINDOW}` : ''}
   ORDER BY 1 LIMIT $6`;

interface ListedBlock {
  readonly blockId: string;
  readonly signal: number;
  readonly records: number;
  readonly bytes: number;
}

/** Returns the id at which the window of a block's id ends; ids begin with milliseconds since 1970. */
function windowEnd(day: string, after: string, windowMs: number): string {
  const dayStartMs = Date.parse(day);
  const passedMs = Math.max(0, Number.parseInt(after.slice(0, 12), 16) - dayStartMs);
  return idAt(dayStartMs + Math.floor(passedMs / WINDOW_MS) * WINDOW_MS + windowMs);
}

function firstOf(listed: readonly ListedBlock[]): readonly ListedBlock[] {
  let bytes = 0;
  const end = listed.findIndex((block, index) => {
    bytes += block.bytes;
    return index > 0 && bytes > SLICE_BYTES;
  });
  return end < 0 ? listed : listed.slice(0, end);
}

export async function readSlice(
  database: Database,
  { workspaceId, signals, day, last }: BlocksOfDay,
  after: string,
  windowMs = WINDOW_MS,
): Promise<BlockSlice> {
  const window = windowEnd(day, after, windowMs);
  const end = window < last ? window : last;
  const numbers = signals.map((signal) => SIGNAL_NUMBERS[signal]);
  return await inSnapshot(database, async (connection) => {
    const values = [day, workspaceId, numbers, after, end, SLICE_BLOCKS];
    const isHot = await isHotDay(connection, day);
    const { rows } = await connection.query<ListedBlock>(LIST(isHot), values);
    const listed = firstOf(rows);
    const blocks = await textsOf(connection, day, listed);
    if (listed.length < rows.length || rows.length === SLICE_BLOCKS) {
      return { blocks, next: listed.at(-1)?.blockId ?? null, isHot };
    }
    return { blocks, next: end === last ? null : end, isHot };
  });
}

async function isHotDay(database: Queryable, day: string): Promise<boolean> {
  const { rows } = await database.query<{ isHot: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass($1)) AS "isHot"`,
    [partitionName('hot_places', day)],
  );
  return rows[0]?.isHot === true;
}

export interface FoundDay {
  /** the id of its last block, of any workspace; null if it has none */
  readonly last: string | null;
  /** traces and logs are read as they arrived, in the order of arrival; false: packed, run by run */
  readonly isHot: boolean;
}

export async function findDay(database: Database, day: string): Promise<FoundDay> {
  return await inSnapshot(database, async (connection) => {
    const isHot = await isHotDay(connection, day);
    const { rows } = await connection.query<{ id: string }>(
      `SELECT block_id AS id
         FROM (SELECT block_id, arrived_on FROM blocks
               ${isHot ? 'UNION ALL SELECT block_id, arrived_on FROM hot_blocks' : ''}) AS b
        WHERE arrived_on = $1::date ORDER BY block_id DESC LIMIT 1`,
      [day],
    );
    return { last: rows[0]?.id ?? null, isHot };
  });
}

/** Returns the UTC days that have blocks or may get some, the newest first. */
export async function listDays(
  database: Database,
): Promise<{ readonly day: string; readonly isHot: boolean }[]> {
  const names = new Set(
    (await listPartitions(database)).flatMap(({ name, attached }) => (attached ? [name] : [])),
  );
  const days = [...names].flatMap((name) => /^blocks_(\d{4}_\d\d_\d\d)$/.exec(name)?.[1] ?? []);
  return days
    .map((day) => ({
      day: day.replaceAll('_', '-'),
      isHot: names.has(`hot_places_${day}`),
    }))
    .sort((one, other) => (one.day < other.day ? 1 : -1));
}

/** Blocks of log records or metrics that arrived on a day; ids from the first, included, to the last, not included. */
export interface NewestOfDay {
  readonly workspaceId: number;
  readonly signal: 'logs' | 'metrics';
  readonly day: string;
  /** log records are read as they arrived, and else packed */
  readonly isHot: boolean;
  readonly from: string;
  readonly to: string;
  /** of a text that the blocks may contain (`hashesOf`); none: any block */
  readonly hashes: readonly number[];
  /** only these; null: all */
  readonly only: readonly string[] | null;
}

export interface NewestBlocks {
  /** the newest first, without those that cannot contain the text */
  readonly blocks: readonly DayBlock[];
  /** where the next ones end (`to`); null at the end of the range */
  readonly next: string | null;
}

const newestOf = (
  table: 'hot_blocks' | 'blocks',
  signal: 'logs' | 'metrics',
  isNarrow: boolean,
): string => {
  const filter =
    table === 'blocks'
      ? `CASE WHEN cardinality($5::int[]) > 0 THEN filter || ''::bytea END`
      : 'NULL::bytea';
  return `
  WITH newest AS MATERIALIZED (
    SELECT block_id, signal, records, bytes, ${filter} AS filter FROM ${table}
     WHERE arrived_on = $1::date AND workspace_id = $2 AND signal = ${SIGNAL_NUMBERS[signal]}
       AND block_id >= $3::uuid AND block_id < $4::uuid
       ${isNarrow ? 'AND block_id = ANY ($6::uuid[])' : ''}
     ORDER BY block_id DESC LIMIT ${SLICE_BLOCKS})
  SELECT block_id AS "blockId", signal, records, bytes, filter IS NULL OR ${letsIn('$5')} AS "mayContain"
    FROM newest ORDER BY block_id DESC`;
};

export async function readNewest(
  database: Database,
  { workspaceId, signal, day, isHot, from, to, hashes, only }: NewestOfDay,
): Promise<NewestBlocks> {
  const table = isHot && signal === 'logs' ? 'hot_blocks' : 'blocks';
  const values = [day, workspaceId, from, to, hashes, ...(only === null ? [] : [only])];
  const { rows } = await database.query<ListedBlock & { readonly mayContain: boolean }>(
    newestOf(table, signal, only !== null),
    values,
  );
  const wanted = rows.filter(({ mayContain }) => mayContain);
  const listed = firstOf(wanted);
  const blocks = await textsOf(database, day, listed);
  const isCut = listed.length < wanted.length;
  const last = isCut ? listed.at(-1) : rows.at(-1);
  const isLast = !isCut && rows.length < SLICE_BLOCKS;
  return { blocks, next: isLast ? null : (last?.blockId ?? null) };
}

async function textsOf(
  database: Queryable,
  day: string,
  listed: readonly ListedBlock[],
): Promise<DayBlock[]> {
  const keys = listed.map(({ blockId }) => ({ blockId, arrivedOn: day }));
  const blocks: DayBlock[] = [];
  for await (const block of readBlocks(database, keys)) {
    const { signal: number, records } = listed[blocks.length] as ListedBlock;
    const signal = signalOf(number);
    blocks.push({ ...block, signal, records });
  }
  return blocks;
}

function signalOf(number: number): Signal {
  const found = Object.entries(SIGNAL_NUMBERS).find(([, one]) => one === number);
  if (found === undefined) throw new RangeError(`signal ${number} is not known`);
  return found[0] as Signal;
}
