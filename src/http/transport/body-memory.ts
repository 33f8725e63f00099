/**
 * Owns the memory that request bodies arrive in. A new buffer for every body would be memory outside of
 * V8's heap, and for every 64 MB of that V8 looks through the whole heap: at full ingest twenty times a
 * second (Node 20.20). So buffers are used again, by powers of two.
 *
 * A buffer is given back by whoever took it, once nothing reads it any more. One that is not given back
 * is collected like any other; one that is given back too early would show one sender's bytes to another.
 */

const BYTES_MIN = 4 * 1024;
/** What is larger is rare, and taken from the heap. */
const BYTES_MAX = 4 * 1024 * 1024;
/** Kept for later bodies, all sizes together. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024;

export class BodyMemory {
  /** power of two → buffers of that many bytes */
  readonly #kept = new Map<number, Buffer[]>();
  #keptBytes = 0;

  /** Bytes kept for later. */
  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** A buffer of at least so many bytes; what stands in it is anybody's. */
  take(bytes: number): Buffer {
    if (bytes > BYTES_MAX) return Buffer.allocUnsafeSlow(bytes);
    const size = sizeFor(bytes);
    const kept = this.#kept.get(size)?.pop();
    if (kept === undefined) return Buffer.allocUnsafeSlow(size);
    this.#keptBytes -= size;
    return kept;
  }

  /** Takes back a buffer that `take` gave, whole; nobody may read it any more. */
  give(buffer: Buffer): void {
    const size = buffer.length;
    if (size > BYTES_MAX || this.#keptBytes + size > KEPT_BYTES_MAX) return;
    this.#keptBytes += size;
    const kept = this.#kept.get(size);
    if (kept === undefined) this.#kept.set(size, [buffer]);
    else kept.push(buffer);
  }
}

function sizeFor(bytes: number): number {
  let size = BYTES_MIN;
  while (size < bytes) size *= 2;
  return size;
}

/** How much larger a body's next buffer may be than what has come of it: a declared length costs nothing. */
const GROWTH = 4;

/** A body as it comes, in one buffer that grows. */
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

  /** What has come; valid until more is added, or it is released. */
  get bytes(): Buffer {
    return this.#buffer === null ? EMPTY : this.#buffer.subarray(0, this.#length);
  }

  /** Copies a chunk behind what is there. @param declared how long the body says it is, if it does */
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
    this.#memory.give(before);
  }

  /** Gives the buffer back; begins anew. */
  release(): void {
    if (this.#buffer !== null) this.#memory.give(this.#buffer);
    this.#buffer = null;
    this.#length = 0;
  }
}

const EMPTY = Buffer.alloc(0);
