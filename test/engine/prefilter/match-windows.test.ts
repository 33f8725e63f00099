import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAutomaton } from '../../../src/engine/prefilter/aho-corasick.ts';
import { Branches, branchTables } from '../../../src/engine/prefilter/branches.ts';
import { Hits, shapesOf } from '../../../src/engine/prefilter/literal-hits.ts';
import { walk } from '../../../src/engine/prefilter/literal-search.ts';
import { Places, SetTable, setsOfLiterals } from '../../../src/engine/prefilter/literal-sets.ts';
import { NOWHERE, type Reach } from '../../../src/engine/prefilter/match-extent.ts';
import { addWindows, merge } from '../../../src/engine/prefilter/match-windows.ts';
import { BoundsOfText } from '../../../src/engine/prefilter/text-bounds.ts';

const chars = (count: number): Reach => ({ ...NOWHERE, chars: count });

/** A companion that lets a match reach so far says nothing of where it ends. */
const FAR = 1000;

/** The windows of one branch: anchored by `x`, with `y` so far before or behind it, `reach` wide. */
function windowsIn(
  text: string,
  reach: number,
  near: { back: number; ahead: number; before?: number; after?: number } | null,
  stretches: number[] | null = null,
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
    before: chars(reach),
    after: chars(reach),
    companions,
  };
  const branches = new Branches(branchTables([branch], sets.sets.length));
  const bytes = Buffer.from(text);
  const hits = new Hits(shapesOf(literals));
  hits.enter({ bytes, origin: null });
  walk(
    createAutomaton(literals, () => true),
    bytes,
    hits,
  );
  const places = new Places(setsOfLiterals(sets.sets, literals.length));
  places.enter(hits);
  branches.enter(new BoundsOfText(bytes, []));
  const windows: number[] = [];
  const those = stretches === null ? null : Int32Array.from(stretches);
  return addWindows(windows, 0, branches, places, text.length, those) ? windows : null;
}

describe('the windows of a branch', () => {
  it('stand around its places, those that overlap as one', () => {
    expect(windowsIn('..........x.........x..x......', 2, null)).toEqual([8, 12, 18, 25]);
  });

  it('end with the text', () => {
    expect(windowsIn('x...................x', 3, null)).toEqual([0, 3, 17, 21]);
  });

  it('are anywhere when a match can reach that far', () => {
    expect(windowsIn('...x...', 7, null)).toBeNull();
  });

  it('need what must stand near it, no farther than it can', () => {
    const text = 'y..x.......................x..y';
    expect(windowsIn(text, 1, { back: 3, ahead: 0 })).toEqual([2, 4]);
    expect(windowsIn(text, 1, { back: 0, ahead: 3 })).toEqual([26, 28]);
    expect(windowsIn(text, 1, { back: 2, ahead: 2 })).toEqual([]);
  });

  it('reach no farther than what stands near it lets them', () => {
    const text = '.....x..y..y.......x....';
    expect(windowsIn(text, 10, { back: 0, ahead: 8 })).toEqual([0, 15]);
    // Behind the last one within reach, before the first.
    expect(windowsIn(text, 10, { back: 0, ahead: 8, after: 2 })).toEqual([0, 13]);
    expect(windowsIn(text, 10, { back: 0, ahead: 4, after: 2 })).toEqual([0, 10]);
    expect(windowsIn(text, 10, { back: 0, ahead: 8, before: 5 })).toEqual([3, 15]);
    expect(windowsIn(text, 10, { back: 11, ahead: 0, before: 1, after: 9 })).toEqual([9, 20]);
    // A match can't end before it begins.
    expect(windowsIn(text, 2, { back: 0, ahead: 8, before: 0 })).toEqual([]);
  });

  it('of a match that can reach anywhere are held by what stands near it', () => {
    const text = `${'.'.repeat(30)}y..x..y${'.'.repeat(30)}`;
    expect(windowsIn(text, 100, { back: 5, ahead: 0, before: 0 })).toEqual([30, 67]);
    expect(windowsIn(text, 100, { back: 0, ahead: 5, after: 4 })).toEqual([0, 40]);
  });

  it('are of interest only where they touch a stretch, edges included', () => {
    const text = `x${'.'.repeat(60)}x${'.'.repeat(60)}x`;
    expect(windowsIn(text, 2, null, [61, 61])).toEqual([59, 63]);
    expect(windowsIn(text, 2, null, [70, 75])).toEqual([59, 63]);
    expect(windowsIn(text, 2, null, [75, 76])).toEqual([]);
  });
});

describe('merged windows', () => {
  const text = Buffer.from('.'.repeat(200));

  it('have an edge of a character', () => {
    expect(merge([50, 60], text)).toEqual([46, 64]);
    expect(merge([0, 200], text)).toBeNull();
  });

  it('fall between characters', () => {
    // 漢 is three bytes: 45 and 63 are between two of them, 46 and 64 are not.
    const wide = Buffer.from('漢'.repeat(60));
    expect(merge([50, 60], wide)).toEqual([45, 66]);
  });

  it('cover what was covered, in order and apart, whatever the order they come in', () => {
    const window = fc
      .tuple(fc.nat({ max: 199 }), fc.nat({ max: 30 }))
      .map(([from, width]): [number, number] => [from, Math.min(200, from + width)]);
    fc.assert(
      fc.property(fc.array(window, { minLength: 1, maxLength: 8 }), (windows) => {
        const merged = merge(windows.flat(), text) ?? [0, text.length];
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
