/**
 * Owns the literals of a second reading. It differs from the first in a few places only: what was
 * found elsewhere stands there too, so many bytes farther on, and only around the changes is anything
 * looked for.
 */
import type { Changes } from '../text.ts';
import type { Folded } from './automaton.ts';
import type { Hits } from './hits.ts';
import { firstFrom } from './sorted.ts';

/** Whether looking around the changes costs less than walking over all of the reading. */
export function isWorthCarrying(
  changes: Changes<Int32Array>,
  longest: number,
  length: number,
): boolean {
  return changes.read.length * (longest + 1) < length;
}

export interface SecondReading {
  /** folded; of the same text as the first reading's hits */
  readonly folded: Folded;
  readonly changes: Changes<Int32Array>;
  /** folded bytes of the longest literal */
  readonly longest: number;
  /** Walks over a part of the folded reading. */
  readonly scan: (hits: Hits, from: number, until: number) => void;
}

/**
 * Carries hits over to the second reading, those around its changes found anew.
 *
 * A hit that does not reach into a change is in both readings; one that does, or begins or ends at
 * one, is looked for. So a hit may come twice, never too seldom; and per literal in order: whatever
 * reaches into a change begins behind what ends before it.
 * @param first the first reading's, from one walk
 * @param from which of them: from this one
 * @param until to before this one
 * @param around used here, to be read by nobody
 */
export function carryOver(
  { folded, changes, longest, scan }: SecondReading,
  first: Hits,
  from: number,
  until: number,
  around: Hits,
  second: Hits,
): void {
  const { written, read } = changes;
  const { places, ends, literalOf } = first;
  let hit = from;
  // Where the stretch begins that both readings share, in each of them.
  let writtenFrom = 0;
  let readFrom = 0;
  for (let change = 0; change <= read.length; change += 2) {
    const isLast = change === read.length;
    const writtenUntil = isLast ? Number.POSITIVE_INFINITY : (written[change] as number);
    const farther = readFrom - writtenFrom;
    for (; hit < until && (ends[hit] as number) <= writtenUntil; hit += 1) {
      const place = places[hit] as number;
      if (place < writtenFrom) continue;
      second.add(literalOf[hit] as number, place + farther, (ends[hit] as number) + farther);
    }
    if (isLast) return;
    const start = read[change] as number;
    const end = read[change + 1] as number;
    around.clear();
    const near = indexOf(folded, start) - longest - 1;
    scan(around, Math.max(0, near), Math.min(folded.length, indexOf(folded, end) + longest + 1));
    for (let found = 0; found < around.count; found += 1) {
      const place = around.places[found] as number;
      const behind = around.ends[found] as number;
      // What begins before the stretch came with the change before it.
      if (place < readFrom || place > end || behind < start) continue;
      second.add(around.literalOf[found] as number, place, behind);
    }
    writtenFrom = written[change + 1] as number;
    readFrom = end;
  }
}

/** The first folded byte that comes from this offset or behind it. */
function indexOf({ origin, length }: Folded, offset: number): number {
  return firstFrom(origin, length, offset);
}
