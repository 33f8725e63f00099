/** The rows of a run's tree: every step is a row or counted in one, whatever the run is like. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  FOUND_MAX,
  NEAR,
  ROWS_MAX,
  type RunTree,
  treeInPieces,
  WAY_MAX,
} from '../../src/engine/run-tree.ts';
import type { Finding } from '../../src/model/findings.ts';
import type { TreeRow, TreeStep } from '../../src/model/run-tree.ts';
import { hex16 } from '../support/rows.ts';
import { finding } from '../web/app/fixtures.ts';

function step(number: number, fields: Partial<TreeStep> = {}): TreeStep {
  return {
    number,
    source: 'span',
    spanId: `s${number}`,
    parentSpanId: null,
    startUnixNano: String(1000 + number),
    endUnixNano: String(2000 + number),
    arrivedOn: '2026-11-20',
    twin: 0,
    isError: false,
    nameKey: 1,
    stored: 100,
    blockId: '0',
    ordinal: number,
    storedIn: { blockId: '0', arrivedOn: '2026-11-20' },
    storedAs: number,
    repeats: 0,
    ...fields,
  };
}

/** Each has up to `width` children. */
const wide = (count: number, width: number): TreeStep[] =>
  Array.from({ length: count }, (_, at) =>
    step(at + 1, at === 0 ? {} : { parentSpanId: `s${Math.floor((at - 1) / width) + 1}` }),
  );

function foundAt(id: number, { spanId, source, startUnixNano, twin }: TreeStep): Finding {
  const place = { step: 1, source, startUnixNano, twin, text: 0 };
  const range = { start: 0, end: 1 };
  return finding({
    id: hex16(id),
    stepSpanId: spanId,
    place: { ...place, match: range, inExcerpt: range, nameDigests: [] },
  });
}

function treeOf(
  steps: readonly TreeStep[],
  findings: readonly Finding[] = [],
  sought: Partial<{ number: number; findingId: string }> = {},
): RunTree {
  const pieces = treeInPieces(steps, findings, { number: 1, findingId: null, ...sought });
  for (;;) {
    const piece = pieces.next();
    if (piece.done === true) return piece.value;
  }
}

const numbersOf = (rows: readonly TreeRow[]): number[] =>
  rows.flatMap((row) => (row.kind === 'step' ? [row.number] : []));
const stepsOf = (rows: readonly TreeRow[]): number =>
  rows.reduce(
    (sum, row) => sum + (row.kind === 'gap' ? row.hidden.steps : 1 + (row.below?.steps ?? 0)),
    0,
  );

describe('a small run', () => {
  test('has children below their parents, in time order, and log records below their span', () => {
    const steps = [
      step(1),
      step(2, { parentSpanId: 's1' }),
      step(3, { parentSpanId: 's1' }),
      step(4, { parentSpanId: 's2' }),
      step(5, { spanId: 's3', source: 'log' }),
    ];
    expect(treeOf(steps).rows.map((row) => [row.number, row.depth])).toEqual([
      [1, 0],
      [2, 1],
      [4, 2],
      [3, 1],
      [5, 2],
    ]);
  });

  test('is shown whole, whatever the ids', () => {
    const id = fc.constantFrom('a', 'b', 'c', 'd');
    fc.assert(
      fc.property(fc.array(fc.tuple(id, id, fc.boolean()), { maxLength: 12 }), (drawn) => {
        const steps = drawn.map(([spanId, parentSpanId, isLog], at) =>
          step(at + 1, { spanId, parentSpanId, source: isLog ? 'log' : 'span' }),
        );
        const { rows } = treeOf(steps);
        expect(numbersOf(rows).sort((a, b) => a - b)).toEqual(steps.map(({ number }) => number));
      }),
    );
  });

  test('has no more rows than are shown of any run', () => {
    const gapsOf = (count: number) =>
      treeOf(wide(count, count)).rows.filter(({ kind }) => kind === 'gap');
    expect(gapsOf(ROWS_MAX)).toEqual([]);
    expect(gapsOf(ROWS_MAX + 1)).not.toEqual([]);
  });

  test('without steps has no rows', () => {
    expect(treeOf([])).toMatchObject({ rows: [], current: 0 });
  });
});

