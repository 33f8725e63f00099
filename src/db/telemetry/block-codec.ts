/**
 * Compresses and reads blocks (`blocks.ts`). Compression runs in the thread pool of Node.js (libuv), a few
 * blocks at a time, workspaces in turn; never on the event loop.
 */
import { promisify } from 'node:util';
import { brotliCompress, brotliDecompress, constants, crc32 } from 'node:zlib';

import { WorkspaceQueue } from '../../workspace-queue.ts';

/** Number of the codec in a block's row. */
export const BROTLI = 1;

/**
 * Maximum number of blocks that are compressed at once. The thread pool has four threads, which also
 * serve DNS look-ups, files and password hashes.
 */
export const COMPRESSIONS_MAX = 2;

const compressBrotli = promisify(brotliCompress);
const decompressBrotli = promisify(brotliDecompress);
/** The fastest quality, as fast as zstd's (docs/decisions/0063-blocks.md). */
const QUALITY = 1;
/** Window of 256 KiB, the usual size of a block. */
const WINDOW_BITS = 18;

/** The columns that are needed to read a block. */
export interface StoredBlock {
  readonly id: string;
  readonly codec: number;
  /** before compression */
  readonly bytes: number;
  /** of `data` (`checksumOf`) */
  readonly checksum: number;
  readonly data: Buffer;
}

/** Reports a damaged block. */
export class UnreadableBlockError extends Error {
  override name = 'UnreadableBlockError';
  readonly blockId: string;

  constructor(blockId: string, reason: string, options?: ErrorOptions) {
    super(`Block ${blockId} cannot be read: ${reason}.`, options);
    this.blockId = blockId;
  }
}

/** Returns the CRC-32 as a signed number, because PostgreSQL's integer is signed. */
export function checksumOf(data: Buffer): number {
  return crc32(data) | 0;
}

/** Compresses the blocks of one process. */
export class BlockCompressor {
  readonly #jobs = new WorkspaceQueue<() => void>(COMPRESSIONS_MAX, COMPRESSIONS_MAX);

  /** @param parts the text; they must not change until the promise settles */
  async compress(workspaceId: number, parts: readonly Buffer[]): Promise<Buffer> {
    await new Promise<void>((resolve) => {
      this.#jobs.add(workspaceId, resolve);
      this.#jobs.begin()?.();
    });
    try {
      // Joined when its turn comes: the blocks that wait take no memory and no time at once.
      const text = Buffer.concat(parts);
      return await compressBrotli(text, {
        params: {
          [constants.BROTLI_PARAM_QUALITY]: QUALITY,
          [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
          [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
        },
      });
    } finally {
      this.#jobs.end(workspaceId);
      this.#jobs.begin()?.();
    }
  }
}

/**
 * Reads a block.
 *
 * @returns its lines, each with a line feed at its end
 * @throws {UnreadableBlockError}
 */
export async function readBlock({
  id,
  codec,
  bytes,
  checksum,
  data,
}: StoredBlock): Promise<Buffer> {
  if (codec !== BROTLI) throw new UnreadableBlockError(id, `codec ${codec} is not known`);
  if (checksumOf(data) !== checksum) throw new UnreadableBlockError(id, 'its checksum differs');
  let text: Buffer;
  try {
    text = await decompressBrotli(data, { maxOutputLength: Math.max(bytes, 1) });
  } catch (cause) {
    throw new UnreadableBlockError(id, 'it cannot be decompressed', { cause });
  }
  if (text.length !== bytes) throw new UnreadableBlockError(id, 'its length differs');
  return text;
}
