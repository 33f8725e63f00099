/**
 * Work that holds the event loop, taken in turn. Many bodies may be complete at once; decoding all of
 * them before the next look at the sockets would keep probes, and every other request, waiting for as
 * long as that takes. So after a few milliseconds of work the rest waits for the loop's next round.
 *
 *   sockets are looked at ──► work, up to `TURN_MS` and the last piece begun ──► sockets …
 *
 * One piece is never divided: a body holds the loop for as long as it takes to decode.
 */

/** Small beside what a probe may take, large beside what a round of the loop costs. */
const TURN_MS = 5;

export class Turns {
  readonly #now: () => number;
  readonly #waiting: (() => void)[] = [];
  /** milliseconds worked since the sockets were looked at */
  #usedMs = 0;
  #isArmed = false;
  /** waiting work is being done, behind the look at the sockets */
  #isDraining = false;

  /** @param now milliseconds, rising */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Does some work, at once or in a later round of the event loop, first come first served.
   *
   * @throws what `work` throws
   */
  async take<T>(work: () => T): Promise<T> {
    if (this.#usedMs >= TURN_MS || this.#waiting.length > 0) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
        this.#arm();
      });
    }
    const startedAt = this.#now();
    try {
      return work();
    } finally {
      this.#usedMs += this.#now() - startedAt;
      this.#goOn();
    }
  }

  #goOn(): void {
    if (this.#isDraining && this.#usedMs < TURN_MS) {
      const next = this.#waiting.shift();
      if (next !== undefined) {
        next();
        return;
      }
    }
    // What was drained had the whole turn; the sockets come next, and nothing is carried over.
    if (this.#isDraining) this.#usedMs = 0;
    this.#isDraining = false;
    this.#arm();
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    setImmediate(() => this.#onRound());
  }

  /** Behind the look at the sockets. */
  #onRound(): void {
    this.#isArmed = false;
    const isUsedUp = this.#usedMs >= TURN_MS;
    if (isUsedUp || this.#waiting.length === 0) this.#usedMs = 0;
    if (this.#waiting.length === 0) return;
    if (isUsedUp) {
      this.#arm();
      return;
    }
    this.#isDraining = true;
    this.#waiting.shift()?.();
  }
}
