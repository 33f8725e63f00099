/**
 * Walks through the bytes of a JSON text that is known to be valid, without building values. It finds
 * where members and elements begin and end. Text that is cut short throws a RangeError.
 */
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

export class JsonWalk {
  readonly #bytes: Buffer;
  /** the next byte */
  at = 0;
  /** position of the last key, at its quote */
  keyAt = 0;

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

  /** Skips a value. */
  skip(): void {
    const bytes = this.#bytes;
    let depth = 0;
    this.#peek();
    for (;;) {
      const byte = bytes[this.at] as number;
      if (byte === QUOTE) {
        this.#skipString();
      } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
        depth += 1;
        this.at += 1;
        continue;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        depth -= 1;
        this.at += 1;
      } else if (depth > 0) {
        // Numbers, words, commas, colons and white space need no distinction here.
        if (this.at >= bytes.length) throw new RangeError(CUT);
        this.at += 1;
        continue;
      } else {
        this.#skipWord();
      }
      if (depth === 0) return;
    }
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

  #skipString(): void {
    const bytes = this.#bytes;
    let at = this.at + 1;
    let byte = bytes[at];
    while (byte !== QUOTE) {
      if (byte === undefined) throw new RangeError(CUT);
      at += byte === BACKSLASH ? 2 : 1;
      byte = bytes[at];
    }
    this.at = at + 1;
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
    this.#skipString();
    const end = this.at - start > KEY_BYTES_MAX ? start + 1 : this.at - 1;
    const text = this.#bytes.toString('latin1', start + 1, end);
    const key = text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
    this.#peek();
    this.at += 1;
    this.#peek();
    return key;
  }
}
