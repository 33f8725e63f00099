/**
 * Owns the bytes that the scanner writes for one row: ids, names, attributes as JSON text. One arena
 * serves all requests, one row at a time: what an earlier row left in it stays behind the end and is
 * never read, because readers take exactly the range that was written for them.
 */

const FIRST_BYTES = 256 * 1024;
/** Up to here a loop is faster than a native copy. */
const LOOP_BYTES_MAX = 32;
/** Up to here eight bytes at a time are, which may write up to seven too many. */
const WORDS_BYTES_MAX = 160;
const OVERRUN_BYTES = 8;
/** An arena above this is given back after use, so that one giant row does not stay. */
const KEPT_BYTES_MAX = 8 * 1024 * 1024;
/** What is left over of an arena when a string of the greatest length has been written. */
const SLACK_BYTES = 256;

/**
 * How much of a row is made room for before it is read; one that is larger runs into the arena's end
 * and is left to the plain decoder. Making room for the whole rest of the body would take a giant
 * body's memory twice.
 */
export const ROW_BYTES_MAX = 4 * 1024 * 1024;

export class Arena {
  #buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  /** the same bytes twice; no Buffer, because ranges of a Buffer take three times as long to make */
  bytes = new Uint8Array(this.#buffer.buffer);
  view = new DataView(this.#buffer.buffer);
  /** where the next byte goes */
  end = 0;

  /** Makes room for `count` more bytes; `bytes` and `view` may be others afterwards. */
  reserve(count: number): void {
    const needed = this.end + count;
    if (needed <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2));
    larger.set(this.bytes.subarray(0, this.end));
    this.#use(larger);
  }

  /** Makes room for a row, or the rest of one, in a body with `bytesLeft` more bytes. */
  reserveRow(bytesLeft: number): void {
    this.reserve(Math.min(bytesLeft, ROW_BYTES_MAX) + SLACK_BYTES);
  }

  /** Writes one byte; throws RangeError when no room was made. */
  byte(value: number): void {
    this.view.setUint8(this.end, value);
    this.end += 1;
  }

  /** Writes text as UTF-8. */
  text(value: string): void {
    this.reserve(value.length * 3);
    this.end += this.#buffer.write(value, this.end, 'utf8');
  }

  /** Writes a few bytes that are used often; throws RangeError when no room was made. */
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
   * Appends a short range of other bytes. Up to seven behind it are read and written too; throws
   * RangeError when they are not there, or no room was made.
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

  /** Begins the next row in the same memory. */
  restart(): void {
    this.end = 0;
  }

  /** Empties the arena, and frees memory that only giant rows need. Once per request, not per row. */
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
