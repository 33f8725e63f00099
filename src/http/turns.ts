/**
 * Work that holds the event loop, taken in turn. Many bodies may be complete at once, and one may be
 * large; decoding all of it before the next look at the sockets would keep probes, and every other
 * request, waiting for as long as that takes. So after a few milliseconds of work the rest waits for the
 * loop's next round.
 *
 *   sockets are looked at ──► work, up to `TURN_MS` and the last piece begun ──► sockets …
 *
 * First come, first served: what is begun is finished, piece by piece, before the next begins.
 */

/** Small beside what a probe may take, large beside what a round of the loop costs. */
const TURN_MS = 5;

/** Does one piece; true when it was the last. Never throws. */
type Step = () => boolean;

export class Turns {
  readonly #now: () => number;
  /** the first one may be begun */
  readonly #waiting: Step[] = [];
  /** milliseconds worked since the sockets were looked at */
  #usedMs = 0;
  #isArmed = false;

  /** @param now milliseconds, rising */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Does some work, at once or in a later round of the event loop.
   *
   * @throws what `work` throws
   */
  take<T>(work: () => T): Promise<T> {
    return this.takeInPieces({ next: () => ({ done: true, value: work() }) });
  }

  /**
   * Does work that can pause, with looks at the sockets in between.
   *
   * @returns what `work` returns
   * @throws what `work` throws
   */
  takeInPieces<T>(work: Iterator<void, T, void>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#add(() => {
        try {
          const piece = work.next();
          if (piece.done !== true) return false;
          resolve(piece.value);
        } catch (error) {
          reject(error);
        }
        return true;
      });
    });
  }

  #add(step: Step): void {
    this.#waiting.push(step);
    if (this.#waiting.length === 1) this.#work();
  }

  /** Works until nothing waits, or the turn is used up; the rest is for later rounds. */
  #work(): void {
    for (let step = this.#waiting[0]; step !== undefined; step = this.#waiting[0]) {
      if (this.#usedMs >= TURN_MS) break;
      const startedAt = this.#now();
      if (step()) this.#waiting.shift();
      this.#usedMs += this.#now() - startedAt;
    }
    this.#arm();
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    setImmediate(() => this.#onRound());
  }

  /** Behind the look at the sockets; not for work that was done in the same round before. */
  #onRound(): void {
    this.#isArmed = false;
    const isUsedUp = this.#usedMs >= TURN_MS;
    this.#usedMs = 0;
    if (this.#waiting.length === 0) return;
    if (isUsedUp) {
      this.#arm();
      return;
    }
    this.#work();
    // The sockets come next, and nothing is carried over.
    this.#usedMs = 0;
  }
}
