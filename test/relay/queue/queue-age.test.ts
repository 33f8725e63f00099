/** The age of queued requests: by elapsed time while a relay runs, whatever its machine's clock says. */
import fc from 'fast-check';
import { expect, test } from 'vitest';

import {
  AGE_AT_START_MS_MAX,
  QUEUE_AGE_MS_MAX,
  QueueAge,
} from '../../../src/relay/queue/queue-age.ts';

const DAY_MS = 24 * 3_600_000;
const NOW_MS = 1_763_640_000_000;

/** A relay that starts at a time, and how long it has run. */
function started(atMs: number): { age: QueueAge; run: (ms: number) => void } {
  let elapsedMs = 77;
  const age = new QueueAge(atMs, () => elapsedMs);
  return {
    age,
    run: (ms) => {
      elapsedMs += ms;
    },
  };
}

test('what this relay accepted ages with the time that passes', () => {
  const { age, run } = started(NOW_MS);
  run(5000);
  const acceptedAtMs = age.nowMs();
  expect(acceptedAtMs).toBe(NOW_MS + 5000);
  run(DAY_MS);
  expect(age.ageMs(acceptedAtMs)).toBe(DAY_MS);
});

test('what an earlier one accepted has the age of the clock, six days at most at the start', () => {
  const { age, run } = started(NOW_MS);
  expect(age.ageMs(NOW_MS - DAY_MS)).toBe(DAY_MS);
  expect(age.ageMs(NOW_MS - 3650 * DAY_MS)).toBe(6 * DAY_MS);
  run(DAY_MS);
  expect(age.ageMs(NOW_MS - 3650 * DAY_MS)).toBe(7 * DAY_MS);
});

test('where the clock was set back in between, time counts from the start', () => {
  const { age, run } = started(NOW_MS);
  const ahead = NOW_MS + 3650 * DAY_MS;
  expect(age.ageMs(ahead)).toBe(0);
  run(8 * DAY_MS);
  expect(age.ageMs(ahead)).toBe(8 * DAY_MS);
});

test('whatever the clock did, a request is kept for a day of running, and is too old within 14 days', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2 ** 42 }),
      fc.integer({ min: 0, max: 2 ** 42 }),
      (accepted, start) => {
        const { age, run } = started(start);
        expect(age.ageMs(accepted)).toBeGreaterThanOrEqual(0);
        expect(age.ageMs(accepted)).toBeLessThanOrEqual(AGE_AT_START_MS_MAX);
        run(DAY_MS);
        expect(age.ageMs(accepted)).toBeLessThanOrEqual(QUEUE_AGE_MS_MAX);
        run(6 * DAY_MS);
        const afterAWeek = age.ageMs(accepted);
        run(7 * DAY_MS + 1);
        // Where the clock was ahead by more than a week: before this clock gets there.
        const longest = Math.max(afterAWeek, age.ageMs(accepted));
        expect(longest).toBeGreaterThanOrEqual(QUEUE_AGE_MS_MAX);
      },
    ),
    { examples: [[QUEUE_AGE_MS_MAX + 2, 0]] },
  );
});
