/**
 * Splits JSON texts into three: a narrow text without attributes and bodies of log records, these attributes and
 * bodies, and the documents: the contents of their long strings, one after another, as they were sent (with their
 * escapes).
 *
 *   text        {"spanId":"a1","attributes":[{"key":"prompt","value":{"stringValue":"a long text"}}]}
 *   narrow      {"spanId":"a1","attributes":[]}
 *   holes                                   └ 28, 56 bytes
 *   attributes  {"key":"prompt","value":{"stringValue":""}}
 *   holes                                       └ 40, 11 bytes
 *   documents   a long text
 *
 * Keys of objects stay, so the narrow text is JSON with the same members. `joinText` gives the text, byte for byte.
 */
import { type CollectedDocuments, DocumentStream } from './document-stream.ts';
import { kept, withRoom } from './room.ts';
import { Numbers } from './varints.ts';

/** Least bytes of a string that is taken out of the attributes. */
export const DOCUMENT_BYTES_MIN = 48;

/** A text with something taken out. */
export interface TextWithHoles {
  readonly text: Buffer;
  /** for each hole: its distance from the one before, the bytes that were there */
  readonly holes: Buffer;
}

export interface SplitText extends CollectedDocuments {
  /** of the text */
  readonly bytes: number;
  readonly narrow: TextWithHoles;
  readonly attributes: TextWithHoles;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;

/** A member whose elements or members are taken out. */
interface Wide {
  readonly key: Buffer;
  readonly open: number;
  readonly close: number;
}
const WIDE: readonly Wide[] = [
  { key: Buffer.from('attributes"'), open: OPEN_LIST, close: CLOSE_LIST },
  { key: Buffer.from('body"'), open: OPEN_OBJECT, close: CLOSE_OBJECT },
];

/** The text that is being written, in memory that is used again. */
class Layer {
  bytes: Buffer = Buffer.alloc(0);
  length = 0;
  readonly #holes = new Numbers();
  /** position of the last one */
  #hole = 0;

  begin(): void {
    this.length = 0;
    this.#holes.clear();
    this.#hole = 0;
  }

  putByte(byte: number): void {
    this.bytes[this.length] = byte;
    this.length += 1;
  }

  put(text: Buffer, from: number, end: number): void {
    this.length += text.copy(this.bytes, this.length, from, end);
  }

  /** @param bytes of what is not put here */
  putHole(bytes: number): void {
    this.#holes.put(this.length - this.#hole);
    this.#holes.put(bytes);
    this.#hole = this.length;
  }

  end(): TextWithHoles {
    const text = Buffer.from(this.bytes.subarray(0, this.length));
    this.bytes = kept(this.bytes);
    return { text, holes: this.#holes.copy() };
  }
}

/** Splits the texts of one block after another, in the same memory. */
export class TextSplitter {
  readonly #narrow = new Layer();
  readonly #attributes = new Layer();
  readonly #documents = new DocumentStream();
  #bytes = 0;
  /** the next position in the text that is split */
  #at = 0;

  /** Begins a block. @param bytesExpected of all texts */
  begin(bytesExpected: number): void {
    this.#narrow.begin();
    this.#attributes.begin();
    this.#documents.begin(bytesExpected);
    this.#bytes = 0;
  }

  /** Bytes of the texts so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes of the parts so far, without holes and repeats. */
  get partsBytes(): number {
    return this.#narrow.length + this.#attributes.length + this.#documents.literalBytes;
  }

