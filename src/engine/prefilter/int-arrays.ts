/** Owns small things that flat tables need: looking up, growing, lists of lists. */

/** The index of the first number that is not below `least`; how many there are when there is none. */
export function firstFrom(sorted: Int32Array, least: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Is one of the numbers in the range, ends included? */
export function hasWithin(sorted: Int32Array, from: number, to: number): boolean {
  const first = firstFrom(sorted, from);
  return first < sorted.length && (sorted[first] as number) <= to;
}

/** Twice the room, with the same beginning. */
export function doubled(table: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(table.length * 2);
  larger.set(table);
  return larger;
}

/** Where each list begins when they are put one behind the other; one more, for the end of the last. */
export function startsOf(lists: readonly (readonly number[])[]): Int32Array {
  const starts = new Int32Array(lists.length + 1);
  lists.forEach((list, at) => {
    starts[at + 1] = (starts[at] as number) + list.length;
  });
  return starts;
}
