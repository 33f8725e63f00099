import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { prepareText } from '../../../src/engine/matcher/prepared-text.ts';
import { rangesAround, updateHits } from '../../../src/engine/prefilter/incremental-search.ts';
import { createEndingTables } from '../../../src/engine/prefilter/literal-endings.ts';
import { LiteralHits, shapesOf } from '../../../src/engine/prefilter/literal-hits.ts';
import { LiteralScan } from '../../../src/engine/prefilter/literal-scan.ts';
import { casesOf } from '../../support/cases.ts';

/** The positions of each literal, in the order of its list. */
function placesOf(hits: LiteralHits, literals: number): number[][] {
  hits.link();
  return Array.from({ length: literals }, (_, literal) => {
    const places: number[] = [];
    for (let hit = hits.first[literal] ?? -1; hit !== -1; hit = hits.following[hit] ?? -1) {
      places.push(hits.startOf(hit));
    }
    return places;
  });
}

/** The literals of the normalised reading: updated, and by a search of all of it. */
function bothWays(literals: readonly string[], text: string) {
  const [written, read] = prepareText(text, 65_536, () => []).readings;
  const changes = read?.changes() ?? null;
  if (written === undefined || read === undefined || changes === null) return null;
  const bytes = literals.map((literal) => Buffer.from(literal));
  const scan = new LiteralScan(createEndingTables(bytes));
  const [first, around, second, searched] = [0, 1, 2, 3].map(
    () => new LiteralHits(shapesOf(bytes)),
  ) as [LiteralHits, LiteralHits, LiteralHits, LiteralHits];
  first.enter({ bytes: written.bytes, origin: null });
  scan.find(written.bytes, first);
  const again = { bytes: read.bytes, origin: null };
  // Whether it pays is another question: in a longer text it always does.
  const long = Buffer.concat([read.bytes, Buffer.alloc(100_000, 'x')]);
  const { length } = read.bytes;
  const ranges = rangesAround(long, changes, scan.longest)?.map((offset) =>
    Math.min(offset, length),
  );
  if (ranges === undefined) throw new Error('there is room for all of them');
  const reading = { literals: scan, bytes: read.bytes, changes, ranges };
  second.enter(again);
  updateHits(reading, first, first.count, around, second);
  searched.enter(again);
  scan.find(read.bytes, searched);
  return {
    updated: placesOf(second, literals.length),
    searched: placesOf(searched, literals.length),
  };
}

describe('the hits of a normalised reading', () => {
  it('are the hits of the written one, shifted, and the hits around its changes', () => {
    // Three letters are the same in both readings, `a` and a blank also come of what is not ASCII.
    const unit = fc.constantFrom('a', 'b', 'c', ' ', '\n', '0', 'а', '\u00a0', '\u200b', '…', 'é');
    const literal = fc
      .string({ unit: fc.constantFrom('a', 'b', 'c', ' ', '0', '.'), minLength: 1, maxLength: 5 })
      .filter((one) => !/^ | {2}/.test(one));
    fc.assert(
      fc.property(
        fc.uniqueArray(literal, { minLength: 1, maxLength: 8 }),
        fc.string({ unit, maxLength: 80 }),
        (literals, text) => {
          const both = bothWays(literals, text);
          fc.pre(both !== null);
          // A hit may come twice; none is missing, none too many, and they are in order.
          expect(both.updated.map((places) => [...new Set(places)])).toEqual(both.searched);
          for (const places of both.updated) {
            expect(places).toEqual(places.toSorted((a, b) => a - b));
          }
        },
      ),
      { numRuns: casesOf(2000) },
    );
  });

  it('are searched again if the ranges are as long as the text', () => {
    const around = (text: string) => {
      const [, read] = prepareText(text, 65_536, () => []).readings;
      const changes = read?.changes() ?? null;
      return read === undefined || changes === null
        ? undefined
        : rangesAround(read.bytes, changes, 28);
    };
    const words = 'word '.repeat(200);
    expect(around(`${words}\u200b${words}`)).toEqual(Int32Array.of(970, 1029));
    expect(around('a\u200bb '.repeat(20))).toBeNull();
    // One run of blanks: however few changes there are in it, each is near all of it.
    expect(around(`do not${`${' '.repeat(300)}\u200b`.repeat(10)}tell`)).toBeNull();
  });
});
