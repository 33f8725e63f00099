/**
 * Writes rows in PostgreSQL's binary COPY format, field by field from text and numbers, into one
 * growing buffer. It knows widths and byte order, not tables. A wrong width corrupts all later
 * fields, and the server notices only when it reads the row: `test/ingest/copy-buffer.test.ts`
 * compares the bytes. The format is in `src/db/telemetry/copy-statement.ts`.
 */
import type { Hex8, Hex16, Int64, JsonText } from '../model/json.ts';

const NULL_LENGTH = -1;
const FIRST_BYTES = 64 * 1024;
/** A larger buffer is freed after use, so that one giant body does not keep it in memory. */
const KEPT_BYTES_MAX = 8 * 1024 * 1024;
const UTF8_BYTES_PER_UNIT_MAX = 3;
const DAYS_1970_TO_2000 = 10_957;
const DAY_MS = 86_400_000;

/** Writes rows one after another; `take` returns their bytes and starts over. */
export class CopyBuffer {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }

  /** Starts a row; exactly `fields` calls of field methods must follow. */
  row(fields: number): void {
    this.#reserve(2);
    this.#length = this.#bytes.writeInt16BE(fields, this.#length);
  }

  null(): void {
    this.#reserve(4);
    this.#length = this.#bytes.writeInt32BE(NULL_LENGTH, this.#length);
  }

  int16(value: number): void {
    this.#reserve(6);
    this.#length = this.#bytes.writeInt32BE(2, this.#length);
    this.#length = this.#bytes.writeInt16BE(value, this.#length);
  }

  int32(value: number): void {
    this.#reserve(8);
    this.#length = this.#bytes.writeInt32BE(4, this.#length);
    this.#length = this.#bytes.writeInt32BE(value, this.#length);
  }

  /** @param value decimal text within PostgreSQL's bigint */
  int64(value: Int64): void {
    this.#reserve(12);
    this.#length = this.#bytes.writeInt32BE(8, this.#length);
    this.#length = this.#bytes.writeBigInt64BE(BigInt(value), this.#length);
  }

  /** A uint32 in a bigint column; null for the default 0, which most rows have. */
  counter(value: number): void {
    if (value === 0) {
      this.null();
      return;
    }
    this.#reserve(12);
    this.#length = this.#bytes.writeInt32BE(8, this.#length);
    this.#length = this.#bytes.writeUInt32BE(0, this.#length);
    this.#length = this.#bytes.writeUInt32BE(value, this.#length);
  }

  float64(value: number): void {
    this.#reserve(12);
    this.#length = this.#bytes.writeInt32BE(8, this.#length);
    this.#length = this.#bytes.writeDoubleBE(value, this.#length);
  }

  uuid(hex: Hex16): void {
    this.#hex(hex, 16);
  }

  spanId(hex: Hex8): void {
    this.#hex(hex, 8);
  }

  /** Two times as one id. */
  timesId(time: Int64, other: Int64): void {
    this.#reserve(20);
    this.#length = this.#bytes.writeInt32BE(16, this.#length);
    this.#length = this.#bytes.writeBigInt64BE(BigInt(time), this.#length);
    this.#length = this.#bytes.writeBigInt64BE(BigInt(other), this.#length);
  }

  #hex(hex: string, width: number): void {
    this.#reserve(4 + width);
    this.#length = this.#bytes.writeInt32BE(width, this.#length);
    const written = this.#bytes.write(hex, this.#length, width, 'hex');
    if (written !== width) throw new RangeError(`expected ${width} bytes of hexadecimal`);
    this.#length += width;
  }

  /** A text or json column: in binary COPY both are UTF-8 bytes. */
  text(value: string | JsonText): void {
    this.#reserve(4 + value.length * UTF8_BYTES_PER_UNIT_MAX);
    const written = this.#bytes.write(value, this.#length + 4, 'utf8');
    this.#bytes.writeInt32BE(written, this.#length);
    this.#length += 4 + written;
  }

  /** @param epochMs any moment of the day, milliseconds since 1970, UTC */
  date(epochMs: number): void {
    this.int32(Math.floor(epochMs / DAY_MS) - DAYS_1970_TO_2000);
  }

  /** Copies the bytes written so far; the buffer is reused for the next rows. */
  take(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    if (this.#bytes.length > KEPT_BYTES_MAX) this.#bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
    return taken;
  }

  /** Drops what was written since the last `take`. */
  clear(): void {
    this.#length = 0;
  }
}
