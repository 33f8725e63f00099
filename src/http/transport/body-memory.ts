/**
 * The memory pool for request bodies. Buffers are reused, in sizes of powers of two: with a new buffer
 * per body, V8 would collect its whole heap twenty times a second at full ingest (Node 20.20).
 *
 * The owner of a buffer releases it when nothing reads it any more. A buffer that is not released
 * is garbage collected; one that is released too early would show one sender's bytes to another.
 */
import { FreeMemory } from '../../free-memory.ts';

const BYTES_MIN = 4 * 1024;
/** Larger buffers are rare and not reused. */
const BYTES_MAX = 16 * 1024 * 1024;
const KEPT_BYTES_MAX = 32 * 1024 * 1024;

export class BodyMemory {
  readonly #kept = new FreeMemory<Buffer>(KEPT_BYTES_MAX);

  get keptBytes(): number {
    return this.#kept.bytes;
  }

  /** A buffer of at least `bytes` bytes, with arbitrary content. */
  take(bytes: number): Buffer {
    if (bytes > BYTES_MAX) return Buffer.allocUnsafeSlow(bytes);
    const size = sizeFor(bytes);
    return this.#kept.take(size) ?? Buffer.allocUnsafeSlow(size);
  }

  /** Releases a whole buffer of `take`, which must not be read any more. */
  release(buffer: Buffer): void {
    if (buffer.length <= BYTES_MAX) this.#kept.keep(buffer.length, buffer);
  }
}

function sizeFor(bytes: number): number {
  let size = BYTES_MIN;
  while (size < bytes) size *= 2;
  return size;
}

/** Limits a buffer to this many times the arrived bytes: declaring a large length costs nothing. */
const GROWTH = 4;

export class BodyBytes {
  readonly #memory: BodyMemory;
  #buffer: Buffer | null = null;
  #length = 0;

  constructor(memory: BodyMemory) {
    this.#memory = memory;
  }

  get length(): number {
    return this.#length;
  }

  /** The bytes that have arrived; valid until more are added, or the body is released. */
  get bytes(): Buffer {
    return this.#buffer === null ? EMPTY : this.#buffer.subarray(0, this.#length);
  }

  /** Appends a copy of a chunk. @param declared the body's declared length, if it has one */
  add(chunk: Uint8Array, declared: number | null): void {
    const needed = this.#length + chunk.length;
    if (needed > (this.#buffer?.length ?? 0)) {
      const most = needed * GROWTH;
      this.#move(Math.max(needed, Math.min(declared ?? most, most)));
    }
    this.#buffer?.set(chunk, this.#length);
    this.#length = needed;
  }

  #move(bytes: number): void {
    const larger = this.#memory.take(bytes);
    const before = this.#buffer;
    this.#buffer = larger;
    if (before === null) return;
    larger.set(before.subarray(0, this.#length));
    this.#memory.release(before);
  }

  release(): void {
    if (this.#buffer !== null) this.#memory.release(this.#buffer);
    this.#buffer = null;
    this.#length = 0;
  }
}

const EMPTY = Buffer.alloc(0);
