/** Counts in a store that several threads share: exact however much comes at once; alone without it. */
import { expect, test } from 'vitest';

import {
  type CountStore,
  createExactCounts,
  createLocalCounts,
} from '../../../src/http/limits/minute-counts.ts';

/** What one count says in several threads: each queries the store, which answers later. */
function createStore(): CountStore {
  const counts = createLocalCounts();
  return {
    add: async (name) => {
      const sentAtMs = performance.now();
      await new Promise(setImmediate);
      const count = await counts.add(name);
      return { ...count, sentAtMs, openUntilMs: count.endsAtMs };
    },
  };
}

const unheard = { countedHere: () => {} };

test('three threads at once admit exactly the limit, however large it is', async () => {
  const store = createStore();
  const threads = [1, 2, 3].map(() => createExactCounts(store, unheard));
  const burst = threads.flatMap((thread) =>
    Array.from({ length: 8000 }, () => thread.consume('rate:1', 20_000)),
  );
  const decisions = await Promise.all(burst);
  expect(decisions.filter(({ admitted }) => admitted)).toHaveLength(20_000);
  for (const decision of decisions) {
    if (!decision.admitted) expect(decision.retryAfterSeconds).toBeGreaterThan(0);
  }
});

test('without an answer the thread counts on from the last one it got, and says so', async () => {
  const inner = createStore();
  let isSilent = false;
  let countedHere = 0;
  const counts = createExactCounts(
    { add: async (name, isAwaited) => (isSilent ? null : await inner.add(name, isAwaited)) },
    {
      countedHere: () => {
        countedHere += 1;
      },
    },
  );
  const admitted = async (): Promise<boolean> => (await counts.consume('rate:1', 5)).admitted;
  expect([await admitted(), await admitted()]).toEqual([true, true]);
  isSilent = true;
  const rest = [await admitted(), await admitted(), await admitted(), await admitted()];
  expect(rest).toEqual([true, true, true, false]);
  expect(countedHere).toBe(4);
});
