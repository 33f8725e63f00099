import { describe, expect, it } from 'vitest';
import { createEndingTables } from '../../../src/engine/prefilter/literal-endings.ts';
import { LiteralHits, shapesOf } from '../../../src/engine/prefilter/literal-hits.ts';
import { LiteralScan } from '../../../src/engine/prefilter/literal-scan.ts';
import { SetPositions, setsOfLiterals } from '../../../src/engine/prefilter/literal-sets.ts';

describe('the places of sets', () => {
  const literals = ['a', 'b', 'c'].map((literal) => Buffer.from(literal));
  const scan = new LiteralScan(createEndingTables(literals));
  const hits = new LiteralHits(shapesOf(literals));
  const places = new SetPositions(
    setsOfLiterals([Int32Array.of(0), Int32Array.of(1, 2)], literals.length),
  );
  const enter = (text: string) => {
    const bytes = Buffer.from(text);
    hits.enter({ bytes, origin: null });
    scan.find(bytes, hits);
    places.enter(hits);
  };

  it('are the positions of all its literals, in order', () => {
    enter('.c.b.a.c');
    expect([...places.of(1)]).toEqual([1, 3, 7]);
    expect([...places.of(0)]).toEqual([5]);
    expect([...places.present].sort()).toEqual([0, 1]);
  });

  it('are of the text at hand only, also of a set that was not there before, or is no more', () => {
    enter('b');
    expect([places.has(0), places.has(1)]).toEqual([false, true]);
    expect([[...places.of(0)], [...places.of(1)]]).toEqual([[], [0]]);
    enter('.a');
    expect([places.has(0), places.has(1)]).toEqual([true, false]);
    expect([[...places.of(0)], [...places.of(1)]]).toEqual([[1], []]);
  });
});
