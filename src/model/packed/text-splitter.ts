/**
 * Splits JSON texts into a narrow text, which has an empty string for each long one, and the documents: the
 * contents of the long strings, one after another, as they were sent (with their escapes).
 *
 *   text       {"key":"prompt","value":{"stringValue":"a long text"}}
 *   narrow     {"key":"prompt","value":{"stringValue":""}}
 *   holes                                           └ 39, 11 bytes
 *   documents  a long text
 *
 * Keys of objects stay, so the narrow text is JSON with the same members. `joinText` gives the text, byte for byte.
 */
import { type CollectedDocuments, DocumentStream } from './document-stream.ts';
import { kept, withRoom } from './room.ts';
import { Numbers } from './varints.ts';

/** Least bytes of a string that is taken out. */
export const DOCUMENT_BYTES_MIN = 64;

export interface SplitText extends CollectedDocuments {
  /** of the text */
  readonly bytes: number;
  readonly narrow: Buffer;
  /** for each document: its distance in the narrow text from the one before, its bytes above the minimum */
  readonly holes: Buffer;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const SPACE = 0x20;

/** Splits the texts of one block after another, in the same memory. */
export class TextSplitter {
  #narrow: Buffer = Buffer.alloc(0);
  #narrowBytes = 0;
  readonly #documents = new DocumentStream();
  readonly #holes = new Numbers();
  /** position in the narrow text of the last document */
  #hole = 0;
  #bytes = 0;
  /** the next position in the text that is split */
  #at = 0;

  /** Begins a block. @param bytesExpected of all texts */
  begin(bytesExpected: number): void {
    this.#narrowBytes = 0;
    this.#holes.clear();
    this.#hole = 0;
    this.#bytes = 0;
    this.#documents.begin(bytesExpected);
  }

  /** Bytes of the texts so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Adds a text.
   *
   * @param text tokens of JSON; is not kept
   * @throws {RangeError} when a long string does not end
   */
  put(text: Buffer): void {
    this.#bytes += text.length;
    this.#narrow = withRoom(this.#narrow, this.#narrowBytes, text.length);
    this.#at = 0;
    while (this.#putUpToString(text)) this.#putString(text);
  }

  putByte(byte: number): void {
    this.#bytes += 1;
    this.#narrow = withRoom(this.#narrow, this.#narrowBytes, 1);
    this.#narrow[this.#narrowBytes] = byte;
    this.#narrowBytes += 1;
  }

  end(): SplitText {
    const narrow = Buffer.from(this.#narrow.subarray(0, this.#narrowBytes));
    this.#narrow = kept(this.#narrow);
    const { literals, repeats } = this.#documents.end();
    return { bytes: this.#bytes, narrow, holes: this.#holes.copy(), literals, repeats };
  }

  // Bytes of the narrow text are copied one by one: most pieces are so short that a call for each takes longer.

  /** Copies the text with the opening quote of the next string. @returns false if there is none */
  #putUpToString(text: Buffer): boolean {
    const narrow = this.#narrow;
    let at = this.#at;
    let length = this.#narrowBytes;
    let byte = 0;
    while (byte !== QUOTE && at < text.length) {
      byte = text[at] as number;
      narrow[length] = byte;
      length += 1;
      at += 1;
    }
    this.#at = at;
    this.#narrowBytes = length;
    return byte === QUOTE && at < text.length;
  }

  /** Copies a string, or takes it out. */
  #putString(text: Buffer): void {
    const narrow = this.#narrow;
    const start = this.#at;
    const last = Math.min(text.length, start + DOCUMENT_BYTES_MIN);
    let at = start;
    let length = this.#narrowBytes;
    let byte = 0;
    while (byte !== QUOTE && at < last) {
      byte = text[at] as number;
      narrow[length] = byte;
      length += 1;
      at += 1;
      if (byte !== BACKSLASH || at === text.length) continue;
      narrow[length] = text[at] as number;
      length += 1;
      at += 1;
    }
    this.#at = at;
    this.#narrowBytes = length;
    if (byte === QUOTE || last < start + DOCUMENT_BYTES_MIN) return;
    if (isValue(text, start)) {
      this.#narrowBytes -= at - start;
      this.#takeOut(text, start);
    } else {
      const end = endOfString(text, at) + 1;
      this.#narrowBytes += text.copy(narrow, this.#narrowBytes, at, end);
      this.#at = end;
    }
  }

  /** Takes out a string whose opening quote is in the narrow text. */
  #takeOut(text: Buffer, start: number): void {
    const end = this.#documents.take(text, start);
    this.#holes.put(this.#narrowBytes - this.#hole);
    this.#holes.put(end - start - DOCUMENT_BYTES_MIN);
    this.#hole = this.#narrowBytes;
    // The closing quote must not begin the next string.
    this.#narrow[this.#narrowBytes] = QUOTE;
    this.#narrowBytes += 1;
    this.#at = end + 1;
  }
}

/**
 * Returns the position of a string's closing quote.
 *
 * @param start in the string, not within an escape
 */
function endOfString(text: Buffer, start: number): number {
  let at = start;
  while (text[at] !== QUOTE) {
    if (at >= text.length) throw new RangeError('a string does not end');
    at += text[at] === BACKSLASH ? 2 : 1;
  }
  return at;
}

/** Checks whether a string is a value, not a key. @param start after its opening quote */
function isValue(text: Buffer, start: number): boolean {
  let before = start - 2;
  while ((text[before] ?? COLON) <= SPACE) before -= 1;
  const byte = text[before];
  if (byte !== COMMA) return byte === COLON || byte === OPEN_LIST;
  let after = endOfString(text, start) + 1;
  while ((text[after] ?? COLON + 1) <= SPACE) after += 1;
  return text[after] !== COLON;
}
