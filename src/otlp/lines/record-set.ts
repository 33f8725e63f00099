/**
 * Sets of records of a body, by their number in the order of the body. They are kept as ranges, because
 * most bodies are accepted whole, and a body may hold millions of invalid records.
 */
import { addRange } from '../../model/record-ranges.ts';

export class NumberRanges {
  /** start and end (not included) of each range, in rising order */
  readonly #bounds: number[] = [];

  /** Adds a number larger than every number before it. */
  add(number: number): void {
    addRange(this.#bounds, number, number + 1);
  }

  has(number: number): boolean {
    const bounds = this.#bounds;
    let from = 0;
    let to = bounds.length / 2;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (number < (bounds[2 * middle] as number)) to = middle;
      else if (number >= (bounds[2 * middle + 1] as number)) from = middle + 1;
      else return true;
    }
    return false;
  }
}

/** The accepted records of a body. */
export class AcceptedRecords {
  /** numbers of the items (spans, log records, metrics) with an accepted record */
  readonly items = new NumberRanges();
  /** by item number: the accepted points of each metric with both accepted and rejected points */
  readonly points = new Map<number, NumberRanges>();
}
