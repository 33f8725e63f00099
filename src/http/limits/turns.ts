/**
 * Work that holds the event loop, taken in turn. Many bodies may be complete at once, and one may be
 * large; decoding all of it before the next look at the sockets would keep probes, and every other
 * request, waiting for as long as that takes. So after a few milliseconds of work the rest waits for the
 * loop's next round.
 *
 *   sockets are looked at ──► work, up to `TURN_MS` and the last piece begun ──► sockets …
 *
 * A body is decoded to its end, piece by piece, before the next one starts. Workspaces take turns,
 * and each workspace's bodies are decoded in order of arrival, so a body waits for at most one of
 * each other workspace before its workspace's turn.
 */

/** Small beside what a request may take, large beside what a round of the loop costs. */
export const TURN_MS = 2;

/** Does one piece; true when it was the last. Never throws. */
type Step = () => boolean;

export class Turns {
  readonly #now: () => number;
  /** by workspace, in the order of their turns; no list is empty */
  readonly #waiting = new Map<number, Step[]>();
  /** the current body and its workspace */
  #current: { readonly workspaceId: number; readonly step: Step } | null = null;
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
  take<T>(workspaceId: number, work: () => T): Promise<T> {
    return this.takeInPieces(workspaceId, { next: () => ({ done: true, value: work() }) });
  }

  /**
   * Does work that can pause, with looks at the sockets in between.
   *
   * @returns what `work` returns
   * @throws what `work` throws
   */
  takeInPieces<T>(workspaceId: number, work: Iterator<void, T, void>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#add(workspaceId, () => {
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

  #add(workspaceId: number, step: Step): void {
    const isIdle = this.#current === null && this.#waiting.size === 0;
    const line = this.#waiting.get(workspaceId);
    if (line === undefined) this.#waiting.set(workspaceId, [step]);
    else line.push(step);
    if (isIdle) this.#work();
  }

  /** Starts the first body of the workspace whose turn it is; false if nothing waits. */
  #begin(): boolean {
    for (const [workspaceId, line] of this.#waiting) {
      const step = line.shift();
      if (line.length === 0) this.#waiting.delete(workspaceId);
      if (step === undefined) continue;
      this.#current = { workspaceId, step };
      return true;
    }
    return false;
  }

  /** Moves the workspace to the end of the round. */
  #end(workspaceId: number): void {
    this.#current = null;
    const line = this.#waiting.get(workspaceId);
    if (line === undefined) return;
    this.#waiting.delete(workspaceId);
    this.#waiting.set(workspaceId, line);
  }

  /** Works until nothing waits, or the turn is used up; the rest is for later rounds. */
  #work(): void {
    while (this.#usedMs < TURN_MS) {
      if (this.#current === null && !this.#begin()) break;
      const startedAt = this.#now();
      if (this.#current?.step() === true) this.#end(this.#current.workspaceId);
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
    if (this.#current === null && this.#waiting.size === 0) return;
    if (isUsedUp) {
      this.#arm();
      return;
    }
    this.#work();
    // The sockets come next, and nothing is carried over.
    this.#usedMs = 0;
  }
}
