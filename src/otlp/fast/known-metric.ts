/**
 * A metric that was sent before, recognized by the bytes of its members other than the points. A
 * process sends its metrics in the same order every time, so each one links to its successor, which
 * is compared first.
 */

import { isSame } from './byte-words.ts';

/** Where the members of a metric start and end in a body; 0 and 0 for absent ones. */
export class Members {
  readonly starts: Int32Array;
  readonly ends: Int32Array;

  constructor(count: number) {
    this.starts = new Int32Array(count);
    this.ends = new Int32Array(count);
  }

  reset(): void {
    this.starts.fill(0);
    this.ends.fill(0);
  }

  note(member: number, start: number, end: number): void {
    this.starts[member] = start;
    this.ends[member] = end;
  }
}

/** The bytes of a valid metric. */
export class KnownMetric {
  /** the metric that followed it last time */
  next: KnownMetric | null = null;
  readonly #kind: number;
  /** the texts of its members, concatenated, and where each ends */
  readonly #texts: DataView;
  readonly #ends: Int32Array;

  /** @param body holds the members; they are copied */
  constructor(kind: number, body: Buffer, { starts, ends }: Members) {
    this.#kind = kind;
    this.#ends = new Int32Array(starts.length);
    let length = 0;
    for (let member = 0; member < starts.length; member += 1) {
      length += (ends[member] as number) - (starts[member] as number);
      this.#ends[member] = length;
    }
    const texts = Buffer.allocUnsafeSlow(length);
    for (let member = 0, at = 0; member < starts.length; member += 1) {
      at += body.copy(texts, at, starts[member], ends[member]);
    }
    this.#texts = new DataView(texts.buffer);
  }

  matches(view: DataView, kind: number, { starts, ends }: Members): boolean {
    if (kind !== this.#kind) return false;
    let from = 0;
    for (let member = 0; member < starts.length; member += 1) {
      const start = starts[member] as number;
      const length = (ends[member] as number) - start;
      const end = this.#ends[member] as number;
      if (end - from !== length || !isSame(view, start, this.#texts, from, length)) return false;
      from = end;
    }
    return true;
  }
}
