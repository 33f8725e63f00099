import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Automaton, createAutomaton } from '../../../src/engine/prefilter/aho-corasick.ts';
import { foldLiteral, replaceAsciiEquals } from '../../../src/engine/prefilter/folding.ts';
import {
  LiteralHits,
  type LiteralShapes,
  shapesOf,
} from '../../../src/engine/prefilter/literal-hits.ts';
import {
  findLiterals,
  findLiteralsInHalves,
  findNonAsciiLiterals,
} from '../../../src/engine/prefilter/literal-search.ts';
import { nonAsciiRuns } from '../../../src/engine/prefilter/non-ascii.ts';

type Search = (
  automaton: Automaton,
  bytes: Buffer,
  hits: LiteralHits,
  shapes: LiteralShapes,
) => void;

const nearNonAscii: Search = (automaton, bytes, hits) =>
  findNonAsciiLiterals(automaton, bytes, hits, nonAsciiRuns(bytes));

const inHalves: Search = (automaton, bytes, hits, shapes) => {
  const second = new LiteralHits(shapes);
  second.enter({ bytes, origin: null });
  findLiteralsInHalves(automaton, bytes, hits, second);
};

const all = () => true;
const bytesOf = (literals: readonly string[]) => literals.map((literal) => Buffer.from(literal));

/** Where each literal begins and ends in a text, by the automaton. */
function hitsIn(
  literals: readonly string[],
  text: string,
  how: Search = (automaton, bytes, hits) => findLiterals(automaton, bytes, hits),
) {
  const searched = replaceAsciiEquals(Buffer.from(text));
  const shapes = shapesOf(bytesOf(literals));
  const hits = new LiteralHits(shapes);
  hits.enter(searched);
  how(createAutomaton(bytesOf(literals), all), searched.bytes, hits, shapes);
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
      { numRuns: 3000 },
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
      { numRuns: 1000 },
    );
  });

  it('finds the same in halves, in the same order, wherever the middle is', () => {
    const folded = fc
      .string({ unit: fc.constantFrom('a', 'b', ' ', '0'), minLength: 1, maxLength: 12 })
      .filter((one) => !/^ | {2}/.test(one));
    const around = fc.string({ unit: fc.constantFrom('a', 'B', ' ', '\n', '7'), maxLength: 60 });
    const before = fc.integer({ min: 240, max: 320 });
    fc.assert(
      fc.property(
        fc.uniqueArray(folded, { minLength: 1, maxLength: 20 }),
        around,
        before,
        fc.constantFrom('x', ' ', 'a'),
        (literals, middle, length, filler) => {
          const given = filler.repeat(length) + middle + filler.repeat(280);
          expect(hitsIn(literals, given, inHalves)).toEqual(hitsIn(literals, given));
        },
      ),
      { numRuns: 500 },
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

  it('takes only the literals the automaton is to find', () => {
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
      { numRuns: 2000 },
    );
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
