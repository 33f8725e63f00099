/**
 * Walks through the bytes of a JSON text that is known to be valid, without building values. It finds
 * where members and elements begin and end. Text that is cut short throws a RangeError.
 */
import { PIECE_BYTES, type Pieces } from '../pieces.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;

const CUT = 'The JSON text ends within a value.';

/** Longer keys are read as empty: no known name is that long, even with every character escaped. */
export const KEY_BYTES_MAX = 256;

/** A key that was read, in bytes and as a string. */
interface KnownKey {
  readonly bytes: Buffer;
  readonly key: string;
}

/** Keys by length, first and last byte. A new string for each key takes three times as long. */
const KNOWN: (KnownKey | undefined)[] = new Array(256).fill(undefined);

function keyIn(bytes: Buffer, start: number, end: number): string {
  const length = end - start;
  const slot = (length * 37 + (bytes[start] as number) + (bytes[end - 1] as number) * 5) & 0xff;
  const known = KNOWN[slot];
  if (known?.bytes.length === length) {
    let same = 0;
    while (same < length && known.bytes[same] === bytes[start + same]) same += 1;
    if (same === length) return known.key;
  }
  const text = bytes.toString('latin1', start, end);
  const key = text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
  KNOWN[slot] = { bytes: Buffer.from(text, 'latin1'), key };
  return key;
}

export class JsonWalk {
  readonly #bytes: Buffer;
  /** the next byte */
  at = 0;
  /** position of the last key, at its quote */
  keyAt = 0;
  /** of a value that is skipped in part (`skipUpTo`) */
  #depth = 0;
  #isInString = false;

  /** @param bytes valid JSON in UTF-8, without a byte order mark */
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isObject(): boolean {
    return this.#peek() === OPEN_OBJECT;
  }

  get isList(): boolean {
    return this.#peek() === OPEN_LIST;
  }

  /** Enters an object; returns its first key, or null for an empty object, which is left. */
  firstKey(): string | null {
    this.at += 1;
    if (this.#peek() !== CLOSE_OBJECT) return this.#key();
    this.at += 1;
    return null;
  }

  /** After a member's value: returns the next key, or null at the object's end, which is left. */
  nextKey(): string | null {
    const byte = this.#peek();
    this.at += 1;
    return byte === COMMA ? this.#key() : null;
  }

  /** Enters a list; returns whether it has an element. */
  firstElement(): boolean {
    this.at += 1;
    if (this.#peek() !== CLOSE_LIST) return true;
    this.at += 1;
    return false;
  }

  /** After an element: returns whether another one follows. */
  nextElement(): boolean {
    const byte = this.#peek();
    this.at += 1;
    if (byte !== COMMA) return false;
    this.#peek();
    return true;
  }

  skip(): void {
    this.skipUpTo(Number.POSITIVE_INFINITY);
  }

  /**
   * Skips a value, or a part of it that ends at about the position `end`; the next call then continues.
   *
   * @returns whether the value was skipped to its end
   */
  skipUpTo(end: number): boolean {
    const bytes = this.#bytes;
    let depth = this.#depth;
    if (this.#isInString) {
      if (!this.#skipString(this.at, end)) return false;
      if (depth === 0) return true;
    } else if (depth === 0) this.#peek();
    const last = Math.min(end, bytes.length);
    while (this.at < last) {
      const byte = bytes[this.at] as number;
      if (byte === QUOTE) {
        if (!this.#skipString(this.at + 1, end)) break;
      } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
        depth += 1;
        this.at += 1;
        continue;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        depth -= 1;
        this.at += 1;
      } else if (depth > 0) {
        // Numbers, words, commas, colons and white space need no distinction here.
        this.at += 1;
        continue;
      } else {
        this.#skipWord();
      }
      if (depth === 0) {
        this.#depth = 0;
        return true;
      }
    }
    if (this.at >= bytes.length) throw new RangeError(CUT);
    this.#depth = depth;
    return false;
  }

  /** Skips the rest of a value that `skipUpTo` began, with pauses. */
  *skipInPieces(): Pieces<void> {
    do yield;
    while (!this.skipUpTo(this.at + PIECE_BYTES));
  }

  /** A number, or `true`, `false` or `null`. */
  #skipWord(): void {
    const bytes = this.#bytes;
    for (;;) {
      const byte = bytes[this.at];
      if (byte === undefined || byte <= SPACE || byte === COMMA) return;
      if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) return;
      this.at += 1;
    }
  }

  /** @param from in the string @returns whether its end was reached */
  #skipString(from: number, end: number): boolean {
    const bytes = this.#bytes;
    let at = from;
    let byte = bytes[at];
    while (byte !== QUOTE && at < end) {
      if (byte === undefined) throw new RangeError(CUT);
      at += byte === BACKSLASH ? 2 : 1;
      byte = bytes[at];
    }
    this.#isInString = byte !== QUOTE;
    this.at = this.#isInString ? at : at + 1;
    return !this.#isInString;
  }

  #peek(): number {
    const bytes = this.#bytes;
    while ((bytes[this.at] as number) <= SPACE) this.at += 1;
    return bytes[this.at] as number;
  }

  #key(): string {
    this.#peek();
    const start = this.at;
    this.keyAt = start;
    this.#skipString(start + 1, Number.POSITIVE_INFINITY);
    const end = this.at - start > KEY_BYTES_MAX ? start + 1 : this.at - 1;
    const key = keyIn(this.#bytes, start + 1, end);
    this.#peek();
    this.at += 1;
    this.#peek();
    return key;
  }
}
