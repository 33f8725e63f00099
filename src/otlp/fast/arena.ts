/**
 * The buffer for the bytes that the scanner writes for one row: ids, names, attributes as JSON
 * text. One arena serves all requests, one row at a time. Bytes of earlier rows remain past `end`
 * and must never be read: readers take only ranges that the current row has written.
 */

const FIRST_BYTES = 256 * 1024;
/** Up to this length a byte loop is faster than a native copy. */
const LOOP_BYTES_MAX = 32;
/** Up to this length a loop over eight bytes is; it may write up to seven bytes too many. */
const WORDS_BYTES_MAX = 160;
const OVERRUN_BYTES = 8;
/** A larger buffer is freed after the request, so that one giant row does not keep it in memory. */
const KEPT_BYTES_MAX = 8 * 1024 * 1024;
/** Room beyond the longest string, for what is written around and past it. */
const SLACK_BYTES = 256;

/**
 * Most bytes reserved for a row before it is read; a larger row reaches the end of the arena and
 * falls back to the plain decoder. Reserving the rest of the body would double the memory of a
 * giant body.
 */
export const ROW_BYTES_MAX = 4 * 1024 * 1024;

export class Arena {
  #buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  /** the same memory as `view`; not a Buffer, whose `subarray` takes three times as long */
  bytes = new Uint8Array(this.#buffer.buffer);
  view = new DataView(this.#buffer.buffer);
  /** where the next byte goes */
  end = 0;

  /** Reserves room for `count` more bytes; may replace `bytes` and `view`. */
  reserve(count: number): void {
    const needed = this.end + count;
    if (needed <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2));
    larger.set(this.bytes.subarray(0, this.end));
    this.#use(larger);
  }

  /** Reserves room for a row, or the rest of one, in a body with `bytesLeft` more bytes. */
  reserveRow(bytesLeft: number): void {
    this.reserve(Math.min(bytesLeft, ROW_BYTES_MAX) + SLACK_BYTES);
  }

  /** Writes one byte; throws RangeError without reserved room. */
  byte(value: number): void {
    this.view.setUint8(this.end, value);
    this.end += 1;
  }

  /** Writes text as UTF-8. */
  text(value: string): void {
    this.reserve(value.length * 3);
    this.end += this.#buffer.write(value, this.end, 'utf8');
  }

  /** Writes a short constant; throws RangeError without reserved room. */
  literal(value: Uint8Array): void {
    const { view, end } = this;
    if (value.length > LOOP_BYTES_MAX) {
      this.bytes.set(value, end);
      this.end = end + value.length;
      return;
    }
    for (let index = 0; index < value.length; index += 1) {
      view.setUint8(end + index, value[index] ?? 0);
    }
    this.end = end + value.length;
  }

  /** Appends a range of another arena. */
  copy(source: Arena, start: number, end: number): void {
    const length = end - start;
    this.reserve(length + OVERRUN_BYTES);
    if (length <= WORDS_BYTES_MAX) {
      this.words(source.view, start, end);
      return;
    }
    this.bytes.set(source.bytes.subarray(start, end), this.end);
    this.end += length;
  }

  /**
   * Appends a short range of other bytes. Up to seven bytes past it are read and written too;
   * throws RangeError if the source ends before them, or without reserved room.
   */
  words(source: DataView, start: number, end: number): void {
    const { view } = this;
    const to = this.end - start;
    for (let at = start; at < end; at += 8) {
      view.setInt32(to + at, source.getInt32(at));
      view.setInt32(to + at + 4, source.getInt32(at + 4));
    }
    this.end = to + end;
  }

  /** Starts the next row in the same memory. */
  restart(): void {
    this.end = 0;
  }

  /** Empties the arena and frees a giant buffer. Once per request, not per row. */
  release(): void {
    this.end = 0;
    if (this.bytes.length > KEPT_BYTES_MAX) this.#use(Buffer.allocUnsafeSlow(FIRST_BYTES));
  }

  #use(buffer: Buffer<ArrayBuffer>): void {
    this.#buffer = buffer;
    this.bytes = new Uint8Array(buffer.buffer);
    this.view = new DataView(buffer.buffer);
  }

  /** The text in a range. */
  string(start: number, end: number): string {
    return this.#buffer.toString('utf8', start, end);
  }
}
