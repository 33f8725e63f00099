/** Shares of computing time, by a clock that only slices advance. */
import { expect, test } from 'vitest';

import { createFlow, type Flow, SliceScheduler } from '../../src/pool/slice-scheduler.ts';

const SLICE_MS = 2;

let clockMs = 0;

function compute(): void {
  clockMs += SLICE_MS;
}

/** Takes slice after slice until `isOver`, and notes each. */
async function work(
  scheduler: SliceScheduler,
  flow: Flow,
  name: string,
  noted: string[],
  isOver: () => boolean,
) {
  while (!isOver()) {
    await scheduler.take(flow, () => {
      noted.push(name);
      compute();
    });
  }
}

test('a flow of three times the weight gets three times the time', async () => {
  const scheduler = new SliceScheduler(() => clockMs);
  const noted: string[] = [];
  const isOver = () => noted.length >= 80;
  await Promise.all([
    work(scheduler, createFlow(1), 'long', noted, isOver),
    work(scheduler, createFlow(3), 'quick', noted, isOver),
  ]);
  const quick = noted.filter((name) => name === 'quick').length;
  expect(quick).toBeGreaterThanOrEqual(59);
  expect(quick).toBeLessThanOrEqual(61);
});

test('a flow that comes later waits for one slice, and takes nothing for the time before', async () => {
  const scheduler = new SliceScheduler(() => clockMs);
  const noted: string[] = [];
  const long = work(scheduler, createFlow(1), 'long', noted, () => noted.length >= 60);
  while (noted.length < 20) await new Promise(setImmediate);
  const before = noted.length;
  const late = createFlow(1);
  await scheduler.take(late, () => noted.push('late'));
  expect(noted.indexOf('late') - before).toBeLessThanOrEqual(1);
  const second = work(scheduler, late, 'late', noted, () => noted.length >= 60);
  await Promise.all([long, second]);
  const rest = noted.slice(before);
  const share = rest.filter((name) => name === 'late').length / rest.length;
  expect(share).toBeGreaterThan(0.3);
  expect(share).toBeLessThan(0.7);
});

test('input and output are served between slices', async () => {
  const scheduler = new SliceScheduler(() => clockMs);
  const noted: string[] = [];
  setImmediate(() => noted.push('served'));
  await work(scheduler, createFlow(1), 'slice', noted, () => noted.length >= 5);
  expect(noted.indexOf('served')).toBeLessThanOrEqual(1);
});

test('what fails in a slice is its own affair', async () => {
  const scheduler = new SliceScheduler(() => clockMs);
  const failing = scheduler.take(createFlow(1), () => {
    throw new Error('mine');
  });
  const other = scheduler.take(createFlow(1), () => 'done');
  await expect(failing).rejects.toThrow('mine');
  expect(await other).toBe('done');
});
