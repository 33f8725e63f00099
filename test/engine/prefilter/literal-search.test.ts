import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldLiteral, replaceAsciiEquals } from '../../../src/engine/prefilter/folding.ts';
import { createEndingTables } from '../../../src/engine/prefilter/literal-endings.ts';
import { LiteralHits, shapesOf } from '../../../src/engine/prefilter/literal-hits.ts';
import { LiteralScan } from '../../../src/engine/prefilter/literal-scan.ts';
import { createNonAsciiTables } from '../../../src/engine/prefilter/non-ascii-literals.ts';
import { NonAsciiScan } from '../../../src/engine/prefilter/non-ascii-scan.ts';
import { casesOf } from '../../support/cases.ts';

type Search = (literals: readonly Buffer[], bytes: Buffer, hits: LiteralHits) => void;

const byScan: Search = (literals, bytes, hits) =>
  new LiteralScan(createEndingTables(literals)).find(bytes, hits);
const byCharacters: Search = (literals, bytes, hits) =>
  new NonAsciiScan(createNonAsciiTables(literals)).read(bytes, hits);

const bytesOf = (literals: readonly string[]) => literals.map((literal) => Buffer.from(literal));

/** Both searches, as the prefilter has them. */
const byBoth: Search = (literals, bytes, hits) => {
  byScan(literals, bytes, hits);
  byCharacters(literals, bytes, hits);
};

/** Where each literal begins and ends in a text. */
function hitsIn(literals: readonly string[], text: string, how: Search = byBoth) {
  const searched = replaceAsciiEquals(Buffer.from(text));
  const hits = new LiteralHits(shapesOf(bytesOf(literals)));
  hits.enter(searched);
  how(bytesOf(literals), searched.bytes, hits);
  hits.link();
  return literals.map((_, literal) => {
    const found: [number, number][] = [];
    for (let hit = hits.first[literal] ?? -1; hit !== -1; hit = hits.following[hit] ?? -1) {
      found.push([hits.startOf(hit), hits.endOf(hit)]);
    }
    return found;
  });
}

/** The same, by looking at every place of the folded text. */
function hitsByHand(literals: readonly string[], text: string): [number, number][][] {
  const units = [...text.matchAll(/[\t\n\f\r ]+|./gsu)].map(([unit]) => unit);
  const folded = units.map(foldLiteral);
  /** index in the folded text → offset in the text's bytes */
  const offsets = new Map<number, number>();
  let index = 0;
  let offset = 0;
  for (const [at, unit] of units.entries()) {
    offsets.set(index, offset);
    index += folded[at]?.length ?? 0;
    offset += Buffer.byteLength(unit);
  }
  offsets.set(index, offset);
  const whole = folded.join('');
  return literals.map((literal) => {
    const found: [number, number][] = [];
    for (let at = whole.indexOf(literal); at !== -1; at = whole.indexOf(literal, at + 1)) {
      const start = offsets.get(at);
      const end = offsets.get(at + literal.length);
      if (start !== undefined && end !== undefined) found.push([start, end]);
    }
    return found;
  });
}

/** As patterns have them: folded, not beginning with a blank. */
const literal = fc
  .string({ unit: fc.constantFrom('a', 'b', 's', 'k', ' ', '0', 'é'), minLength: 1, maxLength: 6 })
  .filter((one) => !/^ | {2}/.test(one));
const text = fc.string({
  unit: fc.constantFrom('a', 'A', 'b', 's', 'ſ', 'K', '\u212a', ' ', '\n', '\t', '7', 'é', '漢'),
  maxLength: 60,
});

