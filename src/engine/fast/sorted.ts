/** Owns looking things up in sorted tables. */

/** The index of the first number that is not below `least`; `length` when there is none. */
export function firstFrom(sorted: Int32Array, length: number, least: number): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Is one of the numbers in the range, ends included? */
export function hasWithin(sorted: Int32Array, from: number, to: number): boolean {
  const first = firstFrom(sorted, sorted.length, from);
  return first < sorted.length && (sorted[first] as number) <= to;
}
