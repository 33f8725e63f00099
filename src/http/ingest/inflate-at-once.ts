/**
 * Inflates a gzip body in one call, into one buffer of the size that its trailer declares. A stream
 * takes four times as long for a request of a hundred spans, fifteen times for a single span
 * (`bench -- ingest`).
 *
 * The declared size is not trusted: the output is limited to it. A body that becomes larger, or
 * declares no size, is inflated by `content-encoding.ts`.
 */
import { promisify } from 'node:util';
import zlib from 'node:zlib';

/**
 * Most bytes, compressed or inflated, for inflating on the event loop, which takes half a
 * millisecond; larger bodies use zlib's thread pool.
 */
const ON_LOOP_BYTES_MAX = 256 * 1024;
/** ISIZE (RFC 1952 §2.3.1): a member ends with its uncompressed size, modulo 2³². */
const SIZE_BYTES = 4;
/** Header and trailer of the smallest member. */
const GZIP_BYTES_MIN = 18;
/** The smallest `chunkSize` that zlib accepts. */
const CHUNK_BYTES_MIN = 64;

const gunzip = promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.gunzip);

/** The inflated size that a gzip body declares, in bytes; null if the body is too short. */
export function gunzippedSize(body: Buffer): number | null {
  return body.length < GZIP_BYTES_MIN ? null : body.readUInt32LE(body.length - SIZE_BYTES);
}

/**
 * @param size bytes, from `gunzippedSize`
 * @param takeTurn runs work in the workspace's next turn on the event loop
 * @returns null if the body becomes larger than `size`
 * @throws zlib's error if the body is not gzip
 */
export async function gunzipAtOnce(
  body: Buffer,
  size: number,
  takeTurn: <T>(work: () => T) => Promise<T>,
): Promise<Buffer | null> {
  // With a spare byte zlib detects the end and allocates no second buffer.
  const options = { chunkSize: Math.max(CHUNK_BYTES_MIN, size + 1), maxOutputLength: size + 1 };
  try {
    const inflated =
      Math.max(size, body.length) <= ON_LOOP_BYTES_MAX
        ? await takeTurn(() => zlib.gunzipSync(body, options))
        : await gunzip(body, options);
    return inflated.length > size ? null : inflated;
  } catch (error) {
    if (error instanceof RangeError && Reflect.get(error, 'code') === 'ERR_BUFFER_TOO_LARGE') {
      return null;
    }
    throw error;
  }
}
