/** The texts around the records of a body: composed, compared, and remembered by what was read of them. */
import type { JsonValue } from '../../model/json.ts';

/** Thrown for a body that the plain decoder must read. Always the same object: an error is expensive. */
export const FALLBACK = new Error('falls back to the plain decoder');

/** Most characters of the text around the records of an object, which is parsed in one piece. */
export const FRAME_LENGTH_MAX = 512 * 1024;
/** Limits of each memory of texts, 4 MB in Latin-1; a full one is emptied. */
const TEXTS_MAX = 1000;
export const TEXT_LENGTH_MAX = 4096;
export const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const OPEN_LIST = 0x5b;

export interface Known<T> {
  readonly value: T;
  readonly structures: number;
}

/** Texts that were read before. */
export class KnownTexts<T> {
  readonly #known = new Map<string, Known<T>>();
  readonly #read: (value: JsonValue) => T | null;
  readonly #max: number;

  /** @param read returns null for what the plain decoder must read */
  constructor(read: (value: JsonValue) => T | null, max = TEXTS_MAX) {
    this.#read = read;
    this.#max = max;
  }

  /** @throws FALLBACK, or SyntaxError, when the plain decoder must read the text */
  of(text: string): Known<T> {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const value = this.#read(JSON.parse(text) as JsonValue);
    if (value === null) throw FALLBACK;
    const found = { value, structures: openedIn(text) };
    if (text.length > TEXT_LENGTH_MAX) return found;
    if (this.#known.size >= this.#max) this.#known.clear();
    this.#known.set(text, found);
    return found;
  }
}

/** Counts the objects and lists of a text; brackets in strings count too. */
function openedIn(text: string): number {
  let opened = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === OPEN_OBJECT || code === OPEN_LIST) opened += 1;
  }
  return opened;
}

/** Checks whether these bytes are at `at`. */
export function hasAt(body: Buffer, bytes: Buffer, at: number): boolean {
  const end = at + bytes.length;
  if (end > body.length) return false;
  // From the end, where most differences are; a call of `compare` takes longer for few bytes.
  for (let index = bytes.length - 1; index >= 0; index -= 1) {
    if (body[at + index] !== bytes[index]) return false;
  }
  return true;
}

/** The text of an object, with `{}` in place of what is checked apart. */
export class FrameText {
  readonly #body: Buffer;
  readonly #encoding: 'latin1' | 'utf8';
  #text = '';
  #from: number;
  /** how many parts were left out */
  holes = 0;

  constructor(body: Buffer, encoding: 'latin1' | 'utf8', start: number) {
    this.#body = body;
    this.#encoding = encoding;
    this.#from = start;
  }

  leaveOut(start: number, end: number): void {
    const isNext = start === this.#from + 1 && this.#body[this.#from] === COMMA;
    this.#text = isNext ? `${this.#text},{}` : `${this.end(start)}{}`;
    this.#from = end;
    this.holes += 1;
  }

  end(at: number): string {
    if (this.#text.length + at - this.#from > FRAME_LENGTH_MAX) throw FALLBACK;
    return this.#text + this.#body.toString(this.#encoding, this.#from, at);
  }
}
