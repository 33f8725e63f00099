/**
 * Owns the literals of a second reading. It differs from the first in a few places only: what was
 * found elsewhere stands there too, so many bytes farther on, and only around the changes is anything
 * looked for.
 */
import type { Changes } from '../matcher/normalised-text.ts';
import type { Automaton } from './aho-corasick.ts';
import { foldedBefore, foldedBehind } from './folding.ts';
import type { Hits } from './literal-hits.ts';
import { walk } from './literal-search.ts';

/**
 * Where anything is looked for: around each change, as far as a literal reaches.
 * @param longest folded bytes of the longest literal
 * @returns pairs of offsets into the reading, one for each change; null when together they are more
 *   than all of it, as a few changes in a long run of blanks are: then nothing is gained
 */
export function stretchesAround(
  bytes: Uint8Array,
  { read }: Changes<Int32Array>,
  longest: number,
): Int32Array | null {
  const stretches = new Int32Array(read.length);
  let covered = 0;
  for (let change = 0; change < read.length; change += 2) {
    const from = foldedBefore(bytes, read[change] as number, longest + 1);
    const until = foldedBehind(bytes, read[change + 1] as number, longest + 1);
    covered += until - from;
    if (covered > bytes.length) return null;
    stretches[change] = from;
    stretches[change + 1] = until;
  }
  return stretches;
}

export interface SecondReading {
  readonly automaton: Automaton;
  readonly bytes: Buffer;
  readonly changes: Changes<Int32Array>;
  /** as `stretchesAround` tells them */
  readonly stretches: Int32Array;
}

/**
 * Carries hits over to the second reading, those around its changes found anew. Both are walked over
 * as they are: neither has letters that equal one of ASCII.
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
  { automaton, bytes, changes, stretches }: SecondReading,
  first: Hits,
  from: number,
  until: number,
  around: Hits,
  second: Hits,
): void {
  const { written, read } = changes;
  let hit = from;
  // Where the stretch begins that both readings share, in each of them.
  let writtenFrom = 0;
  let readFrom = 0;
  for (let change = 0; change <= read.length; change += 2) {
    const isLast = change === read.length;
    const writtenUntil = isLast ? Number.POSITIVE_INFINITY : (written[change] as number);
    const farther = readFrom - writtenFrom;
    for (; hit < until && first.endOf(hit) <= writtenUntil; hit += 1) {
      if (first.startOf(hit) < writtenFrom) continue;
      second.add(first.literalOf[hit] as number, (first.lastByte[hit] as number) + farther);
    }
    if (isLast) return;
    const start = read[change] as number;
    const end = read[change + 1] as number;
    around.enter({ bytes, origin: null });
    const near = stretches[change] as number;
    walk(automaton, bytes, around, near, stretches[change + 1] as number);
    for (let found = 0; found < around.count; found += 1) {
      const place = around.startOf(found);
      // What begins before the stretch came with the change before it.
      if (place < readFrom || place > end || around.endOf(found) < start) continue;
      second.add(around.literalOf[found] as number, around.lastByte[found] as number);
    }
    writtenFrom = written[change + 1] as number;
    readFrom = end;
  }
}
