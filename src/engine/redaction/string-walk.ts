/** Finds the strings of JSON in its bytes, one after another, with the names of their members. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
/** Bytes walked between two pauses. */
const PIECE_BYTES = 128 * 1024;

export class StringWalk {
  readonly #body: Buffer;
  /** the current string, quotes included */
  start = 0;
  end = 0;
  /** the name of the member that the current string is the value of, or in the list of */
  #name: Pick<StringWalk, 'start' | 'end'> | null = null;

  /** @param body JSON, not necessarily valid */
  constructor(body: Buffer) {
    this.#body = body;
  }

  /** Moves to the first string that ends behind a position. @returns false at the end of the body */
  *seek(position: number): Generator<void, boolean, void> {
    let pauseAt = this.end + PIECE_BYTES;
    while (this.end <= position) {
      if (!this.#next()) return false;
      if (this.end < pauseAt) continue;
      pauseAt = this.end + PIECE_BYTES;
      yield;
    }
    return true;
  }

  #next(): boolean {
    const body = this.#body;
    const bytes = body.length;
    let at = this.end;
    while (at < bytes && body[at] !== QUOTE) at += 1;
    const start = at;
    at += 1;
    while (at < bytes && body[at] !== QUOTE) at += body[at] === BACKSLASH ? 2 : 1;
    if (at >= bytes) return false;
    this.#name = this.#nameOf(start);
    this.start = start;
    this.end = at + 1;
    return true;
  }

  /** @param start of the string behind the current one */
  #nameOf(start: number): Pick<StringWalk, 'start' | 'end'> | null {
    let at = this.#spaceBefore(start);
    // Another element of the same list, or the name of another member.
    if (this.#body[at] === COMMA) return this.#name;
    if (this.#body[at] === OPEN_LIST) at = this.#spaceBefore(at);
    return this.#body[at] === COLON ? { start: this.start, end: this.end } : null;
  }

  #spaceBefore(position: number): number {
    let at = position - 1;
    while (isSpace(this.#body[at])) at -= 1;
    return at;
  }

  /** The current string, quotes included. */
  get written(): string {
    return this.#body.toString('utf8', this.start, this.end);
  }

  get isName(): boolean {
    let at = this.end;
    while (isSpace(this.#body[at])) at += 1;
    return this.#body[at] === COLON;
  }

  get isValue(): boolean {
    return this.#body[this.#spaceBefore(this.start)] === COLON;
  }

  /**
   * The name of the member that has the current string as its value, or in a list, as written with quotes;
   * null without one.
   */
  get memberName(): string | null {
    const name = this.#name;
    return name === null ? null : this.#body.toString('utf8', name.start, name.end);
  }
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** The index of the last unescaped quote before a position; 0 without one. */
export function quoteBefore(body: Buffer, position: number): number {
  for (let quote = position - 1; quote >= 0; quote -= 1) {
    quote = body.lastIndexOf(QUOTE, quote);
    if (quote < 0) break;
    let slash = quote;
    while (body[slash - 1] === BACKSLASH) slash -= 1;
    if ((quote - slash) % 2 === 0) return quote;
  }
  return 0;
}
