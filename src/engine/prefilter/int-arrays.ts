/** Owns operations on sorted, growing and nested lists of integers in typed arrays. */

/** The index of the first number that is not below `least` (lower bound); the length if there is none. */
export function lowerBound(sorted: Int32Array, least: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Checks whether one of the numbers is in the range, ends included. */
export function hasWithin(sorted: Int32Array, from: number, to: number): boolean {
  const first = lowerBound(sorted, from);
  return first < sorted.length && (sorted[first] as number) <= to;
}

export function doubled(table: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(table.length * 2);
  larger.set(table);
  return larger;
}

/** The index at which each list begins when they are concatenated, and the end of the last. */
export function startsOf(lists: readonly (readonly number[])[]): Int32Array {
  const starts = new Int32Array(lists.length + 1);
  lists.forEach((list, at) => {
    starts[at + 1] = (starts[at] as number) + list.length;
  });
  return starts;
}
