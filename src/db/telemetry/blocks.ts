/**
 * Blocks: the form in which telemetry is stored. A block holds lines of OTLP/JSON
 * (`src/otlp/lines/lines.ts`) of one workspace, signal and day, at most 512 KiB of them or one longer
 * line, compressed (docs/decisions/0008-blocks.md).
 *
 *   requests of a transaction ─► lines by workspace, signal and day ─► blocks ─► compressed ─► COPY
 *                            └─► records by run ─► places
 *
 * A place has the records of one run in one block.
 */
import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';

import type { Hex16 } from '../../model/json.ts';
import { addRange, encodedBytesMax, encodeRanges } from '../../model/record-ranges.ts';
import type { Signal } from '../../model/telemetry.ts';
import { COPY_HEADER, COPY_TRAILER, type Copy } from '../pipeline.ts';
import {
  BLOCK_BYTES_MAX,
  type BlockCompressor,
  type Compressed,
  checksumOf,
  type StoredBlock,
} from './block-codec.ts';
import type { EncodedRequest } from './encoded-request.ts';
import { utcDay } from './partitions.ts';
import type { RunDelta } from './run-delta.ts';

export const SIGNAL_NUMBERS: Readonly<Record<Signal, number>> = { traces: 1, metrics: 2, logs: 3 };

const LINE_FEED = Buffer.from('\n');
const DAY_MS = 86_400_000;
const DAYS_1970_TO_2000 = 10_957;

export interface Block extends StoredBlock, Compressed {
  readonly workspaceId: number;
  readonly signal: Signal;
  readonly arrivedAtMs: number;
  readonly records: number;
  readonly places: Places;
}

type Places = ReadonlyMap<Hex16, readonly number[]>;

interface Pack extends Pick<Block, 'id' | 'workspaceId' | 'signal' | 'arrivedAtMs'> {
  records: number;
  bytes: number;
  readonly parts: Buffer[];
  readonly places: Map<Hex16, number[]>;
}

/** The records of a line: from `start` to `end` (not included) in their request. */
interface PlacedLine {
  readonly pack: Pack;
  readonly start: number;
  readonly end: number;
  /** number of the first one in the block */
  readonly first: number;
}

/**
 * Joins the lines of requests to blocks, and compresses them. Reads no line after its promise is settled,
 * also when it rejects: the memory of lines is used again.
 */
export async function packBlocks(
  requests: readonly EncodedRequest[],
  compressor: BlockCompressor,
): Promise<readonly Block[]> {
  const packed = await Promise.allSettled(
    joinLines(requests).map(async ({ parts, ...pack }): Promise<Block> => {
      const compressed = await compressor.compress(pack.workspaceId, parts);
      return { ...pack, ...compressed, checksum: checksumOf(compressed.data) };
    }),
  );
  return packed.map((block) => {
    if (block.status === 'rejected') throw block.reason;
    return block.value;
  });
}

function joinLines(requests: readonly EncodedRequest[]): readonly Pack[] {
  const packs: Pack[] = [];
  const open = new Map<string, Pack>();
  for (const { workspaceId, signal, arrivedAtMs, lines, runs } of requests) {
    const placed: PlacedLine[] = [];
    let start = 0;
    const key = `${workspaceId} ${signal} ${utcDay(arrivedAtMs)}`;
    for (const { parts, bytes, records } of lines) {
      const length = bytes + LINE_FEED.length;
      let pack = open.get(key);
      if (pack === undefined || pack.bytes + length > BLOCK_BYTES_MAX) {
        pack = {
          id: newBlockId(arrivedAtMs),
          workspaceId,
          signal,
          arrivedAtMs,
          records: 0,
          bytes: 0,
          parts: [],
          places: new Map(),
        };
        packs.push(pack);
        open.set(key, pack);
      }
      pack.parts.push(...parts, LINE_FEED);
      pack.bytes += length;
      placed.push({ pack, start, end: start + records, first: pack.records });
      pack.records += records;
      start += records;
    }
    placeRuns(runs, placed);
  }
  return packs;
}

/** Adds the records of a request's runs to the places of its blocks. @param lines all lines of the request */
function placeRuns(runs: readonly RunDelta[], lines: readonly PlacedLine[]): void {
  for (const { runId, records } of runs) {
    let index = 0;
    for (let at = 0; at < records.length; at += 2) {
      const end = records[at + 1] as number;
      for (let from = records[at] as number; from < end; ) {
        while (from >= (lines[index]?.end ?? Number.POSITIVE_INFINITY)) index += 1;
        const line = lines[index];
        if (line === undefined) throw new RangeError('a record that is in no line');
        const to = Math.min(end, line.end);
        const shift = line.first - line.start;
        addRange(rangesOf(line.pack, runId), from + shift, to + shift);
        from = to;
      }
    }
  }
}

function rangesOf({ places }: Pack, runId: Hex16): number[] {
  const known = places.get(runId);
  if (known !== undefined) return known;
  const ranges: number[] = [];
  places.set(runId, ranges);
  return ranges;
}

