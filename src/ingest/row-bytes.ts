/**
 * Writes rows in PostgreSQL's binary COPY format, from numbers and bytes: the fast counterpart of
 * `copy-buffer.ts`, which writes them from text. Room is reserved once per row, not per field.
 */
import { FreeMemory } from '../free-memory.ts';

const NULL_LENGTH = -1;
/**
 * Rows are written into slabs; `take` returns a request's rows as a part of one. A slab is reused
 * once all its requests are released: V8 collects the whole heap for every 64 MB allocated outside
 * of it (Node 20.20). A request larger than half a slab gets one of its own, which is reused too.
 */
const SLAB_BYTES = 1024 * 1024;
/** Larger slabs are rare and not reused. */
const OWN_SLAB_BYTES_MAX = 16 * 1024 * 1024;
/** Bytes of slabs kept for reuse; more are left to the garbage collector. */
const FREE_BYTES_MAX = 32 * 1024 * 1024;
/** Up to this length a loop over eight bytes beats a native copy (Node 20.20, 2026-11). */
const LOOP_BYTES_MAX = 160;
/** That loop writes up to seven bytes too many, which the next field overwrites. */
const OVERRUN_BYTES = 8;

const BILLION = 1_000_000_000;
const TWO_16 = 0x10000;
const TWO_32 = 0x100000000;

/** Bytes and a view of them. */
export interface BytesSource {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

/** A short ASCII text as a source. */
export function bytesSource(text: string): BytesSource {
  const bytes = new Uint8Array(text.length + OVERRUN_BYTES);
  bytes.set(Buffer.from(text));
  return { bytes, view: new DataView(bytes.buffer) };
}

/** The rows of one request. */
export interface TakenRows {
  readonly bytes: Buffer;
  /** Must be called once the rows are no longer read: their memory is reused. */
  readonly release: () => void;
}

/** Memory that rows are written into. */
class Slab {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  /** requests with rows in it that are not released */
  unreleased = 0;

  constructor(size: number) {
    this.bytes = new Uint8Array(Buffer.allocUnsafeSlow(size).buffer);
    this.view = new DataView(this.bytes.buffer);
  }
}

/** The next power of two, or one and a half of the one before: a third of a slab is unused at most. */
function sizeFor(bytes: number): number {
  let size = SLAB_BYTES;
  while (size < bytes) size *= 2;
  return size * 0.75 >= bytes ? size * 0.75 : size;
}

function nothing(): void {}

/** Writes rows one after another; `take` returns their bytes. */
export class RowBytes {
  #slab = new Slab(SLAB_BYTES);
  /** whether it holds the rows of several requests */
  #isShared = true;
  // Of the current slab.
  #bytes = this.#slab.bytes;
  #view = this.#slab.view;
  readonly #free = new FreeMemory<Slab>(FREE_BYTES_MAX);
  /** start of the rows since the last `take` */
  #start = 0;
  #end = 0;

  /** bytes written since the last `take` */
  get end(): number {
    return this.#end - this.#start;
  }

  /** Starts a request, whose rows are expected to fit in `bytesExpected`. */
  open(bytesExpected: number): void {
    this.#end = this.#start;
    this.#reserve(bytesExpected + OVERRUN_BYTES);
  }

  /** Starts a row of `fields` fields and at most `bytesMax` bytes. */
  row(fields: number, bytesMax: number): void {
    this.#reserve(bytesMax + OVERRUN_BYTES);
    this.#view.setInt16(this.#end, fields);
    this.#end += 2;
  }

  #reserve(count: number): void {
    if (this.#end + count <= this.#bytes.length) return;
    const needed = this.end + count;
    const isShared = needed <= SLAB_BYTES / 2;
    // One that was not large enough grows by half at least.
    const grown = this.#isShared || this.end === 0 ? needed : needed * 1.5;
    this.#use(isShared ? SLAB_BYTES : grown, isShared);
  }

