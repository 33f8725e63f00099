/**
 * Inflates a gzip body in one call, into one buffer of the size that its trailer declares. A stream
 * takes four times as long for a request of a hundred spans, fifteen times for a single span
 * (`bench -- ingest`).
 *
 * Small bodies are inflated by one decompressor that is reused, into memory that is reused.
 * Node's public API (`zlib.gunzipSync`) creates both for every call: 6 µs instead of 3 of CPU time for one
 * span, 23 instead of 13 for a hundred (Node 20.20, 2026-11-28), and V8 collects its whole heap for every
 * 64 MB allocated outside of it. So this uses the native handle of a `zlib.Gunzip`, as the npm package
 * minizlib does; in a version of Node without it, `zlib.gunzip` inflates all bodies.
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

/** The used part of the native half of a `zlib.Gunzip`. */
interface GunzipHandle {
  onerror: (message: string, errno: number, code: string) => void;
  reset(): void;
  writeSync(
    flush: number,
    input: Buffer,
    inputAt: number,
    inputBytes: number,
    output: Buffer,
    outputAt: number,
    outputBytes: number,
  ): void;
}

/** @returns null if the body becomes larger than `size` */
type Inflate = (body: Buffer, size: number, memory: Buffer) => Buffer | null;

function isHandle(value: unknown): value is GunzipHandle {
  if (typeof value !== 'object' || value === null) return false;
  const names = ['reset', 'writeSync', 'onerror'];
  return names.every((name) => typeof Reflect.get(value, name) === 'function');
}

/** Decompresses with one decompressor; null if this version of Node has no such handle. */
function reusedInflate(): Inflate | null {
  const gunzip = zlib.createGunzip();
  const handle: unknown = Reflect.get(gunzip, '_handle');
  /** after a write: bytes of the output that are unused, and of the input that are unread */
  const state: unknown = Reflect.get(gunzip, '_writeState');
  if (!isHandle(handle) || !(state instanceof Uint32Array)) return null;
  let error: Error | null = null;
  handle.onerror = (message, errno, code) => {
    error = Object.assign(new Error(message), { errno, code });
  };
  return (body, size, memory) => {
    error = null;
    handle.reset();
    // With a spare byte zlib detects the end of a body of `size`.
    handle.writeSync(zlib.constants.Z_FINISH, body, 0, body.length, memory, 0, size + 1);
    if (error !== null) throw error;
    const length = size + 1 - (state[0] ?? 0);
    return length > size ? null : memory.subarray(0, length);
  };
}

/** As `zlib.gunzip` takes them: with a spare byte, no second buffer is allocated at the end. */
function optionsFor(size: number): zlib.ZlibOptions {
  return { chunkSize: Math.max(CHUNK_BYTES_MIN, size + 1), maxOutputLength: size + 1 };
}

/** The result of `zlib.gunzip` with `optionsFor(size)`; null if the body becomes larger. */
async function withinSize(inflating: Promise<Buffer>, size: number): Promise<Buffer | null> {
  try {
    const inflated = await inflating;
    return inflated.length > size ? null : inflated;
  } catch (error) {
    if (error instanceof RangeError && Reflect.get(error, 'code') === 'ERR_BUFFER_TOO_LARGE') {
      return null;
    }
    throw error;
  }
}

export class GzipInflater {
  readonly #reused = reusedInflate();

  /**
   * @param size bytes, from `gunzippedSize`
   * @returns null if the body becomes larger than `size`
   * @throws zlib's error if the body is not gzip
   */
  async inflate(
    body: Buffer,
    size: number,
    allocate: (bytes: number) => Buffer,
    takeTurn: <T>(work: () => T) => Promise<T>,
  ): Promise<Buffer | null> {
    const reused = this.#reused;
    if (reused === null || Math.max(size, body.length) > ON_LOOP_BYTES_MAX) {
      return await withinSize(gunzip(body, optionsFor(size)), size);
    }
    return await takeTurn(() => reused(body, size, allocate(size + 1)));
  }
}