const IDS_PER_MS = 4096;
/** Days of arrival at a time: today, yesterday, and those that are packed. */
const NEWEST_DAYS_MAX = 16;
/** UTC day → milliseconds of its newest id times `IDS_PER_MS`, plus the number of the id in its millisecond. */
const newestIds = new LRUCache<number, number>({ max: NEWEST_DAYS_MAX });

/**
 * Returns a UUID of version 7 (RFC 9562, method 1). The ids that a process makes for a day of arrival rise, so that
 * blocks are found in the order in which they were made. Those of another day do not matter: after a clock that was days
 * ahead, an id has the time of arrival again.
 */
export function newBlockId(atMs: number): string {
  const day = Math.floor(atMs / DAY_MS);
  const newest = Math.max(Math.floor(atMs) * IDS_PER_MS, (newestIds.get(day) ?? 0) + 1);
  newestIds.set(day, newest);
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Math.floor(newest / IDS_PER_MS), 0, 6);
  bytes.writeUInt16BE(0x7000 | (newest % IDS_PER_MS), 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex');
}

const COLUMNS = [
  'block_id',
  'workspace_id',
  'arrived_on',
  'bytes',
  'records',
  'checksum',
  'signal',
  'codec',
  'data',
];
const COPY = (table: 'hot_blocks' | 'blocks'): string =>
  `COPY ${table} (${COLUMNS.join(', ')}) FROM STDIN (FORMAT binary)`;
/** A row without its data: the number of fields, and each field with its length. */
const ROW_BYTES = 2 + (4 + 16) + 5 * (4 + 4) + 2 * (4 + 2) + 4;

const PLACE_COLUMNS = ['block_id', 'run_id', 'workspace_id', 'arrived_on', 'records'];
const COPY_PLACES = `COPY hot_places (${PLACE_COLUMNS.join(', ')}) FROM STDIN (FORMAT binary)`;
/** A place without its records. */
const PLACE_BYTES = 2 + 2 * (4 + 16) + 2 * (4 + 4) + 4;

/** Returns the COPYs that store blocks and their places; an empty list if there are no blocks. */
export function copyBlocks(blocks: readonly Block[]): Copy[] {
  const copies: Copy[] = [];
  const add = (copy: string, rows: readonly Buffer[]): void => {
    if (rows.length > 0) copies.push({ copy, pieces: [COPY_HEADER, ...rows, COPY_TRAILER] });
  };
  const rowsOf = (block: Block): Buffer[] => [headOf(block), block.data];
  // Metrics are never packed.
  add(COPY('hot_blocks'), blocks.filter(({ signal }) => signal !== 'metrics').flatMap(rowsOf));
  add(COPY('blocks'), blocks.filter(({ signal }) => signal === 'metrics').flatMap(rowsOf));
  const placed = blocks.filter(({ places }) => places.size > 0);
  add(COPY_PLACES, placed.map(placesOf));
  return copies;
}

function placesOf(block: Block): Buffer {
  let bytesMax = 0;
  for (const ranges of block.places.values()) bytesMax += PLACE_BYTES + encodedBytesMax(ranges);
  const rows = Buffer.allocUnsafe(bytesMax);
  const day = dayOf(block);
  let at = 0;
  for (const [runId, ranges] of block.places) {
    at = rows.writeInt16BE(PLACE_COLUMNS.length, at);
    at = rows.writeInt32BE(16, at);
    at += rows.write(block.id, at, 'hex');
    at = rows.writeInt32BE(16, at);
    at += rows.write(runId, at, 'hex');
    at = rows.writeInt32BE(4, at);
    at = rows.writeInt32BE(block.workspaceId, at);
    at = rows.writeInt32BE(4, at);
    at = rows.writeInt32BE(day, at);
    const end = encodeRanges(ranges, rows, at + 4);
    rows.writeInt32BE(end - at - 4, at);
    at = end;
  }
  return rows.subarray(0, at);
}

/** Days from 2000-01-01 to the day of a block's arrival: PostgreSQL's form of a date. */
function dayOf({ arrivedAtMs }: Block): number {
  return Math.floor(arrivedAtMs / DAY_MS) - DAYS_1970_TO_2000;
}

function headOf(block: Block): Buffer {
  const head = Buffer.allocUnsafe(ROW_BYTES);
  let at = head.writeInt16BE(COLUMNS.length, 0);
  at = head.writeInt32BE(16, at);
  at += head.write(block.id, at, 'hex');
  for (const value of [
    block.workspaceId,
    dayOf(block),
    block.bytes,
    block.records,
    block.checksum,
  ]) {
    at = head.writeInt32BE(4, at);
    at = head.writeInt32BE(value, at);
  }
  for (const value of [SIGNAL_NUMBERS[block.signal], block.codec]) {
    at = head.writeInt32BE(2, at);
    at = head.writeInt16BE(value, at);
  }
  head.writeInt32BE(block.data.length, at);
  return head;
}
