/**
 * The lines of a packed block without their documents: JSON with an empty string for each (`text-splitter.ts`). It is
 * enough for the tree of a run.
 */
import { DOCUMENT_BYTES_MIN } from './text-splitter.ts';
import { NumberReader } from './varints.ts';

const QUOTE = 0x22;

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
