/** Which claimed runs go together. */
import { expect, test } from 'vitest';

import type { ClaimedRun } from '../../src/db/evaluation-queue.ts';
import { BATCH_RUNS_MAX, BATCH_STEPS_MAX, toBatches } from '../../src/pool/batches.ts';
import { hex16 } from '../support/rows.ts';

function runs(count: number, fields: Partial<ClaimedRun> = {}): ClaimedRun[] {
  return Array.from({ length: count }, (_, index) => ({
    workspaceId: 1,
    runId: hex16(index + 1),
    attempt: 1,
    state: 'completed',
    firstArrivalOn: '2026-11-20',
    lastArrivalOn: '2026-11-20',
    steps: 1,
    ...fields,
  }));
}
const sizes = (batches: readonly ClaimedRun[][]): number[] => batches.map(({ length }) => length);

test('few runs are shared out among those who can work', () => {
  expect(sizes(toBatches(runs(10), 4))).toEqual([3, 3, 3, 1]);
  expect(sizes(toBatches(runs(2), 4))).toEqual([1, 1]);
  expect(toBatches([], 4)).toEqual([]);
});

test('many runs go in batches of the most there may be, in their order', () => {
  const all = runs(2 * BATCH_RUNS_MAX + 5);
  const batches = toBatches(all, 1);
  expect(sizes(batches)).toEqual([BATCH_RUNS_MAX, BATCH_RUNS_MAX, 5]);
  expect(batches.flat()).toEqual(all);
});

test('the steps of a batch are bounded; a run with more goes alone', () => {
  const half = BATCH_STEPS_MAX / 2;
  expect(sizes(toBatches(runs(5, { steps: half }), 1))).toEqual([2, 2, 1]);
  const [small] = runs(1);
  const [large] = runs(1, { steps: BATCH_STEPS_MAX + 1 });
  if (small === undefined || large === undefined) throw new Error('no runs');
  expect(sizes(toBatches([small, large, small, small], 1))).toEqual([1, 1, 2]);
});

test('a run that was claimed before goes alone, and after the others', () => {
  const again = runs(2, { attempt: 2 });
  const fresh = runs(3);
  expect(toBatches([...again, ...fresh], 1)).toEqual([fresh, ...again.map((run) => [run])]);
});
