/**
 * Waiting for something to become true, the only kind of waiting tests do: checked again and again,
 * bounded, and when the time is up it says what was waited for. What can only be seen within a time limit of the program
 * is attempted until the machine was quick enough.
 */
import { setTimeout as sleep } from 'node:timers/promises';

const ASK_EVERY_MS = 25;

/**
 * Asks until the answer is neither null, undefined nor false.
 *
 * @param condition may reject: then the wait ends with its error
 * @param options.withinMs how long to try
 * @param options.what is waited for, for the failure's message; text, or a function called when it fails
 * @returns the answer
 */
export async function waitFor<Answer>(
  condition: () => Answer | Promise<Answer>,
  { withinMs, what }: { readonly withinMs: number; readonly what: string | (() => string) },
): Promise<Exclude<Awaited<Answer>, null | undefined | false>> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const answer = await condition();
    if (answer !== null && answer !== undefined && answer !== false) {
      return answer as Exclude<Awaited<Answer>, null | undefined | false>;
    }
    if (performance.now() > deadline) {
      const missed = typeof what === 'string' ? what : what();
      throw new Error(`not within ${withinMs} ms: ${missed}`);
    }
    await sleep(ASK_EVERY_MS);
  }
}

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
  throw new Error(`each of ${ATTEMPTS} attempts took ${limitMs} ms or longer, or showed nothing`);
}