describe('a large run', () => {
  test.each([
    ['20,000 siblings', wide(20_000, 19_999)],
    ['a tree of 20,000', wide(20_000, 8)],
    ['a way of 2,000 steps down', wide(2_000, 1)],
  ])('%s: counts every step once, in rows that are bounded', (_what, steps) => {
    for (const number of [1, 777, steps.length]) {
      const { rows, current } = treeOf(steps, [], { number });
      expect(current).toBe(number);
      expect(stepsOf(rows)).toBe(steps.length);
      expect(numbersOf(rows)).toContain(number);
      expect(rows.length).toBeLessThanOrEqual(ROWS_MAX + 100);
    }
  });

  test('shows the way to the step that is open, its neighbours and what is below it', () => {
    const steps = wide(5_000, 10);
    const { rows } = treeOf(steps, [], { number: 333 });
    const shown = numbersOf(rows);
    // 333 is a child of 33, and has the children 3322 to 3331.
    expect(shown).toEqual(expect.arrayContaining([1, 4, 33, 332, 333, 334, 3322, 3331]));
  });

  test('shows as many siblings before the open step as after it', () => {
    const shown = numbersOf(treeOf(wide(20_000, 19_999), [], { number: 9_000 }).rows);
    const near = Array.from({ length: 2 * NEAR + 1 }, (_, at) => 9_000 - NEAR + at);
    expect(shown.filter((number) => Math.abs(number - 9_000) < 100)).toEqual(near);
  });

  test('shows so many steps above the open one, in a long way down', () => {
    const shown = numbersOf(treeOf(wide(2_000, 1), [], { number: 1_000 }).rows);
    const above = shown.filter((number) => number > 100 && number <= 1_000);
    expect(above).toEqual(Array.from({ length: WAY_MAX }, (_, at) => 1_001 - WAY_MAX + at));
  });

  test('shows steps with findings, and leads to others by the rows that count them', () => {
    const steps = wide(20_000, 19_999);
    const few = [4_000, 15_000].map((number) => foundAt(number, step(number)));
    const { rows, places } = treeOf(steps, few);
    expect(numbersOf(rows)).toEqual(expect.arrayContaining([4_000, 15_000]));
    expect(places.get(hex16(4_000))).toBe(4_000);

    const many = Array.from({ length: 100 }, (_, at) => foundAt(at + 1, step(100 * at + 50)));
    const counted = treeOf(steps, many).rows.flatMap((row) => (row.kind === 'gap' ? [row] : []));
    const inGaps = counted.reduce((sum, { hidden }) => sum + hidden.findings, 0);
    expect(inGaps).toBe(100 - FOUND_MAX);
    const [gap] = counted.filter(({ hidden }) => hidden.findings > 0);
    expect(many.map(({ stepSpanId }) => stepSpanId)).toContain(`s${gap?.number}`);
  });

  test('is opened at the step of a finding', () => {
    const steps = wide(1_000, 10);
    const found = foundAt(1, steps[776] ?? step(0));
    expect(treeOf(steps, [found], { number: 1, findingId: found.id }).current).toBe(777);
    expect(treeOf(steps, [], { number: 5, findingId: hex16(9) }).current).toBe(5);
  });

  test('says which steps in one row have one name, how long they took, and how many failed', () => {
    const steps = [
      step(1, { endUnixNano: '90000' }),
      ...Array.from({ length: 500 }, (_, at) =>
        step(at + 2, {
          parentSpanId: 's1',
          nameKey: at < 250 ? 1 : 2,
          isError: at === 300,
          endUnixNano: at === 7 ? '30000' : String(2000 + at),
        }),
      ),
    ];
    const first = treeOf(steps, [], { number: 252 }).rows.find(({ kind }) => kind === 'gap');
    expect(first).toMatchObject({ isRepeated: true, startUnixNano: '1005', endUnixNano: '30000' });
    const last = treeOf(steps, [], { number: 252 }).rows.findLast(({ kind }) => kind === 'gap');
    expect(last).toMatchObject({ isRepeated: true, hidden: { errors: 1 } });
    const all = treeOf(steps).rows.find(({ kind }) => kind === 'gap');
    expect(all).toMatchObject({ isRepeated: false });
  });

  test.each([
    ['a cycle', 's3000'],
    ['itself', 's1'],
  ])('whose first step is below %s shows every step once', (_what, parentSpanId) => {
    const steps = wide(3_000, 1).map((one) => (one.number === 1 ? { ...one, parentSpanId } : one));
    expect(stepsOf(treeOf(steps).rows)).toBe(3_000);
  });
});
