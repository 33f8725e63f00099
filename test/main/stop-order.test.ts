/** Stopping: reverse order, every step tried, once. */
import { expect, test } from 'vitest';

import { StartInterrupted, StopOrder } from '../../src/main/stop-order.ts';

const silent = { stopFailed: () => {} };

test('steps run last first, also after one that fails, and the failure is reported', async () => {
  const done: string[] = [];
  const failures: string[] = [];
  const stops = new StopOrder();
  stops.add('first', () => {
    done.push('first');
  });
  stops.add('second', () => Promise.reject(new Error('no')));
  stops.add('third', async () => {
    done.push('third');
  });
  const clean = await stops.run({ stopFailed: (step) => failures.push(step) });
  expect({ clean, done, failures }).toEqual({
    clean: false,
    done: ['third', 'first'],
    failures: ['second'],
  });
});

test('a second call does not stop twice', async () => {
  let count = 0;
  const stops = new StopOrder();
  stops.add('only', () => {
    count += 1;
  });
  expect(await Promise.all([stops.run(silent), stops.run(silent)])).toEqual([true, true]);
  expect(count).toBe(1);
});

test('a step that takes too long is reported, and the next one begins', async () => {
  const done: string[] = [];
  const failures: unknown[] = [];
  const stops = new StopOrder();
  stops.add('first', () => {
    done.push('first');
  });
  stops.add('endless', () => new Promise(() => {}), 20);
  const clean = await stops.run({ stopFailed: (...failure) => failures.push(failure) });
  expect({ clean, done, failures }).toEqual({
    clean: false,
    done: ['first'],
    failures: [['endless', new Error('not done after 20 ms')]],
  });
});

test('a start under way is waited for, ends at its next step, and is undone whole', async () => {
  const done: string[] = [];
  const stops = new StopOrder();
  let isOpen: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    isOpen = resolve;
  });
  const start = stops.during(async () => {
    stops.add('first', () => void done.push('first'));
    await opened;
    stops.add('second', () => void done.push('second'));
    done.push('never');
  });
  const stopped = stops.run(silent);
  expect(stops.isStopping).toBe(true);
  isOpen();
  await expect(start).rejects.toBeInstanceOf(StartInterrupted);
  expect(await stopped).toBe(true);
  expect(done).toEqual(['second', 'first']);
});

test('a start that fails while it is being stopped is undone like any other', async () => {
  const done: string[] = [];
  const stops = new StopOrder();
  const start = stops.during(async () => {
    stops.add('first', () => void done.push('first'));
    await Promise.resolve();
    throw new Error('no');
  });
  const stopped = stops.run(silent);
  await expect(start).rejects.toThrow('no');
  expect(await stopped).toBe(true);
  expect(done).toEqual(['first']);
});
