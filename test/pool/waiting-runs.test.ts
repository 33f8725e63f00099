/** In which order claimed runs are handed out. */
import { expect, test } from 'vitest';

import type { ClaimedRun } from '../../src/db/runs/evaluation-queue.ts';
import type { EvaluateTask } from '../../src/pool/tasks.ts';
import { WaitingRuns } from '../../src/pool/waiting-runs.ts';

/** The run `a1` is of workspace `a`. */
const run = (runId: string, steps = 1): ClaimedRun => ({
  workspaceId: runId.charCodeAt(0),
  runId,
  steps,
  claim: 1,
  attempt: 1,
  isRetry: false,
  state: 'completed',
  firstArrivalOn: '2026-11-20',
  lastArrivalOn: '2026-11-20',
});
/** For one thread, which has two tasks: a batch has half of the runs. */
function waitingRuns(...runs: ClaimedRun[]): WaitingRuns {
  const waiting = new WaitingRuns(1);
  waiting.add(runs, new Map());
  return waiting;
}
const idsOf = (task: EvaluateTask | null) => task?.runs.map(({ runId }) => runId);

test('by turns of workspaces, in their order within one', () => {
  const waiting = waitingRuns(...['a1', 'a2', 'a3', 'b1', 'c1', 'c2', 'c3'].map((id) => run(id)));
  expect(idsOf(waiting.takeQuick())).toEqual(['a1', 'b1', 'c1', 'a2']);
  expect(idsOf(waiting.takeQuick())).toEqual(['c2', 'a3', 'c3']);
  expect(waiting.takeQuick()).toBeNull();
});

test('a run behind five hundred of another workspace is in the next batch', () => {
  const many = Array.from({ length: 500 }, (_, index) => run(`a${index}`));
  expect(idsOf(waitingRuns(...many, run('b1')).takeQuick())).toContain('b1');
});

test('a batch is bounded in steps; a run with more goes alone, and holds up nobody', () => {
  const waiting = waitingRuns(run('a1', 1200), run('b1', 9000), run('c1', 600), run('c2', 600));
  expect(idsOf(waiting.takeQuick())).toEqual(['a1', 'c1']);
  expect(idsOf(waiting.takeQuick())).toEqual(['b1']);
  expect(idsOf(waiting.takeQuick())).toEqual(['c2']);
});

test('what is put back is next, in its order', () => {
  const waiting = waitingRuns(...['a1', 'b1', 'a2', 'c1', 'c2', 'd1'].map((id) => run(id)));
  const task = waiting.takeQuick();
  expect(idsOf(task)).toEqual(['a1', 'b1', 'c1']);
  if (task !== null) waiting.putBack(task);
  expect(idsOf(waiting.takeQuick())).toEqual(['a1', 'b1', 'c1']);
});
