/**
 * The codecs of blocks, and those that this process has. Every Node.js has brotli; zstd is in Node.js
 * 22.15 and newer. Both run in the thread pool of Node.js (libuv), never on the event loop.
 */
import type { Transform } from 'node:stream';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';

export const BROTLI = 1;
export const ZSTD = 2;

export interface Codec {
  /** @param memory of the result, if it is long enough; null: new memory */
  readonly compress: (text: Buffer, memory: Buffer | null) => Promise<Buffer>;
  /** Compresses a part of a packed block: slower, to fewer bytes. */
  readonly pack: (part: Buffer) => Promise<Buffer>;
  /** Rejects when the text is longer. */
  readonly decompress: (data: Buffer, bytesMax: number) => Promise<Buffer>;
}

export const USE_ZSTD_NODE = 'use Node.js 22.15 or newer';

const compressBrotli = promisify(zlib.brotliCompress);
const decompressBrotli = promisify(zlib.brotliDecompress);
/** The fastest quality (docs/decisions/0008-blocks.md). */
const BROTLI_QUALITY = 1;
/** Window of 512 KiB, the usual size of a block. */
const BROTLI_WINDOW_BITS = 19;
/** For packed blocks (docs/decisions/0009-hot-and-packed-blocks.md). */
const PACK_BROTLI_QUALITY = 4;
const PACK_BROTLI_WINDOW_BITS = 22;

/**
 * Bytes that one turn of the thread pool decompresses: a whole block of the usual size. The default, 16 KiB, takes
 * nearly twice the time.
 */
const CHUNK_BYTES_MAX = 512 * 1024;
const CHUNK_BYTES_MIN = 64;

const chunkSizeOf = (bytes: number): number =>
  Math.min(Math.max(bytes, CHUNK_BYTES_MIN), CHUNK_BYTES_MAX);

/** Bytes of the output buffer that `compressInto` replaces: the least that zlib takes. */
const REPLACED_BYTES = CHUNK_BYTES_MIN;

/**
 * Compresses into memory that is used again. `zlib.brotliCompress` takes new memory for every block: garbage of
 * up to 64 MB, until V8 collects its heap. Node has no public function that writes into given memory, so
 * the output buffer of zlib's stream is replaced; in a version of Node without it, zlib takes new memory.
 *
 * @param stream of zlib, unused, with a `chunkSize` of `REPLACED_BYTES`
 * @param text must not change until the promise is settled
 * @param memory of the result; a longer result is in new memory
 */
function compressInto(stream: Transform, text: Buffer, memory: Buffer): Promise<Buffer> {
  const isKnown =
    Reflect.get(stream, '_chunkSize') === REPLACED_BYTES &&
    Reflect.get(stream, '_outOffset') === 0 &&
    Reflect.get(stream, '_outBuffer') instanceof Uint8Array;
  if (isKnown) Object.assign(stream, { _chunkSize: memory.length, _outBuffer: memory });
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    let isInMemory = true;
    stream.on('data', (part: Buffer) => {
      isInMemory &&= part.buffer === memory.buffer;
      isInMemory &&= part.byteOffset === memory.byteOffset + length;
      length += part.length;
      parts.push(part);
    });
    stream.on('error', reject);
    stream.on('end', () => resolve(isInMemory ? memory.subarray(0, length) : Buffer.concat(parts)));
    stream.end(text);
  });
}

/**
 * One turn of the thread pool writes a quarter of the text's bytes, which usually are all compressed bytes. The
 * default, 16 KiB, takes six turns for a block of the usual size.
 */
const COMPRESSED_PART = 4;

const brotliOptions = (quality: number, windowBits: number, text: Buffer): zlib.BrotliOptions => ({
  chunkSize: Math.max(zlib.constants.Z_DEFAULT_CHUNK, Math.ceil(text.length / COMPRESSED_PART)),
  params: {
    [zlib.constants.BROTLI_PARAM_QUALITY]: quality,
    [zlib.constants.BROTLI_PARAM_LGWIN]: windowBits,
    [zlib.constants.BROTLI_PARAM_SIZE_HINT]: text.length,
  },
});

const brotli: Codec = {
  compress: (text, memory) => {
    const options = brotliOptions(BROTLI_QUALITY, BROTLI_WINDOW_BITS, text);
    if (memory === null) return compressBrotli(text, options);
    const stream = zlib.createBrotliCompress({ ...options, chunkSize: REPLACED_BYTES });
    return compressInto(stream, text, memory);
  },
  pack: (part) =>
    compressBrotli(part, brotliOptions(PACK_BROTLI_QUALITY, PACK_BROTLI_WINDOW_BITS, part)),
  decompress: (data, maxOutputLength) =>
    decompressBrotli(data, { maxOutputLength, chunkSize: chunkSizeOf(maxOutputLength) }),
};

type Run = (input: Buffer, options: object) => Promise<Buffer>;
const ZSTD_LEVEL = 1;
const PACK_ZSTD_LEVEL = 3;

/** The types are those of Node.js 20. */
function promisified(name: string): Run | null {
  const run: unknown = Reflect.get(zlib, name);
  return typeof run === 'function'
    ? (promisify(run as Parameters<typeof promisify>[0]) as Run)
    : null;
}

/** null: this Node.js is older. */
function createZstd(): Codec | null {
  const [compress, decompress] = [promisified('zstdCompress'), promisified('zstdDecompress')];
  const create: unknown = Reflect.get(zlib, 'createZstdCompress');
  if (compress === null || decompress === null || typeof create !== 'function') return null;
  const parameter = String(Reflect.get(zlib.constants, 'ZSTD_c_compressionLevel'));
  const optionsOf = (level: number, text: Buffer) => ({
    pledgedSrcSize: text.length,
    params: { [parameter]: level },
  });
  return {
    compress: (text, memory) => {
      const options = optionsOf(ZSTD_LEVEL, text);
      if (memory === null) return compress(text, options);
      const stream = create({ ...options, chunkSize: REPLACED_BYTES }) as Transform;
      return compressInto(stream, text, memory);
    },
    pack: (part) => compress(part, optionsOf(PACK_ZSTD_LEVEL, part)),
    decompress: (data, maxOutputLength) =>
      decompress(data, { maxOutputLength, chunkSize: chunkSizeOf(maxOutputLength) }),
  };
}

const zstd = createZstd();

export const CODECS: ReadonlyMap<number, Codec> = new Map([
  [BROTLI, brotli],
  ...(zstd === null ? [] : [[ZSTD, zstd] as const]),
]);

export const READS_ZSTD = CODECS.has(ZSTD);
