/**
 * Blocks: the form in which telemetry is stored. A block holds lines of OTLP/JSON
 * (`src/otlp/lines/lines.ts`) of one workspace, signal and day, at most 256 KiB of them or one longer
 * line, compressed (docs/decisions/0063-blocks.md).
 *
 *   requests of a transaction ─► lines by workspace, signal and day ─► blocks ─► compressed ─► COPY
 */
import { randomBytes } from 'node:crypto';

import type { Signal } from '../../model/telemetry.ts';
import type { Copy } from '../pipeline.ts';
import { type BlockCompressor, checksumOf, type StoredBlock } from './block-codec.ts';
import { COPY_HEADER, COPY_TRAILER } from './copy-statement.ts';
import type { EncodedRequest } from './encoded-request.ts';
import { utcDay } from './partitions.ts';

/** Most bytes of a block's lines, unless it is a single line. */
export const BLOCK_BYTES_MAX = 256 * 1024;

/** The numbers by which rows name a signal. */
export const SIGNAL_NUMBERS: Readonly<Record<Signal, number>> = { traces: 1, metrics: 2, logs: 3 };

const LINE_FEED = Buffer.from('\n');
const DAY_MS = 86_400_000;
const DAYS_1970_TO_2000 = 10_957;

/** A block that is ready to be stored. */
export interface Block extends StoredBlock {
  readonly workspaceId: number;
  readonly signal: Signal;
  readonly arrivedAtMs: number;
  readonly records: number;
}

/** Lines that become a block. */
interface Pack extends Pick<Block, 'workspaceId' | 'signal' | 'arrivedAtMs'> {
  records: number;
  bytes: number;
  readonly parts: Buffer[];
}

/** Joins the lines of requests to blocks, and compresses them. */
export async function packBlocks(
  requests: readonly EncodedRequest[],
  compressor: BlockCompressor,
): Promise<readonly Block[]> {
  return await Promise.all(
    joinLines(requests).map(async ({ parts, ...pack }): Promise<Block> => {
      const compressed = await compressor.compress(pack.workspaceId, parts);
      const id = newBlockId(pack.arrivedAtMs);
      return { ...pack, ...compressed, id, checksum: checksumOf(compressed.data) };
    }),
  );
}

function joinLines(requests: readonly EncodedRequest[]): readonly Pack[] {
  const packs: Pack[] = [];
  const open = new Map<string, Pack>();
  for (const { workspaceId, signal, arrivedAtMs, lines } of requests) {
    const key = `${workspaceId} ${signal} ${utcDay(arrivedAtMs)}`;
    for (const { bytes: line, records } of lines) {
      const length = line.length + LINE_FEED.length;
      let pack = open.get(key);
      if (pack === undefined || pack.bytes + length > BLOCK_BYTES_MAX) {
        pack = { workspaceId, signal, arrivedAtMs, records: 0, bytes: 0, parts: [] };
        packs.push(pack);
        open.set(key, pack);
      }
      pack.parts.push(line, LINE_FEED);
      pack.bytes += length;
      pack.records += records;
    }
  }
  return packs;
}

/** A UUID of version 7 (RFC 9562): ids rise with time, so that an index grows at its end. */
function newBlockId(atMs: number): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Math.floor(atMs), 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex');
}

/** The columns, in COPY order. */
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
const COPY = `COPY blocks (${COLUMNS.join(', ')}) FROM STDIN (FORMAT binary)`;
/** A row without its data: the number of fields, and each field with its length. */
const ROW_BYTES = 2 + (4 + 16) + 5 * (4 + 4) + 2 * (4 + 2) + 4;

/** Returns the COPY that stores blocks; an empty list if there are no blocks. */
export function copyBlocks(blocks: readonly Block[]): Copy[] {
  if (blocks.length === 0) return [];
  const rows = blocks.flatMap((block) => [headOf(block), block.data]);
  return [{ copy: COPY, pieces: [COPY_HEADER, ...rows, COPY_TRAILER] }];
}

/** Encodes a block's row up to its data. */
function headOf(block: Block): Buffer {
  const head = Buffer.allocUnsafe(ROW_BYTES);
  let at = head.writeInt16BE(COLUMNS.length, 0);
  at = head.writeInt32BE(16, at);
  at += head.write(block.id, at, 'hex');
  const day = Math.floor(block.arrivedAtMs / DAY_MS) - DAYS_1970_TO_2000;
  for (const value of [block.workspaceId, day, block.bytes, block.records, block.checksum]) {
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
