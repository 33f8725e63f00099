/**
 * Owns the literals of the normalised reading. It differs from the written one in a few places only:
 * hits elsewhere are copied, with their offsets shifted, and only the ranges around the changes are
 * searched.
 */
import type { Changes } from '../matcher/normalised-text.ts';
import { foldedBefore, foldedBehind } from './folding.ts';
import type { LiteralHits } from './literal-hits.ts';
import type { LiteralScan } from './literal-scan.ts';

/**
 * The ranges to search: each change, and as much around it as the longest literal has.
 * @param longest folded bytes of the longest literal
 * @returns pairs of offsets into the reading, one for each change; null when together they are longer
 *   than the reading (a few changes in a long run of blanks), so that nothing is saved
 */
export function rangesAround(
  bytes: Uint8Array,
  { normalised }: Changes<Int32Array>,
  longest: number,
): Int32Array | null {
  const ranges = new Int32Array(normalised.length);
  let covered = 0;
  for (let change = 0; change < normalised.length; change += 2) {
    const from = foldedBefore(bytes, normalised[change] as number, longest + 1);
    const until = foldedBehind(bytes, normalised[change + 1] as number, longest + 1);
    covered += until - from;
    if (covered > bytes.length) return null;
    ranges[change] = from;
    ranges[change + 1] = until;
  }
  return ranges;
}

interface NormalisedSearch {
  readonly literals: LiteralScan;
  readonly bytes: Buffer;
  readonly changes: Changes<Int32Array>;
  readonly ranges: Int32Array;
}

/**
 * Adds the hits of the normalised reading: copied from the written one, or found around its changes.
 * Neither reading has letters that equal an ASCII one.
 *
 * A hit outside all changes is in both readings; one that overlaps a change, or begins or ends at one,
 * is searched. So a hit may be added twice, but none is missed; and the hits of a literal are in
 * order, because a hit that overlaps a change begins after one that ends before it.
 * @param written hits of the written reading, from one search
 * @param until end of the hits to copy
 * @param around buffer
 * @param normalised receives the hits
 */
export function updateHits(
  { literals, bytes, changes, ranges }: NormalisedSearch,
  written: LiteralHits,
  until: number,
  around: LiteralHits,
  normalised: LiteralHits,
): void {
  let hit = 0;
  // The start of the part between two changes, in each reading.
  let writtenFrom = 0;
  let normalisedFrom = 0;
  const { length } = changes.normalised;
  for (let change = 0; change <= length; change += 2) {
    const isLast = change === length;
    const writtenUntil = isLast ? Number.POSITIVE_INFINITY : (changes.written[change] as number);
    const shift = normalisedFrom - writtenFrom;
    const copyUntil = isLast ? until : written.firstEndingPast(writtenUntil, hit, until);
    const copyFrom = written.firstBeginningPast(writtenFrom, hit, copyUntil);
    for (; hit < copyFrom; hit += 1) {
      if (written.startOf(hit) < writtenFrom) continue;
      normalised.add(written.literalOf[hit] as number, (written.lastByte[hit] as number) + shift);
    }
    normalised.copy(written, copyFrom, copyUntil, shift);
    hit = copyUntil;
    if (isLast) return;
    const start = changes.normalised[change] as number;
    const end = changes.normalised[change + 1] as number;
    around.enter({ bytes, origin: null });
    literals.find(bytes, around, ranges[change] as number, ranges[change + 1] as number);
    for (let found = 0; found < around.count; found += 1) {
      const position = around.startOf(found);
      // Hits that begin before this part were found around the change before it.
      if (position < normalisedFrom || position > end || around.endOf(found) < start) continue;
      normalised.add(around.literalOf[found] as number, around.lastByte[found] as number);
    }
    writtenFrom = changes.written[change + 1] as number;
    normalisedFrom = end;
  }
}
