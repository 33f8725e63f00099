/** For what can only be seen within a time of the program's own, on a machine that may be slow. */
import { expect } from 'vitest';

const ATTEMPTS = 8;

/**
 * Makes attempts until one took less than a limit: one that took longer shows nothing.
 *
 * @param limitMs a time of the program, after which it would do the same by itself
 * @param isGood whether the result shows something; by default any does
 * @returns what that attempt gave
 */
export async function quickAttempt<Result>(
  limitMs: number,
  attempt: () => Promise<Result>,
  isGood: (result: Result) => boolean = () => true,
): Promise<Result> {
  for (let made = 0; made < ATTEMPTS; made += 1) {
    const startedAt = performance.now();
    const result = await attempt();
    if (performance.now() - startedAt < limitMs && isGood(result)) return result;
  }
  return expect.unreachable(
    `each of ${ATTEMPTS} attempts took ${limitMs} ms or longer, or showed nothing`,
  );
}
