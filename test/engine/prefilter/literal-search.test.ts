import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAutomaton } from '../../../src/engine/prefilter/aho-corasick.ts';
import { foldLiteral, replaceAsciiEquals } from '../../../src/engine/prefilter/folding.ts';
import { createEndingTables } from '../../../src/engine/prefilter/literal-endings.ts';
import { LiteralHits, shapesOf } from '../../../src/engine/prefilter/literal-hits.ts';
import { LiteralScan } from '../../../src/engine/prefilter/literal-scan.ts';
import {
  findLiterals,
  findNonAsciiLiterals,
} from '../../../src/engine/prefilter/literal-search.ts';
import { nonAsciiRuns } from '../../../src/engine/prefilter/non-ascii.ts';
import { casesOf } from '../../support/exhaustive.ts';

type Search = (literals: readonly Buffer[], bytes: Buffer, hits: LiteralHits) => void;

const byAutomaton: Search = (literals, bytes, hits) =>
  findLiterals(createAutomaton(literals, all), bytes, hits);
const byScan: Search = (literals, bytes, hits) =>
  new LiteralScan(createEndingTables(literals)).find(bytes, hits);
const nearNonAscii: Search = (literals, bytes, hits) =>
  findNonAsciiLiterals(createAutomaton(literals, all), bytes, hits, nonAsciiRuns(bytes));

const all = () => true;
const bytesOf = (literals: readonly string[]) => literals.map((literal) => Buffer.from(literal));

/** Where each literal begins and ends in a text. */
function hitsIn(literals: readonly string[], text: string, how: Search = byAutomaton) {
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

/** The same, by folding the text and looking at every place of it. */
function hitsByHand(literals: readonly string[], text: string): [number, number][][] {
  const units = [...text.matchAll(/[\t\n\f\r ]+|./gsu)].map(([unit]) => unit);
  const folded = units.map(foldLiteral);
  const offsets = units.map((_, at) => Buffer.byteLength(units.slice(0, at).join('')));
  offsets.push(Buffer.byteLength(text));
  return literals.map((literal) => {
    const found: [number, number][] = [];
    const { length } = [...literal];
    for (let at = 0; at + length <= units.length; at += 1) {
      if (folded.slice(at, at + length).join('') !== literal) continue;
      found.push([offsets[at] ?? -1, offsets[at + length] ?? -1]);
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

  it('finds long literals, of which not every state is resolved', () => {
    const long = fc
      .string({ unit: fc.constantFrom('a', 'b', ' '), minLength: 5, maxLength: 12 })
      .filter((one) => !/^ | {2}/.test(one));
    const given = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n', 'c'), maxLength: 200 });
    fc.assert(
      fc.property(fc.uniqueArray(long, { minLength: 1, maxLength: 40 }), given, (literals, one) => {
        const within = [...literals, one.trim().replace(/\s+/g, ' ').slice(0, 9) || 'abcab'];
        const distinct = [...new Set(within.map((each) => each.trimStart()))];
        expect(hitsIn(distinct, one)).toEqual(hitsByHand(distinct, one));
      }),
      { numRuns: casesOf(1000) },
    );
  });

  it('resolves fewer levels when their children have no short numbers', () => {
    const letters = 'abcdefghijklmnopqrstuvwxyz'.split('');
    const literals = letters.flatMap((a) =>
      letters.flatMap((b) => letters.flatMap((c) => [`${a}${b}${c}x`, `${a}${b}${c}yz`])),
    );
    const automaton = createAutomaton(bytesOf(literals), all);
    expect(automaton.labels.length).toBeGreaterThan(0x8000);
    expect(automaton.resolved).toBe(1 + 26 + 26 ** 2);
    const found = hitsIn(literals, 'zzzx qrsyz');
    expect(found[literals.indexOf('zzzx')]).toEqual([[0, 4]]);
    expect(found[literals.indexOf('qrsyz')]).toEqual([[5, 10]]);
    expect(found.flat()).toHaveLength(2);
  });

  it('takes only the literals that the automaton is to find', () => {
    const literals = bytesOf(['a', 'b']);
    const hits = new LiteralHits(shapesOf(literals));
    const bytes = Buffer.from('ab');
    hits.enter({ bytes, origin: null });
    findLiterals(
      createAutomaton(literals, (one) => one[0] === 98),
      bytes,
      hits,
    );
    hits.link();
    expect([...hits.literals]).toEqual([1]);
  });

  it('that has only non-ASCII literals finds them by searching only near such bytes', () => {
    const beyond = literal.filter((one) => one.includes('é'));
    const given = fc.string({
      unit: fc.constantFrom('a', 'a', 'a', 'b', ' ', '\n', 'é', '漢', 's'),
      maxLength: 120,
    });
    fc.assert(
      fc.property(fc.uniqueArray(beyond, { maxLength: 6 }), given, (literals, one) => {
        expect(hitsIn(literals, one, nearNonAscii)).toEqual(hitsIn(literals, one));
      }),
      { numRuns: casesOf(2000) },
    );
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
          expect(hitsIn(literals, given, byScan)).toEqual(hitsIn(literals, given));
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
  it('grow, and are forgotten', () => {
    const literals = bytesOf(['a']);
    const automaton = createAutomaton(literals, all);
    const hits = new LiteralHits(shapesOf(literals));
    const bytes = Buffer.from('a'.repeat(5000));
    hits.enter({ bytes, origin: null });
    findLiterals(automaton, bytes, hits);
    hits.link();
    expect([hits.count, hits.startOf(4999)]).toEqual([5000, 4999]);
    hits.enter({ bytes: Buffer.from('b'), origin: null });
    hits.link();
    expect([hits.count, hits.first[0], [...hits.literals]]).toEqual([0, -1, []]);
  });
});
