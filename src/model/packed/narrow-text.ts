/**
 * The lines of a packed block without attributes and bodies of log records: JSON with empty lists and objects instead
 * (`assembly/split.ts`). It is enough for the tree of a run.
 */
import type { CollectedDocuments } from './document-stream.ts';
import { NumberReader } from './varints.ts';

export interface TextWithHoles {
  readonly text: Buffer;
  /** for each hole: its distance from the one before, the bytes that were there */
  readonly holes: Buffer;
}

export interface SplitText extends CollectedDocuments {
  readonly bytes: number;
  readonly narrow: TextWithHoles;
  readonly attributes: TextWithHoles;
}

const DAMAGED = 'its parts do not fit';

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

class Source {
  readonly text: Buffer;
  at = 0;

  constructor(text: Buffer) {
    this.text = text;
  }

  /**
   * Copies the next bytes.
   *
   * @param target null: they are skipped
   * @returns the position behind them
   */
  copyTo(target: Buffer | null, position: number, bytes: number): number {
    const from = this.at;
    const end = from + bytes;
    if (bytes < 0 || end > this.text.length) throw new RangeError(DAMAGED);
    this.at = end;
    if (target === null) return position;
    if (position + bytes > target.length) throw new RangeError(DAMAGED);
    this.text.copy(target, position, from, end);
    return position + bytes;
  }
}

export interface JoinedParts {
  readonly bytes: number;
  readonly narrow: Buffer;
  /** in the narrow text */
  readonly holes: Holes;
  readonly attributes: TextWithHoles;
  readonly documents: Buffer;
}

/**
 * Joins the parts of a text.
 *
 * @param open ranges of the narrow text whose holes stay: start and end of each
 * @throws {RangeError} when they do not fit each other
 */
export function joinText(
  { bytes, narrow, holes, attributes, documents }: JoinedParts,
  open: readonly number[] = [],
): Buffer {
  if (narrow.length + attributes.text.length + documents.length !== bytes) {
    throw new RangeError(DAMAGED);
  }
  let left = 0;
  for (let range = 0; range < open.length; range += 2) {
    left += holes.bytesIn(open[range] as number, open[range + 1] as number);
  }
  if (left > bytes) throw new RangeError(DAMAGED);
  const text = Buffer.allocUnsafe(bytes - left);
  const [narrowSource, own, taken] = [narrow, attributes.text, documents].map(
    (source) => new Source(source),
  ) as [Source, Source, Source];
  const inner = new Holes(attributes);
  let next = 0;
  let length = 0;
  let range = 0;
  for (const [index, hole] of holes.positions.entries()) {
    length = narrowSource.copyTo(text, length, hole - narrowSource.at);
    while (hole >= (open[range + 1] ?? Number.POSITIVE_INFINITY)) range += 2;
    const target = hole >= (open[range] ?? Number.POSITIVE_INFINITY) ? null : text;
    for (let rest = holes.lengths[index] as number; rest !== 0; ) {
      const before = (inner.positions[next] ?? Number.POSITIVE_INFINITY) - own.at;
      if (before > rest) {
        length = own.copyTo(target, length, rest);
        break;
      }
      const document = inner.lengths[next] as number;
      rest -= before + document;
      if (rest < 0) throw new RangeError(DAMAGED);
      length = own.copyTo(target, length, before);
      length = taken.copyTo(target, length, document);
      next += 1;
    }
  }
  const rest = narrow.length - narrowSource.at;
  const isAll = own.at === own.text.length && taken.at === documents.length;
  if (length + rest !== text.length || !isAll) throw new RangeError(DAMAGED);
  narrowSource.copyTo(text, length, rest);
  return text;
}
