/**
 * The lines of a packed block without attributes and bodies of log records: JSON with empty lists and objects instead
 * (`text-splitter.ts`). It is enough for the tree of a run.
 */
import type { TextWithHoles } from './text-splitter.ts';
import { NumberReader } from './varints.ts';

const DAMAGED = 'its parts do not fit';

/** Where something was taken out of a text. */
export class Holes {
  /** positions, in rising order */
  readonly positions: readonly number[];
  /** bytes that were there */
  readonly lengths: readonly number[];
  /** all of them */
  readonly bytes: number;

  /** @throws {RangeError} when they do not fit the text */
  constructor({ text, holes }: TextWithHoles) {
    const numbers = new NumberReader(holes);
    const positions: number[] = [];
    const lengths: number[] = [];
    let position = 0;
    let bytes = 0;
    while (!numbers.isAtEnd) {
      position += numbers.next();
      if (position > text.length) throw new RangeError(DAMAGED);
      const length = numbers.next();
      positions.push(position);
      lengths.push(length);
      bytes += length;
    }
    this.positions = positions;
    this.lengths = lengths;
    this.bytes = bytes;
  }

  /** Returns the bytes that were taken out of a range of the text. */
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

/** A text that is read from its beginning to its end. */
class Source {
  readonly text: Buffer;
  at = 0;

  constructor(text: Buffer) {
    this.text = text;
  }

  /** Copies the next bytes. @returns the position behind them */
  copyTo(target: Buffer, position: number, bytes: number): number {
    const end = this.at + bytes;
    if (bytes < 0 || end > this.text.length || position + bytes > target.length)
      throw new RangeError(DAMAGED);
    this.text.copy(target, position, this.at, end);
    this.at = end;
    return position + bytes;
  }
}

/**
 * Joins the parts of a text.
 *
 * @param bytes of the text
 * @throws {RangeError} when they do not fit each other
 */
export function joinText(
  bytes: number,
  narrow: TextWithHoles,
  attributes: TextWithHoles,
  documents: Buffer,
): Buffer {
  if (narrow.text.length + attributes.text.length + documents.length !== bytes) {
    throw new RangeError(DAMAGED);
  }
  const text = Buffer.allocUnsafe(bytes);
  const [narrowSource, own, taken] = [narrow.text, attributes.text, documents].map(
    (source) => new Source(source),
  ) as [Source, Source, Source];
  const holes = new Holes(narrow);
  const inner = new Holes(attributes);
  let next = 0;
  let length = 0;
  for (const [index, hole] of holes.positions.entries()) {
    length = narrowSource.copyTo(text, length, hole - narrowSource.at);
    const end = length + (holes.lengths[index] as number);
    while (length < end) {
      const before = (inner.positions[next] ?? Number.POSITIVE_INFINITY) - own.at;
      if (before > end - length) {
        length = own.copyTo(text, length, end - length);
        break;
      }
      length = own.copyTo(text, length, before);
      length = taken.copyTo(text, length, inner.lengths[next] as number);
      next += 1;
    }
    if (length !== end) throw new RangeError(DAMAGED);
  }
  const rest = narrow.text.length - narrowSource.at;
  if (length + rest !== bytes || next < inner.positions.length) throw new RangeError(DAMAGED);
  narrowSource.copyTo(text, length, rest);
  return text;
}
