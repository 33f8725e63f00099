import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Branches, branchTables } from '../../../src/engine/prefilter/branches.ts';
import { createEndingTables } from '../../../src/engine/prefilter/literal-endings.ts';
import { LiteralHits, shapesOf } from '../../../src/engine/prefilter/literal-hits.ts';
import { LiteralScan } from '../../../src/engine/prefilter/literal-scan.ts';
import {
  SetPositions,
  SetTable,
  setsOfLiterals,
} from '../../../src/engine/prefilter/literal-sets.ts';
import { type Extent, NO_EXTENT } from '../../../src/engine/prefilter/match-extent.ts';
import { mergeWindows, WindowFinder } from '../../../src/engine/prefilter/match-windows.ts';
import { MeasuredBounds } from '../../../src/engine/prefilter/text-bounds.ts';

const chars = (count: number): Extent => ({ ...NO_EXTENT, chars: count });

/** A companion with this extent does not bound the match. */
const FAR = 1000;

/** The windows of one branch: anchored by `x`, with `y` so far before or after it, `extent` wide. */
function windowsIn(
  text: string,
  extent: number,
  near: { back: number; ahead: number; before?: number; after?: number } | null,
  ranges: number[] | null = null,
): number[] | null {
  const literals = ['x', 'y'].map((literal) => Buffer.from(literal));
  const sets = new SetTable();
  const x = sets.idOf(Int32Array.of(0));
  const y = sets.idOf(Int32Array.of(1));
  const companions =
    near === null
      ? []
      : [
          {
            set: y,
            back: chars(near.back),
            ahead: chars(near.ahead),
            before: chars(near.before ?? FAR),
            after: chars(near.after ?? FAR),
          },
        ];
  const branch = {
    pattern: 0,
    pages: null,
    set: x,
    before: chars(extent),
    after: chars(extent),
    companions,
  };
  const branches = new Branches(branchTables([branch], sets.sets.length));
  const bytes = Buffer.from(text);
  const hits = new LiteralHits(shapesOf(literals));
  hits.enter({ bytes, origin: null });
  new LiteralScan(createEndingTables(literals)).find(bytes, hits);
  const positions = new SetPositions(setsOfLiterals(sets.sets, literals.length));
  positions.enter(hits);
  branches.enter(new MeasuredBounds(bytes, 0));
  const windows: number[] = [];
  const touched = ranges === null ? null : Int32Array.from(ranges);
  const finder = new WindowFinder(branches, positions);
  return finder.add(windows, 0, text.length, touched) ? windows : null;
}

describe('the windows of a branch', () => {
  it('are around its anchors, overlapping ones merged', () => {
    expect(windowsIn('..........x.........x..x......', 2, null)).toEqual([8, 12, 18, 25]);
  });

  it('end with the text', () => {
    expect(windowsIn('x...................x', 3, null)).toEqual([0, 3, 17, 21]);
  });

  it('are the whole text if a match can be that long', () => {
    expect(windowsIn('...x...', 7, null)).toBeNull();
  });

  it('need the companion near the anchor, no farther than it can be', () => {
    const text = 'y..x.......................x..y';
    expect(windowsIn(text, 1, { back: 3, ahead: 0 })).toEqual([2, 4]);
    expect(windowsIn(text, 1, { back: 0, ahead: 3 })).toEqual([26, 28]);
    expect(windowsIn(text, 1, { back: 2, ahead: 2 })).toEqual([]);
  });

  it('end where the companion allows', () => {
    const text = '.....x..y..y.......x....';
    expect(windowsIn(text, 10, { back: 0, ahead: 8 })).toEqual([0, 15]);
    // After the last one in range, before the first.
    expect(windowsIn(text, 10, { back: 0, ahead: 8, after: 2 })).toEqual([0, 13]);
    expect(windowsIn(text, 10, { back: 0, ahead: 4, after: 2 })).toEqual([0, 10]);
    expect(windowsIn(text, 10, { back: 0, ahead: 8, before: 5 })).toEqual([3, 15]);
    expect(windowsIn(text, 10, { back: 11, ahead: 0, before: 1, after: 9 })).toEqual([9, 20]);
    // A match can't end before it begins.
    expect(windowsIn(text, 2, { back: 0, ahead: 8, before: 0 })).toEqual([]);
  });

  it('of an unbounded match end where the companion allows', () => {
    const text = `${'.'.repeat(30)}y..x..y${'.'.repeat(30)}`;
    expect(windowsIn(text, 100, { back: 5, ahead: 0, before: 0 })).toEqual([30, 67]);
    expect(windowsIn(text, 100, { back: 0, ahead: 5, after: 4 })).toEqual([0, 40]);
  });

  it('are found only where they touch a range, edges included', () => {
    const text = `x${'.'.repeat(60)}x${'.'.repeat(60)}x`;
    expect(windowsIn(text, 2, null, [61, 61])).toEqual([59, 63]);
    expect(windowsIn(text, 2, null, [70, 75])).toEqual([59, 63]);
    expect(windowsIn(text, 2, null, [75, 76])).toEqual([]);
  });
});

describe('merged windows', () => {
  const text = Buffer.from('.'.repeat(200));

  it('have an edge of a character', () => {
    expect(mergeWindows([50, 60], text)).toEqual([46, 64]);
    expect(mergeWindows([0, 200], text)).toBeNull();
  });

  it('end between characters', () => {
    // 漢 is three bytes: 45 and 63 are between two of them, 46 and 64 are not.
    const wide = Buffer.from('漢'.repeat(60));
    expect(mergeWindows([50, 60], wide)).toEqual([45, 66]);
  });

  it('cover the same, in order and disjoint, whatever their order', () => {
    const window = fc
      .tuple(fc.nat({ max: 199 }), fc.nat({ max: 30 }))
      .map(([from, width]): [number, number] => [from, Math.min(200, from + width)]);
    fc.assert(
      fc.property(fc.array(window, { minLength: 1, maxLength: 8 }), (windows) => {
        const merged = mergeWindows(windows.flat(), text) ?? [0, text.length];
        for (let at = 0; at < merged.length; at += 2) {
          expect(merged[at + 1]).toBeGreaterThan(merged[at] ?? 0);
          if (at > 0) expect(merged[at]).toBeGreaterThan(merged[at - 1] ?? 0);
        }
        for (const [from, to] of windows) {
          const holds = (start: number, end: number) =>
            start <= Math.max(0, from - 4) && end >= Math.min(200, to + 4);
          const pairs = merged.flatMap((start, at) =>
            at % 2 === 0 ? [{ start, end: merged[at + 1] ?? 0 }] : [],
          );
          expect(pairs.some(({ start, end }) => holds(start, end))).toBe(true);
        }
      }),
    );
  });
});
