/** Stopping: reverse order, every step tried, once. */
import { expect, test } from 'vitest';

import { StopOrder } from '../../src/main/stop-order.ts';

const silent = { stopFailed: () => {} };

test('steps run last first, also past one that fails, and the failure is told', async () => {
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