  /** Switches to another slab of at least `bytes` bytes. */
  #use(bytes: number, isShared: boolean): void {
    const before = this.#slab;
    const size = sizeFor(bytes);
    const slab =
      size > OWN_SLAB_BYTES_MAX ? new Slab(bytes) : (this.#free.take(size) ?? new Slab(size));
    slab.bytes.set(this.#bytes.subarray(this.#start, this.#end));
    this.#end -= this.#start;
    this.#start = 0;
    this.#slab = slab;
    this.#isShared = isShared;
    this.#bytes = slab.bytes;
    this.#view = slab.view;
    this.#keep(before);
  }

  /** Keeps a slab for reuse if it is no longer read or written. */
  #keep(slab: Slab): void {
    if (slab.unreleased === 0 && slab !== this.#slab) this.#free.keep(slab.bytes.length, slab);
  }

  null(): void {
    this.#view.setInt32(this.#end, NULL_LENGTH);
    this.#end += 4;
  }

  int16(value: number): void {
    this.#view.setInt32(this.#end, 2);
    this.#view.setInt16(this.#end + 4, value);
    this.#end += 6;
  }

  int32(value: number): void {
    this.#view.setInt32(this.#end, 4);
    this.#view.setInt32(this.#end + 4, value);
    this.#end += 8;
  }

  /** A bigint as billions and the remainder; for times, seconds and nanoseconds. */
  int64(billions: number, rest: number, isNegative = false): void {
    if (billions === 0 && !isNegative) {
      this.#view.setInt32(this.#end, 8);
      this.#view.setInt32(this.#end + 4, 0);
      this.#view.setInt32(this.#end + 8, rest);
      this.#end += 12;
      return;
    }
    // The product does not fit in a double: upper and lower 16 bits are multiplied separately.
    const upper = Math.floor(billions / TWO_16) * BILLION;
    const lower = (upper % TWO_16) * TWO_16 + (billions % TWO_16) * BILLION + rest;
    const high = Math.floor(upper / TWO_16) + Math.floor(lower / TWO_32);
    const low = lower % TWO_32;
    this.#view.setInt32(this.#end, 8);
    // Two's complement: invert and add one, which carries if the lower half is zero.
    this.#view.setInt32(this.#end + 4, isNegative ? ~high + (low === 0 ? 1 : 0) : high);
    this.#view.setInt32(this.#end + 8, isNegative ? -low : low);
    this.#end += 12;
  }

  float64(value: number): void {
    this.#view.setInt32(this.#end, 8);
    this.#view.setFloat64(this.#end + 4, value);
    this.#end += 12;
  }

  /** A uint32 in a bigint column; null for the default 0. */
  counter(value: number): void {
    if (value === 0) {
      this.null();
      return;
    }
    this.#view.setInt32(this.#end, 8);
    this.#view.setInt32(this.#end + 4, 0);
    this.#view.setUint32(this.#end + 8, value);
    this.#end += 12;
  }

  /** An id of 8 or 16 bytes at `offset`. */
  id(ids: DataView, offset: number, width: 8 | 16): void {
    this.#view.setInt32(this.#end, width);
    this.overwrite(this.end + 4, ids, offset, width);
    this.#end += 4 + width;
  }

  /** Two times, as `int64` writes them, as one id. */
  timesId(seconds: number, nanos: number, otherSeconds: number, otherNanos: number): void {
    const start = this.#end;
    // From the end, because a value's length, which is written before it, is not wanted here.
    this.#end = start + 8;
    this.int64(otherSeconds, otherNanos);
    this.#end = start;
    this.int64(seconds, nanos);
    this.#view.setInt32(start, 16);
    this.#end = start + 20;
  }

  /** Overwrites an id that was written before; `place` is a value of `end`. */
  overwrite(place: number, ids: DataView, offset: number, width: 8 | 16): void {
    const at = this.#start + place;
    for (let index = 0; index < width; index += 4) {
      this.#view.setInt32(at + index, ids.getInt32(offset + index));
    }
  }

  /** A text or JSON. The source must be readable for eight bytes after the end. */
  text({ bytes, view }: BytesSource, start: number, end: number): void {
    const length = end - start;
    const target = this.#view;
    target.setInt32(this.#end, length);
    const to = this.#end + 4;
    if (length <= LOOP_BYTES_MAX) {
      for (let index = 0; index < length; index += 8) {
        target.setInt32(to + index, view.getInt32(start + index));
        target.setInt32(to + index + 4, view.getInt32(start + index + 4));
      }
    } else {
      this.#bytes.set(bytes.subarray(start, end), to);
    }
    this.#end = to + length;
  }

  /** Whole rows that were written elsewhere. */
  append(rows: Uint8Array): void {
    this.#reserve(rows.length + OVERRUN_BYTES);
    this.#bytes.set(rows, this.#end);
    this.#end += rows.length;
  }

  /** The rows since the last call; their memory is not reused before they are released. */
  take(): TakenRows {
    const slab = this.#slab;
    const bytes = Buffer.from(this.#bytes.buffer, this.#start, this.end);
    // If half of a slab of its own is unused, the rows are copied out of it.
    const isCopied = !this.#isShared && bytes.length * 2 < slab.bytes.length;
    const taken = isCopied
      ? { bytes: Buffer.from(bytes), release: nothing }
      : { bytes, release: this.#releaseOf(slab) };
    this.#start = this.#end;
    if (!isCopied) slab.unreleased += 1;
    if (!this.#isShared) this.#use(SLAB_BYTES, true);
    return taken;
  }

  /** Frees the rows of one request. */
  #releaseOf(slab: Slab): () => void {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      slab.unreleased -= 1;
      this.#keep(slab);
    };
  }
}
