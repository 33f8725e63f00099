import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAutomaton, scan, scanBeyondAscii } from '../../../src/engine/fast/automaton.ts';
import { Folding } from '../../../src/engine/fast/fold.ts';
import { Hits } from '../../../src/engine/fast/hits.ts';

/** Where each literal begins in a text, by the automaton. */
function placesIn(literals: readonly string[], text: string, walk = scan): number[][] {
  const automaton = createAutomaton(
    literals.map((literal) => Buffer.from(literal)),
    () => true,
  );
  const folding = new Folding();
  folding.fold(Buffer.from(text));
  const hits = new Hits(literals.length);
  walk(automaton, folding, hits);
  return literals.map((_, literal) => {
    const places: number[] = [];
    for (let hit = hits.first[literal] ?? -1; hit !== -1; hit = hits.following[hit] ?? -1) {
      places.push(hits.places[hit] ?? -1);
    }
    return places;
  });
}

/** The same, by looking at every place. */
function placesByHand(literals: readonly string[], text: string): number[][] {
  return literals.map((literal) =>
    Array.from({ length: text.length }, (_, at) => at).filter((at) => text.startsWith(literal, at)),
  );
}

describe('the automaton', () => {
  it('finds literals inside and across each other', () => {
    expect(placesIn(['he', 'she', 'his', 'hers'], 'ushers and his')).toEqual([[2], [1], [11], [2]]);
  });

  it('finds what looking at every place finds', () => {
    const literal = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 4 });
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd'), maxLength: 60 });
    fc.assert(
      fc.property(
        fc.uniqueArray(literal, { minLength: 1, maxLength: 8 }),
        text,
        (literals, given) => {
          expect(placesIn(literals, given)).toEqual(placesByHand(literals, given));
        },
      ),
    );
  });

  it('grows with its hits, and forgets them', () => {
    const automaton = createAutomaton([Buffer.from('a')], () => true);
    const folding = new Folding();
    const hits = new Hits(1);
    folding.fold(Buffer.from('a'.repeat(5000)));
    scan(automaton, folding, hits);
    expect(hits.places[4999]).toBe(4999);
    hits.clear();
    expect([hits.first[0], hits.literals]).toEqual([-1, []]);
  });

  it('takes only the literals it is to find', () => {
    const automaton = createAutomaton([Buffer.from('a'), Buffer.from('b')], (one) => one[0] === 98);
    const folding = new Folding();
    const hits = new Hits(2);
    folding.fold(Buffer.from('ab'));
    scan(automaton, folding, hits);
    expect(hits.literals).toEqual([1]);
  });

  it('that has only literals beyond ASCII finds them though it walks only where they can be', () => {
    const beyond = fc
      .string({ unit: fc.constantFrom('a', 'b', 'é', '漢'), minLength: 1, maxLength: 4 })
      .filter((literal) => /[é漢]/.test(literal));
    const text = fc.string({ unit: fc.constantFrom('a', 'a', 'a', 'b', 'é', '漢'), maxLength: 80 });
    fc.assert(
      fc.property(fc.uniqueArray(beyond, { maxLength: 6 }), text, (literals, given) => {
        expect(placesIn(literals, given, scanBeyondAscii)).toEqual(placesIn(literals, given));
      }),
    );
  });
});
