/** In which order claimed runs are handed out. */
import { expect, test } from 'vitest';

import { RunQueue } from '../../src/pool/run-queue.ts';

interface Run {
  readonly workspaceId: number;
  readonly steps: number;
  readonly name: string;
}
const EVERYBODY = () => true;
const run = (name: string, steps = 1): Run => ({
  workspaceId: name.charCodeAt(0),
  steps,
  name,
});
function queueOf(...runs: Run[]): RunQueue<Run> {
  const queue = new RunQueue<Run>();
  for (const one of runs) queue.push(one);
  return queue;
}
const names = (runs: readonly Run[]): string[] => runs.map(({ name }) => name);

test('by turns of workspaces, in their order within one', () => {
  const queue = queueOf(run('a1'), run('a2'), run('a3'), run('b1'), run('c1'), run('c2'));
  expect(names(queue.take(4, 100, EVERYBODY))).toEqual(['a1', 'b1', 'c1', 'a2']);
  expect(names(queue.take(4, 100, EVERYBODY))).toEqual(['c2', 'a3']);
  expect(queue.size).toBe(0);
});

test('a run behind five hundred of another workspace is in the next batch', () => {
  const many = Array.from({ length: 500 }, (_, index) => run(`a${index}`));
  const queue = queueOf(...many, run('b1'));
  expect(names(queue.take(64, 2000, EVERYBODY))).toContain('b1');
});

test('a batch is bounded in runs and steps; a run with more steps goes alone, and holds up nobody', () => {
  const queue = queueOf(run('a1', 60), run('b1', 500), run('c1', 30), run('c2', 30));
  expect(names(queue.take(9, 100, EVERYBODY))).toEqual(['a1', 'c1']);
  expect(names(queue.take(9, 100, EVERYBODY))).toEqual(['b1']);
  expect(names(queue.take(9, 100, EVERYBODY))).toEqual(['c2']);
});

test('a workspace that must wait is left out', () => {
  const queue = queueOf(run('a1'), run('b1'), run('a2'));
  const isB = (workspaceId: number) => workspaceId === run('b').workspaceId;
  expect(names(queue.take(9, 100, isB))).toEqual(['b1']);
  expect(queue.takeOne(({ workspaceId }) => isB(workspaceId))).toBeNull();
  expect(queue.countOf(run('a').workspaceId)).toBe(2);
});

test('one is taken from the workspace whose turn it is, past runs that may not be', () => {
  const queue = queueOf(run('a1', 9), run('a2'), run('b1'));
  const isSmall = ({ steps }: Run) => steps === 1;
  expect(queue.takeOne(isSmall)?.name).toBe('a2');
  expect(queue.takeOne(isSmall)?.name).toBe('b1');
  expect(queue.takeOne(isSmall)).toBeNull();
  expect(names(queue.drain())).toEqual(['a1']);
});

test('what is put back is next', () => {
  const queue = queueOf(run('a1'), run('b1'), run('c2'));
  const taken = queue.take(2, 100, EVERYBODY);
  queue.push(run('d1'));
  queue.putFirst(taken);
  expect(queue.size).toBe(4);
  expect(names(queue.firsts)).toEqual(['a1', 'b1', 'c2', 'd1']);
});
