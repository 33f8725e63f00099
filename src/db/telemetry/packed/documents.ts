/**
 * Splits JSON lines into a narrow text, which has an empty string for each long one, and the documents: the
 * contents of the long strings, one after another, as they were sent (with their escapes).
 *
 *   text       {"key":"prompt","value":{"stringValue":"a long text"}}
 *   narrow     {"key":"prompt","value":{"stringValue":""}}
 *   holes                                           └ 39, 11 bytes
 *   documents  a long text
 *
 * Keys of objects stay, so the narrow text is JSON with the same members. Joining gives the text, byte for byte.
 */
import { NumberReader, NumberWriter } from './varints.ts';

/** Least bytes of a string that is taken out. */
export const DOCUMENT_BYTES_MIN = 64;

export interface SplitText {
  readonly narrow: Buffer;
  /** for each document: its distance in the narrow text from the one before, its bytes above the minimum */
  readonly holes: Buffer;
  readonly documents: Buffer;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const SPACE = 0x20;

/** @param text valid JSON lines; shares no memory with the parts */
export function splitText(text: Buffer): SplitText {
  const narrow = Buffer.allocUnsafe(text.length);
  const documents = Buffer.allocUnsafe(text.length);
  const holes = new NumberWriter();
  let narrowBytes = 0;
  let documentBytes = 0;
  /** what follows is not yet in the narrow text */
  let from = 0;
  let hole = 0;
  const end = text.length;
  for (let at = 0; at < end; ) {
    if (text[at] !== QUOTE) {
      at += 1;
      continue;
    }
    const start = at + 1;
    at = start;
    for (let byte = text[at]; byte !== QUOTE && at < end; byte = text[at]) {
      at += byte === BACKSLASH ? 2 : 1;
    }
    const length = at - start;
    at += 1;
    if (length < DOCUMENT_BYTES_MIN || at > end || isKey(text, at)) continue;
    narrowBytes += text.copy(narrow, narrowBytes, from, start);
    documentBytes += text.copy(documents, documentBytes, start, start + length);
    from = start + length;
    holes.put(narrowBytes - hole);
    holes.put(length - DOCUMENT_BYTES_MIN);
    hole = narrowBytes;
  }
  narrowBytes += text.copy(narrow, narrowBytes, from);
  return {
    narrow: narrow.subarray(0, narrowBytes),
    holes: holes.end(),
    documents: documents.subarray(0, documentBytes),
  };
}

/** @param at after a string */
function isKey(text: Buffer, at: number): boolean {
  let next = at;
  while ((text[next] ?? COLON + 1) <= SPACE) next += 1;
  return text[next] === COLON;
}

/** Where documents were in a text. */
export class Holes {
  /** positions in the narrow text, in rising order */
  readonly positions: readonly number[];
  /** bytes of the documents */
  readonly lengths: readonly number[];
  /** of all documents */
  readonly bytes: number;

  /** @throws {RangeError} when they do not fit the narrow text */
  constructor(narrow: Buffer, encoded: Buffer) {
    const numbers = new NumberReader(encoded);
    const positions: number[] = [];
    const lengths: number[] = [];
    let position = 0;
    let bytes = 0;
    while (!numbers.isAtEnd) {
      position += numbers.next();
      const length = numbers.next() + DOCUMENT_BYTES_MIN;
      if (narrow[position - 1] !== QUOTE || narrow[position] !== QUOTE) {
        throw new RangeError('its holes do not fit its text');
      }
      positions.push(position);
      lengths.push(length);
      bytes += length;
    }
    this.positions = positions;
    this.lengths = lengths;
    this.bytes = bytes;
  }

  /** Returns the bytes of the documents that were in a range of the narrow text. */
  bytesIn(start: number, end: number): number {
    let bytes = 0;
    for (let at = this.#firstFrom(start); at < this.positions.length; at += 1) {
      if ((this.positions[at] as number) >= end) break;
      bytes += this.lengths[at] as number;
    }
    return bytes;
  }

  /** Returns the index of the first hole at this position or behind it. */
  #firstFrom(position: number): number {
    let from = 0;
    let to = this.positions.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.positions[middle] as number) < position) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

/** @param documents of the holes: as many bytes as they have */
export function joinText(narrow: Buffer, holes: Holes, documents: Buffer): Buffer {
  const text = Buffer.allocUnsafe(narrow.length + documents.length);
  let length = 0;
  let from = 0;
  let document = 0;
  for (const [index, hole] of holes.positions.entries()) {
    const end = document + (holes.lengths[index] as number);
    length += narrow.copy(text, length, from, hole);
    length += documents.copy(text, length, document, end);
    from = hole;
    document = end;
  }
  narrow.copy(text, length, from);
  return text;
}
