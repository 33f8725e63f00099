/** The queue of workspaces: whose item is next, what is removed, what is counted. */
import { describe, expect, test } from 'vitest';

import { WorkspaceQueue } from '../src/workspace-queue.ts';

/** A queue of items like `a1`: the first of workspace `a`. */
function queueOf(items: readonly string[], ...limits: number[]): WorkspaceQueue<string> {
  const queue = new WorkspaceQueue<string>(...limits);
  for (const item of items) queue.add(workspaceOf(item), item);
  return queue;
}

const workspaceOf = (item: string): number => item.charCodeAt(0);

/** Takes items to the end; `meanwhile` runs while each is running. */
function drain(queue: WorkspaceQueue<string>, meanwhile: (item: string) => void = () => {}) {
  const taken: string[] = [];
  for (let item = queue.begin(); item !== null; item = queue.begin()) {
    taken.push(item);
    meanwhile(item);
    queue.end(workspaceOf(item));
  }
  return taken.join(' ');
}

test('workspaces take turns, and each keeps its order', () => {
  const queue = queueOf(['a1', 'a2', 'a3', 'b1', 'c1', 'b2']);
  expect(drain(queue)).toBe('a1 b1 c1 a2 b2 a3');
  expect(queue.isIdle).toBe(true);
});

test('a workspace goes to the back when its item ends, not when it begins', () => {
  const queue = queueOf(['a1', 'a2']);
  const late = new Map([['a1', 'b1']]);
  const taken = drain(queue, (item) => {
    const other = late.get(item);
    if (other !== undefined) queue.add(workspaceOf(other), other);
  });
  expect(taken).toBe('a1 b1 a2');
});

test('a workspace that always has a next item leaves the others their turns', () => {
  const queue = queueOf(['a1', 'b1', 'b2']);
  let next = 2;
  const taken = drain(queue, (item) => {
    if (item.startsWith('a') && next <= 4) queue.add(workspaceOf('a'), `a${next++}`);
  });
  expect(taken).toBe('a1 b1 a2 b2 a3 a4');
});

/** Begins as many items as may run. */
function beginAll(queue: WorkspaceQueue<string>): string {
  const begun: string[] = [];
  for (let item = queue.begin(); item !== null; item = queue.begin()) begun.push(item);
  return begun.join(' ');
}

test('one item at a time', () => {
  const queue = queueOf(['a1', 'b1']);
  expect(queue.begin()).toBe('a1');
  expect(queue.begin()).toBeNull();
  expect(queue.isIdle).toBe(false);
  queue.end(workspaceOf('a1'));
  expect(queue.begin()).toBe('b1');
  expect([queue.size, queue.isIdle]).toEqual([0, false]);
  queue.end(workspaceOf('b1'));
  expect(queue.isIdle).toBe(true);
  queue.end(workspaceOf('b1'));
  expect(queue.begin()).toBeNull();
});

test('several items at once, one per workspace', () => {
  const queue = queueOf(['a1', 'a2', 'b1', 'c1', 'c2'], 2);
  expect(beginAll(queue)).toBe('a1 b1');
  expect(queue.isFull).toBe(true);
  queue.end(workspaceOf('a1'));
  expect(beginAll(queue)).toBe('c1');
  queue.end(workspaceOf('b1'));
  expect(beginAll(queue)).toBe('a2');
  queue.end(workspaceOf('a2'));
  // The one that waits belongs to the workspace that runs.
  expect([beginAll(queue), queue.size, queue.isFull]).toEqual(['', 1, false]);
  queue.end(workspaceOf('c1'));
  expect(beginAll(queue)).toBe('c2');
  expect(queue.isFull).toBe(false);
});

test('several items of a workspace at once, workspaces in turn', () => {
  const queue = queueOf(['a1', 'a2', 'a3', 'b1', 'c1'], 4, 2);
  expect(beginAll(queue)).toBe('a1 b1 c1 a2');
  expect(queue.isFull).toBe(false);
  queue.end(workspaceOf('b1'));
  expect(beginAll(queue)).toBe('');
  queue.end(workspaceOf('a2'));
  expect(beginAll(queue)).toBe('a3');
  for (const item of ['a1', 'a3', 'c1']) queue.end(workspaceOf(item));
  expect(queue.isIdle).toBe(true);
});

test('an item that may not begin keeps its place, and later ones of its workspace begin', () => {
  const queue = queueOf(['a1', 'a2', 'b1'], 3, 2);
  const others = (item: string): boolean => item !== 'a1';
  expect([queue.begin(others), queue.begin(others), queue.begin(others)]).toEqual([
    'a2',
    'b1',
    null,
  ]);
  expect([queue.size, queue.countOf(workspaceOf('a'))]).toEqual([1, 1]);
  expect(queue.begin()).toBe('a1');
});

test('counts what waits, without the running one', () => {
  const queue = queueOf(['a1', 'a2', 'b1']);
  queue.begin();
  expect([queue.size, queue.countOf(workspaceOf('a')), queue.countOf(workspaceOf('b'))]).toEqual([
    2, 1, 1,
  ]);
  expect(queue.countOf(workspaceOf('c'))).toBe(0);
});

test('a removed item is not taken; one that does not wait changes nothing', () => {
  const queue = queueOf(['a1', 'a2', 'b1']);
  queue.remove(workspaceOf('a'), 'a1');
  queue.remove(workspaceOf('b'), 'b1');
  queue.remove(workspaceOf('b'), 'b1');
  queue.remove(workspaceOf('a'), 'a9');
  expect([queue.size, queue.countOf(workspaceOf('b'))]).toEqual([1, 0]);
  expect(drain(queue)).toBe('a2');
});

test('a taken item does not run, and its workspace goes to the back', () => {
  const queue = queueOf(['a1', 'a2', 'b1']);
  queue.take(workspaceOf('a'), 'a1');
  expect([queue.firsts, queue.isIdle]).toEqual([['b1', 'a2'], false]);
  expect(queue.next((item) => item !== 'b1')?.item).toBe('a2');
  expect(queue.drain()).toEqual(['b1', 'a2']);
  expect([queue.size, queue.isIdle]).toEqual([0, true]);
});

test('an item that is put back is next', () => {
  const queue = queueOf(['a1', 'b1', 'b2']);
  queue.take(workspaceOf('b'), 'b1');
  queue.addFirst(workspaceOf('b'), 'b1');
  expect([queue.all, queue.size]).toEqual([['b1', 'b2', 'a1'], 3]);
});

describe('a full queue makes room', () => {
  test.each([
    ['of the workspace with the most', ['a1', 'a2', 'b1', 'b2', 'b3'], 'c', 'b3'],
    ['for a workspace that has fewer', ['a1', 'b1', 'b2', 'b3'], 'a', 'b3'],
    ['not for one that would have as many', ['a1', 'a2', 'b1', 'b2', 'b3'], 'a', null],
    ['not for the one that has the most', ['a1', 'a2', 'a3', 'b1'], 'a', null],
    ['not where each has one', ['a1', 'b1'], 'c', null],
  ] as const)('%s', (_, items, workspace, removed) => {
    const queue = queueOf(items);
    expect(queue.removeForOther(workspaceOf(workspace))).toBe(removed);
    expect(queue.size).toBe(items.length - (removed === null ? 0 : 1));
    expect(drain(queue).split(' ').sort()).toEqual(items.filter((item) => item !== removed));
  });
});
