/** How long to wait before the server is tried again. */

/** Doubled after every failure. */
export const BACKOFF_MS_MIN = 1000;
export const BACKOFF_MS_MAX = 60_000;
/** A longer Retry-After is cut to this. */
export const RETRY_AFTER_MS_MAX = 300_000;

/** Grows with every failure, with jitter, so that many relays do not come back at once. */
export class Backoff {
  readonly #random: () => number;
  #failures = 0;

  /** @param random from 0 up to 1 */
  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** @returns how long to wait, at least as long as the server said */
  fail(retryAfterMs: number | null): number {
    const fullMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** Math.min(this.#failures, 30));
    this.#failures += 1;
    const waitMs = fullMs / 2 + (fullMs / 2) * this.#random();
    return Math.max(waitMs, Math.min(retryAfterMs ?? 0, RETRY_AFTER_MS_MAX));
  }

  succeed(): void {
    this.#failures = 0;
  }
}
