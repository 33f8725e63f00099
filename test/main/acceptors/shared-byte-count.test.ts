/** A sum of bytes that real threads add to at the same time: never past its limit, nothing lost. */
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';

import { ByteBudget } from '../../../src/http/ingest/byte-budget.ts';
import {
  createCountMemory,
  SharedByteCount,
} from '../../../src/main/acceptors/shared-byte-count.ts';

const ENTRY = fileURLToPath(new URL('../../support/count-bytes.js', import.meta.url));
const THREADS = 3;
const TURNS = 20_000;
const GIB = 1024 ** 3;

test('what does not fit is not taken, up to sums that 32 bits do not hold', () => {
  const memory = createCountMemory();
  const [one, other] = [new SharedByteCount(memory), new SharedByteCount(memory)];
  expect(one.tryAdd(60 * GIB, 64 * GIB)).toBe(true);
  expect(other.tryAdd(4 * GIB + 1, 64 * GIB)).toBe(false);
  expect(other.tryAdd(4 * GIB, 64 * GIB)).toBe(true);
  expect(one.total).toBe(64 * GIB);
  one.subtract(60 * GIB);
  expect(other.total).toBe(4 * GIB);
});

test('budgets over one count share their room', () => {
  const memory = createCountMemory();
  const budgets = [1, 2].map(() => new ByteBudget(10, new SharedByteCount(memory)));
  const [first, second] = budgets.map((budget, at) => budget.open(at));
  expect(first?.reserve(6)).toBe(true);
  expect(second?.reserve(5)).toBe(false);
  expect(second?.reserve(4)).toBe(true);
  first?.release();
  expect(budgets.map(({ used }) => used)).toEqual([4, 4]);
});

test('threads that take and give back at once never pass the limit and lose nothing', async () => {
  const memory = createCountMemory();
  const workerData = { memory, turns: TURNS, limit: 14 };
  const counts = await Promise.all(
    Array.from({ length: THREADS }, async () => {
      const worker = new Worker(ENTRY, { workerData, execArgv: [] });
      // Both may come in one turn of the event loop: who listens for the end after the message misses it.
      const [[message]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')]);
      return message as { most: number; taken: number };
    }),
  );
  for (const { most, taken } of counts) {
    expect(most).toBeLessThanOrEqual(14);
    expect(taken).toBeGreaterThan(0);
  }
  expect(new SharedByteCount(memory).total).toBe(0);
});
