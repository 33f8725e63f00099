/** The order of the tree: children below their parents, whatever ids a sender chose. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NO_USAGE } from '../../../../src/engine/step-usage.ts';
import type { ShownStep } from '../../../../src/model/run-page.ts';
import { treeOf } from '../../../../src/web/app/run/run-tree.ts';
import { outline } from '../fixtures.ts';

const step = (
  number: number,
  spanId: string,
  parentSpanId: string | null,
  source: 'span' | 'log' = 'span',
): ShownStep => ({
  number,
  depth: 0,
  outline: outline({ spanId, parentSpanId, source }),
  usage: NO_USAGE,
  model: null,
  details: null,
  findings: [],
  texts: [],
  open: null,
});
const shape = (steps: readonly ShownStep[]) =>
  treeOf(steps).map((row) => [row.step.number, row.depth]);

test('children are below their parents, in time order, and log records below their span', () => {
  const steps = [
    step(1, 'a', null),
    step(2, 'b', 'a'),
    step(3, 'c', 'a'),
    step(4, 'd', 'b'),
    step(5, 'c', null, 'log'),
  ];
  expect(shape(steps)).toEqual([
    [1, 0],
    [2, 1],
    [4, 2],
    [3, 1],
    [5, 2],
  ]);
});

test('a step whose parent is on another page is at its depth in the run', () => {
  const below = { ...step(51, 'x', 'elsewhere'), depth: 3 };
  expect(shape([below, step(52, 'y', 'x')])).toEqual([
    [51, 3],
    [52, 4],
  ]);
});

test('each step is there once, whatever the ids', () => {
  const id = fc.constantFrom('a', 'b', 'c', 'd');
  fc.assert(
    fc.property(fc.array(fc.tuple(id, id, fc.boolean()), { maxLength: 12 }), (drawn) => {
      const steps = drawn.map(([own, parent, isLog], at) =>
        step(at + 1, own, parent, isLog ? 'log' : 'span'),
      );
      const numbers = treeOf(steps).map((row) => row.step.number);
      expect([...numbers].sort((a, b) => a - b)).toEqual(steps.map(({ number }) => number));
    }),
  );
});
