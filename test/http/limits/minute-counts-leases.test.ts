/** Requests that are counted ahead: how many, and that they end with their minute. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { Leases } from '../../../src/http/limits/minute-counts.ts';
import type { RedisCount } from '../../../src/http/limits/redis-counts.ts';

const LIMIT = 10_000;
const WINDOW_MS = 60_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

/** So many requests were counted in a window that has just opened. */
function counted(count: number): RedisCount {
  const nowMs = performance.now();
  return { count, sentAtMs: nowMs, openUntilMs: nowMs + WINDOW_MS, endsAtMs: nowMs + WINDOW_MS };
}

/** A name of which so many are counted ahead. */
function leased(ahead: number): Leases {
  const leases = new Leases();
  leases.taken('a', 0, counted(1), LIMIT);
  leases.taken('a', ahead, counted(1 + ahead), LIMIT);
  return leases;
}

test('each request counted ahead admits one, and more are wanted when half of them are used', () => {
  const leases = leased(4);
  const uses = Array.from({ length: 5 }, () => leases.use('a'));
  expect(uses).toEqual(['used', 'low', 'low', 'low', 'none']);
});

test('what was counted ahead is of its minute: in the next one it admits nothing', () => {
  const leases = leased(4);
  vi.advanceTimersByTime(WINDOW_MS - 1);
  expect(leases.use('a')).toBe('used');
  vi.advanceTimersByTime(1);
  expect([leases.use('a'), leases.begin('a', LIMIT)]).toEqual(['none', 0]);
  // The first count of the new minute has none of the old ones.
  leases.taken('a', 0, counted(1), LIMIT);
  expect(leases.use('a')).toBe('none');
  expect(leases.begin('a', LIMIT)).toBeGreaterThan(0);
});

test('no more are counted ahead than a hundredth of the limit, a sixteenth of what is left, and twice the last', () => {
  const most = (used: number, size: number): number => {
    const leases = new Leases();
    leases.taken('a', 0, counted(used), LIMIT);
    if (size > 0) leases.taken('a', size, counted(used + size), LIMIT);
    for (let use = 0; use < size; use += 1) leases.use('a');
    return leases.begin('a', LIMIT);
  };
  expect(most(1, 0)).toBe(2);
  expect(most(1, 20)).toBe(40);
  expect(most(1, 80)).toBe(100);
  expect(most(9_900, 0)).toBe(2);
  expect(most(9_900, 20)).toBe(5);
  expect(most(LIMIT, 0)).toBe(0);
});

test('one count ahead at a time; after one that failed, again', () => {
  const leases = leased(4);
  const ahead = leases.begin('a', LIMIT);
  expect([ahead, leases.begin('a', LIMIT)]).toEqual([8, 0]);
  leases.failed('a', ahead);
  expect(leases.begin('a', LIMIT)).toBe(8);
});
