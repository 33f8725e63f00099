/**
 * Compresses and reads blocks (`blocks.ts`). Compression runs in the thread pool of Node.js (libuv), a few
 * blocks at a time, workspaces in turn; never on the event loop.
 */
import { crc32 } from 'node:zlib';

import { WorkspaceQueue } from '../../workspace-queue.ts';
import { BROTLI, CODECS, type Codec, USE_ZSTD_NODE, ZSTD } from './codecs.ts';

/**
 * Maximum number of blocks that are compressed at once. The thread pool has four threads, which also
 * serve DNS look-ups, files and password hashes.
 */
export const COMPRESSIONS_MAX = 2;

/** Maximum bytes of a block's lines, unless it is a single line. */
export const BLOCK_BYTES_MAX = 512 * 1024;

export interface StoredBlock {
  readonly id: string;
  readonly codec: number;
  /** before compression */
  readonly bytes: number;
  readonly checksum: number;
  readonly data: Buffer;
}

export class UnreadableBlockError extends Error {
  override name = 'UnreadableBlockError';
  readonly blockId: string;

  constructor(blockId: string, reason: string, options?: ErrorOptions) {
    super(`Block ${blockId} cannot be read: ${reason}.`, options);
    this.blockId = blockId;
  }
}

/** A block that this process cannot read because its Node.js does not have the codec. */
export class UnsupportedCodecError extends Error {
  override name = 'UnsupportedCodecError';

  constructor(blockId: string) {
    super(
      `Block ${blockId} is compressed with zstd, which Node.js ${process.versions.node} cannot ` +
        `read: ${USE_ZSTD_NODE}.`,
    );
  }
}

/** Returns the CRC-32 as a signed number, because PostgreSQL's integer is signed. */
export function checksumOf(data: Buffer): number {
  return crc32(data) | 0;
}

export interface Compressed extends Pick<StoredBlock, 'codec' | 'data'> {
  /** holds `data`, and may be used again after it; null: `data` owns its memory */
  readonly memory: Buffer | null;
}

/** Bytes of memory for compressed bytes; a block with more takes new memory. */
const COMPRESSED_BYTES = 128 * 1024;
/** Shorter texts get new memory, so that memory is never longer than half of the text. */
const LONG_TEXT_BYTES = 2 * COMPRESSED_BYTES;
const COMPRESSED_KEPT_MAX = 64;

/**
 * Compresses the blocks of one process. The queue holds lines of requests that count towards
 * MAX_INFLIGHT_BYTES until they are stored, so it has no bound for their number. Lines are joined when
 * their turn comes, in memory that is used again: at most `COMPRESSIONS_MAX` blocks are in memory twice.
 */
export class BlockCompressor {
  readonly #jobs = new WorkspaceQueue<() => void>(COMPRESSIONS_MAX, COMPRESSIONS_MAX);
  /** memory for joined lines that is not in use, `BLOCK_BYTES_MAX` each */
  readonly #free: Buffer[] = [];
  readonly #freeCompressed: Buffer[] = [];
  /** memory for compressed bytes that is in use */
  readonly #lent = new WeakSet<Buffer>();
  #codec: { readonly number: number; readonly codec: Codec };

  constructor(codec = BROTLI) {
    this.#codec = codecOf(codec);
  }

  use(codec: number): void {
    this.#codec = codecOf(codec);
  }

  /** @param parts of the block; must not change until the promise settles */
  async compress(workspaceId: number, parts: readonly Buffer[]): Promise<Compressed> {
    await new Promise<void>((resolve) => {
      this.#jobs.add(workspaceId, resolve);
      this.#jobs.begin()?.();
    });
    try {
      return await this.#compressJoined(parts);
    } finally {
      this.#jobs.end(workspaceId);
      this.#jobs.begin()?.();
    }
  }

  async #compressJoined(parts: readonly Buffer[]): Promise<Compressed> {
    const { number, codec } = this.#codec;
    const bytes = parts.reduce((sum, { length }) => sum + length, 0);
    const isUsual = bytes <= BLOCK_BYTES_MAX;
    const usual = isUsual ? this.#free.pop() : undefined;
    const memory = usual ?? Buffer.allocUnsafeSlow(isUsual ? BLOCK_BYTES_MAX : bytes);
    let at = 0;
    for (const part of parts) at += part.copy(memory, at);
    const target = bytes < LONG_TEXT_BYTES ? null : this.#lend();
    const data = await codec.compress(memory.subarray(0, bytes), target);
    if (isUsual) this.#free.push(memory);
    return { codec: number, data, memory: target };
  }

  #lend(): Buffer {
    const memory = this.#freeCompressed.pop() ?? Buffer.allocUnsafeSlow(COMPRESSED_BYTES);
    this.#lent.add(memory);
    return memory;
  }

  /**
   * Uses the memory of compressed blocks again: nothing must read their data any more. Blocks that are not
   * released are garbage collected; a second call for a block does nothing.
   */
  release(blocks: readonly Compressed[]): void {
    for (const { memory } of blocks) {
      if (memory === null || !this.#lent.delete(memory)) continue;
      if (this.#freeCompressed.length < COMPRESSED_KEPT_MAX) this.#freeCompressed.push(memory);
    }
  }
}

function codecOf(number: number): { readonly number: number; readonly codec: Codec } {
  const codec = CODECS.get(number);
  if (codec === undefined) throw new RangeError(`codec ${number} is not known`);
  return { number, codec };
}

/** Reads a block: its lines, each with a line feed. @throws {UnreadableBlockError} when it is damaged */
export async function readBlock({
  id,
  codec: number,
  bytes,
  checksum,
  data,
}: StoredBlock): Promise<Buffer> {
  const codec = CODECS.get(number);
  if (codec === undefined) {
    if (number === ZSTD) throw new UnsupportedCodecError(id);
    throw new UnreadableBlockError(id, `codec ${number} is not known`);
  }
  if (checksumOf(data) !== checksum) throw new UnreadableBlockError(id, 'its checksum differs');
  let text: Buffer;
  try {
    text = await codec.decompress(data, Math.max(bytes, 1));
  } catch (cause) {
    throw new UnreadableBlockError(id, 'it cannot be decompressed', { cause });
  }
  if (text.length !== bytes) throw new UnreadableBlockError(id, 'its length differs');
  return text;
}
