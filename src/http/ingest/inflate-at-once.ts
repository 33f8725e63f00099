/**
 * Inflating a body in one call, into one buffer of the size that the body says it has: a stream costs a
 * request of a hundred spans four times as much, one of a single span fifteen times (`bench -- ingest`).
 *
 * What a body says is not believed, only tried: no byte more is written than was asked for. A body that
 * turns out larger, or says nothing, is left to `content-encoding.ts`.
 */
import { promisify } from 'node:util';
import zlib from 'node:zlib';

/** In and out: inflated within the event loop, which that holds for half a millisecond; more on a thread. */
const ON_LOOP_BYTES_MAX = 256 * 1024;
/** RFC 1952 §2.3.1: a member ends with the size of what went into it, modulo 2³². */
const SIZE_BYTES = 4;
/** Header and trailer of the smallest member. */
const GZIP_BYTES_MIN = 18;
/** zlib takes no smaller buffer. */
const CHUNK_BYTES_MIN = 64;

const gunzip = promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.gunzip);

/** What a gzip body says to become, in bytes; null when it is too short to say so. */
export function gunzippedSize(body: Buffer): number | null {
  return body.length < GZIP_BYTES_MIN ? null : body.readUInt32LE(body.length - SIZE_BYTES);
}

/**
 * @param size bytes, as `gunzippedSize` says
 * @param takeTurn does some work when the event loop can be held again
 * @returns null when the body becomes larger than that
 * @throws zlib's error when the body is not gzip
 */
export async function gunzipAtOnce(
  body: Buffer,
  size: number,
  takeTurn: <T>(work: () => T) => Promise<T>,
): Promise<Buffer | null> {
  // With a byte to spare zlib knows that it is done, and asks for no second buffer.
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