describe('the search', () => {
  it('finds literals inside and across each other', () => {
    expect(hitsIn(['he', 'she', 'his', 'hers'], 'ushers and his')).toEqual([
      [[2, 4]],
      [[1, 4]],
      [[11, 14]],
      [[2, 6]],
    ]);
  });

  it('reads small letters, any digit, one blank, the long s and the Kelvin sign', () => {
    expect(hitsIn(['task 00 '], 'TAſ\u212a \t\n 42 \n!')).toEqual([[[0, 15]]]);
  });

  it('finds what looking at every place of the folded text finds', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(literal, { minLength: 1, maxLength: 12 }),
        text,
        (literals, given) => {
          expect(hitsIn(literals, given)).toEqual(hitsByHand(literals, given));
        },
      ),
      { numRuns: casesOf(3000) },
    );
  });

  it.each([6, 120, 400])(
    'by characters finds the literals beyond ASCII in %i of them',
    (maxLength) => {
      const units = ['a', 'b', ' ', '0', 'é', '漢', 'я', '😀'];
      const beyond = fc
        .string({ unit: fc.constantFrom(...units), minLength: 1, maxLength: 9 })
        .filter((one) => !/^ | {2}/.test(one) && /[^ -z]/.test(one));
      const given = fc.string({
        unit: fc.constantFrom(
          ...units,
          'A',
          'a',
          'a',
          'a',
          '\n',
          '7',
          's',
          'ſ',
          'яя',
          'aaaaaaaaa',
          'b'.repeat(40),
          ' '.repeat(19),
          '漢'.repeat(9),
        ),
        maxLength,
      });
      fc.assert(
        fc.property(fc.uniqueArray(beyond, { maxLength: 8 }), given, (some, one) => {
          // Literals that the text has.
          const own = foldLiteral(one.replaceAll(/[ſ]/g, 's').replaceAll(/\s+/g, ' ')).trim();
          const within = [0, 3, 11].map((from) =>
            own
              .slice(from, from + 5)
              .trim()
              .toWellFormed(),
          );
          const found = within.filter((each) => /[^ -z]/.test(each) && !each.includes('\ufffd'));
          const literals = [...new Set([...some, ...found])];
          expect(hitsIn(literals, one, byCharacters)).toEqual(hitsByHand(literals, one));
        }),
        { numRuns: casesOf(1500) },
      );
    },
  );

  it('by characters reads texts longer than a piece, and than what it read before', () => {
    const scan = new NonAsciiScan(createNonAsciiTables(bytesOf(['яé', 'é b'])));
    for (const length of [0, 16_370, 16_383, 200_000, 3]) {
      for (const filler of ['a', 'я', '漢', ' ']) {
        const bytes = Buffer.from(`${filler.repeat(length)}яé   b${filler.repeat(length)}`);
        const hits = new LiteralHits(shapesOf(bytesOf(['яé', 'é b'])));
        hits.enter({ bytes, origin: null });
        scan.read(bytes, hits);
        const at = Buffer.byteLength(filler) * length;
        expect([...hits.lastByte.subarray(0, hits.count)].sort((a, b) => a - b)).toEqual([
          at + 3,
          at + 7,
        ]);
        expect(scan.continuations).toBe(bytes.length - [...bytes.toString()].length);
      }
    }
  });

  it('by characters ignores literals of ASCII', () => {
    expect(hitsIn(['a', 'aé', 'é'], 'aé', byCharacters)).toEqual([[], [[0, 3]], [[1, 3]]]);
  });
});

