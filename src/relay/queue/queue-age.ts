/**
 * How long requests have waited. A relay has no clock but its machine's, which may jump: time that
 * passes while a relay runs is measured by one that never jumps, and the machine's clock is read once,
 * at the start. What lies between two starts is only known from it, so it counts up to a limit, and
 * not at all when it is negative.
 */

const HOUR_MS = 3_600_000;
/** A request that is older is dropped when sending it fails: 7 days. */
export const QUEUE_AGE_MS_MAX = 7 * 24 * HOUR_MS;
/** Age at a start, so that every request is tried for a day after it, whatever the clock says. */
export const AGE_AT_START_MS_MAX = 6 * 24 * HOUR_MS;

export class QueueAge {
  readonly #startedAtMs: number;
  readonly #elapsedMs: () => number;

  /** @param elapsedMs milliseconds since any moment, by a clock that never jumps */
  constructor(startedAtMs: number, elapsedMs: () => number) {
    const begin = elapsedMs();
    this.#startedAtMs = startedAtMs;
    this.#elapsedMs = () => elapsedMs() - begin;
  }

  /** The time stored with a request that is accepted now: milliseconds since 1970. */
  nowMs(): number {
    return this.#startedAtMs + this.#elapsedMs();
  }

  /** Never negative, and never more than `AGE_AT_START_MS_MAX` for what this process did not see. */
  ageMs(acceptedAtMs: number): number {
    const elapsedMs = this.#elapsedMs();
    const beforeStartMs = this.#startedAtMs - acceptedAtMs;
    if (beforeStartMs >= 0) return elapsedMs + Math.min(beforeStartMs, AGE_AT_START_MS_MAX);
    const ageMs = elapsedMs + beforeStartMs;
    // Kept by a process whose clock was ahead: it counts from this start.
    return ageMs >= 0 ? ageMs : elapsedMs;
  }
}

export function createQueueAge(): QueueAge {
  return new QueueAge(Date.now(), () => performance.now());
}