  /**
   * Adds a text.
   *
   * @param text tokens of JSON; is not kept
   * @throws {RangeError} when a long string does not end
   */
  put(text: Buffer): void {
    this.#bytes += text.length;
    for (const layer of [this.#narrow, this.#attributes]) {
      layer.bytes = withRoom(layer.bytes, layer.length, text.length);
    }
    this.#at = 0;
    while (this.#putUpToString(text)) {
      const start = this.#at;
      this.#putString(text);
      const wide = wideAt(text, start, this.#at);
      if (wide !== null) this.#takeOut(text, wide);
    }
  }

  /** @param byte no part of a string */
  putByte(byte: number): void {
    this.#bytes += 1;
    this.#narrow.bytes = withRoom(this.#narrow.bytes, this.#narrow.length, 1);
    this.#narrow.putByte(byte);
  }

  end(): SplitText {
    return {
      bytes: this.#bytes,
      narrow: this.#narrow.end(),
      attributes: this.#attributes.end(),
      ...this.#documents.end(),
    };
  }

  // Bytes are copied one by one: most pieces are so short that a call for each takes longer.

  /** Copies the text with the opening quote of the next string. @returns false if there is none */
  #putUpToString(text: Buffer): boolean {
    const layer = this.#narrow;
    const { bytes } = layer;
    let { length } = layer;
    let at = this.#at;
    let byte = 0;
    while (byte !== QUOTE && at < text.length) {
      byte = text[at] as number;
      bytes[length] = byte;
      length += 1;
      at += 1;
    }
    this.#at = at;
    layer.length = length;
    return byte === QUOTE && at < text.length;
  }

  /**
   * Copies a string, or its beginning.
   *
   * @param end of what is copied, but for the rest of an escape
   * @returns its last byte: a quote if the string has ended
   */
  #copyString(text: Buffer, layer: Layer, end: number): number {
    const { bytes } = layer;
    let { length } = layer;
    let at = this.#at;
    let byte = 0;
    while (byte !== QUOTE && at < end) {
      byte = text[at] as number;
      bytes[length] = byte;
      length += 1;
      at += 1;
      if (byte !== BACKSLASH || at === text.length) continue;
      bytes[length] = text[at] as number;
      length += 1;
      at += 1;
    }
    this.#at = at;
    layer.length = length;
    return byte;
  }

  /** Copies a string of the narrow text: a long name or time is needed there. */
  #putString(text: Buffer): void {
    this.#copyString(text, this.#narrow, text.length);
  }

  /** Copies a string of the attributes, or takes it out. */
  #putWideString(text: Buffer): void {
    const start = this.#at;
    const last = Math.min(text.length, start + DOCUMENT_BYTES_MIN);
    const byte = this.#copyString(text, this.#attributes, last);
    if (byte !== QUOTE && last === start + DOCUMENT_BYTES_MIN) this.#endLong(text, start);
  }

  /** Copies the rest of a long key, or takes a long value out. */
  #endLong(text: Buffer, start: number): void {
    const layer = this.#attributes;
    let end: number;
    if (isValue(text, start)) {
      layer.length -= this.#at - start;
      end = this.#documents.take(text, start);
      layer.putHole(end - start);
    } else {
      end = endOfString(text, this.#at);
      layer.put(text, this.#at, end);
    }
    // The closing quote must not begin the next string.
    layer.putByte(QUOTE);
    this.#at = end + 1;
  }

  /** Takes out the elements or members of a list or an object, which may follow. */
  #takeOut(text: Buffer, { open, close }: Wide): void {
    let start = skipSpace(text, this.#at);
    if (text[start] !== COLON) return;
    start = skipSpace(text, start + 1);
    if (text[start] !== open) return;
    start += 1;
    this.#narrow.put(text, this.#at, start);
    this.#at = start;
    for (let depth = 1; depth > 0; ) {
      depth = this.#putUpToWideString(text, depth, open, close);
      if (depth > 0) this.#putWideString(text);
      if (this.#at >= text.length) break;
    }
    if (this.#at > start) this.#narrow.putHole(this.#at - start);
  }

  /**
   * Copies attributes up to the next string, or up to their end.
   *
   * @param depth how many lists or objects are open
   * @returns how many are open then; 0 at the end
   */
  #putUpToWideString(text: Buffer, depth: number, open: number, close: number): number {
    const layer = this.#attributes;
    const { bytes } = layer;
    let { length } = layer;
    let at = this.#at;
    let left = depth;
    for (let byte = 0; byte !== QUOTE && at < text.length; at += 1) {
      byte = text[at] as number;
      if (byte === open) left += 1;
      else if (byte === close) {
        left -= 1;
        if (left === 0) break;
      }
      bytes[length] = byte;
      length += 1;
    }
    this.#at = at;
    layer.length = length;
    return left;
  }
}

/** Returns which key a string is. @param start after its opening quote @param end after its closing quote */
function wideAt(text: Buffer, start: number, end: number): Wide | null {
  for (const wide of WIDE) {
    if (end - start === wide.key.length && isAt(text, start, wide.key)) return wide;
  }
  return null;
}

function isAt(text: Buffer, start: number, bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at += 1) if (text[start + at] !== bytes[at]) return false;
  return true;
}

function skipSpace(text: Buffer, start: number): number {
  let at = start;
  while ((text[at] ?? COLON) <= SPACE) at += 1;
  return at;
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
  return text[skipSpace(text, endOfString(text, start) + 1)] !== COLON;
}