describe('the scan', () => {
  const folded = fc
    .string({ unit: fc.constantFrom('a', 'b', ' ', '0', 's'), minLength: 1, maxLength: 15 })
    .filter((one) => !/^ | {2}/.test(one));
  const piece = fc.string({
    unit: fc.constantFrom('a', 'B', 'b', ' ', ' ', '\n', '7', 's', 'ſ', 'é', 'x'),
    maxLength: 60,
  });

  it('finds what looking at every place of the folded text finds', () => {
    fc.assert(
      fc.property(fc.uniqueArray(folded, { minLength: 1, maxLength: 30 }), piece, (some, given) => {
        // Literals of every length that the text has.
        const own = foldLiteral(given.replaceAll(/[ſé]/g, 'x')).trimStart();
        const within = [1, 2, 3, 4, 5, 6, 9, 10, 12, 15].map((length) => own.slice(0, length));
        const literals = [...new Set([...some, ...within.filter((one) => one !== '')])];
        expect(hitsIn(literals, given, byScan)).toEqual(hitsByHand(literals, given));
      }),
      { numRuns: casesOf(1000) },
    );
  });

  it('finds what crosses from one chunk of a text to the next, blanks included', () => {
    const before = fc.integer({ min: 4070, max: 4100 });
    fc.assert(
      fc.property(
        fc.uniqueArray(folded, { minLength: 1, maxLength: 20 }),
        piece,
        before,
        fc.constantFrom('x', ' ', 'a', 'a b'),
        (literals, middle, length, filler) => {
          const given = (
            filler.repeat(length).slice(0, length) +
            middle +
            filler.repeat(30)
          ).repeat(2);
          expect(hitsIn(literals, given, byScan)).toEqual(hitsByHand(literals, given));
        },
      ),
      { numRuns: casesOf(500) },
    );
  });

  it('searches a part of the bytes as if it were all of them', () => {
    const literals = bytesOf(['ab', 'b c', 'abc']);
    const scan = new LiteralScan(createEndingTables(literals));
    const hits = new LiteralHits(shapesOf(literals));
    const bytes = Buffer.from('abc ab  c abc');
    hits.enter({ bytes, origin: null });
    scan.find(bytes, hits, 1, 12);
    const found = [...hits.literalOf.subarray(0, hits.count)].map((id, hit) => [
      literals[id]?.toString(),
      hits.startOf(hit),
    ]);
    expect(found).toEqual([
      ['ab', 4],
      ['b c', 5],
      ['ab', 10],
    ]);
  });

  it('finds nothing that begins in the text it has searched before', () => {
    const literals = bytesOf(['ab', 'ab c', 'abcdefghijklm']);
    const scan = new LiteralScan(createEndingTables(literals));
    const hits = new LiteralHits(shapesOf(literals));
    for (const [text, count] of [
      ['xa', 0],
      ['b', 0],
      ['ab ', 1],
      ['c', 0],
      ['abcdefg', 1],
      ['hijklm', 0],
    ] as const) {
      const bytes = Buffer.from(text);
      hits.enter({ bytes, origin: null });
      scan.find(bytes, hits);
      expect(hits.count, text).toBe(count);
    }
  });

  it('misses nothing where literals have more bytes than columns, or more than are compared', () => {
    const bytes = Array.from({ length: 128 }, (_, at) => String.fromCharCode(at));
    const single = [...new Set(bytes.map(foldLiteral))].filter((one) => one !== ' ');
    const literals = [...single, 'abcdefghijklmnopqrstuvwxyz'];
    expect(single.length).toBeGreaterThan(63);
    const given = `${bytes.join('')} abcdefghijklmnopqrstuvwxyz`;
    const found = hitsIn(literals, given, byScan);
    for (const [literal, places] of hitsByHand(literals, given).entries()) {
      expect(found[literal]).toEqual(expect.arrayContaining(places));
    }
  });

  it('has room for the hits of literals that look the same to it, at every place', () => {
    const literals = Array.from({ length: 40 }, (_, at) => `${'ab'[at % 2]}${at}${'x'.repeat(20)}`);
    const found = hitsIn(literals.map(foldLiteral), 'x'.repeat(4200), byScan);
    expect(found.map((places) => places.length)).toEqual(literals.map(() => 4200 - 14));
  });

  it('has no literals at all, or none of ASCII', () => {
    expect(hitsIn([], 'abc', byScan)).toEqual([]);
    expect(hitsIn(['é'], 'aé', byScan)).toEqual([[]]);
  });

  it('finds the hits of a place that ends many literals, again and again', () => {
    const literals = Array.from({ length: 15 }, (_, length) => 'a'.repeat(length + 1));
    const given = 'a'.repeat(9000);
    const found = hitsIn(literals, given, byScan);
    expect(found.map((places) => places.length)).toEqual(literals.map((_, at) => 9000 - at));
  });
});

describe('hits', () => {
  it('of one letter are kept up to 32; with more the letter may be anywhere', () => {
    const literals = bytesOf(['я', 'é', 'яя']);
    const hits = new LiteralHits(shapesOf(literals));
    for (const [text, counts, isFrequent] of [
      ['я'.repeat(32), [32, 0, 31], false],
      ['я'.repeat(33), [32, 0, 32], true],
      ['яé', [1, 1, 0], false],
    ] as const) {
      const bytes = Buffer.from(text);
      hits.enter({ bytes, origin: null });
      byCharacters(literals, bytes, hits);
      const found = [...hits.literalOf.subarray(0, hits.count)];
      expect(literals.map((_, id) => found.filter((one) => one === id).length)).toEqual(counts);
      hits.link();
      expect([hits.hasEverywhere, hits.isEverywhere(0)]).toEqual([isFrequent, isFrequent]);
      expect([1, 2].some((id) => hits.isEverywhere(id))).toBe(false);
    }
  });

  it('grow, and are forgotten', () => {
    const literals = bytesOf(['a']);
    const hits = new LiteralHits(shapesOf(literals));
    const bytes = Buffer.from('a'.repeat(5000));
    hits.enter({ bytes, origin: null });
    byScan(literals, bytes, hits);
    hits.link();
    expect([hits.count, hits.startOf(4999)]).toEqual([5000, 4999]);
    hits.enter({ bytes: Buffer.from('b'), origin: null });
    hits.link();
    expect([hits.count, hits.first[0], [...hits.literals]]).toEqual([0, -1, []]);
  });
});
