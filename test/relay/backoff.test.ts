import { expect, test } from 'vitest';
import { BACKOFF_MS_MAX, Backoff, RETRY_AFTER_MS_MAX } from '../../src/relay/forwarder.ts';

test('waits double up to a maximum, and begin again after a success', () => {
  const backoff = new Backoff(() => 1);
  const waits = Array.from({ length: 8 }, () => backoff.fail(null));
  expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  for (let failure = 0; failure < 100; failure += 1) backoff.fail(null);
  expect(backoff.fail(null)).toBe(BACKOFF_MS_MAX);
  backoff.succeed();
  expect(backoff.fail(null)).toBe(1000);
});

test('jitter takes up to half of a wait', () => {
  expect(new Backoff(() => 0).fail(null)).toBe(500);
});

test('Retry-After is kept to, up to a maximum', () => {
  const backoff = new Backoff(() => 1);
  expect(backoff.fail(7000)).toBe(7000);
  expect(backoff.fail(100)).toBe(2000);
  expect(backoff.fail(10 * RETRY_AFTER_MS_MAX)).toBe(RETRY_AFTER_MS_MAX);
});
