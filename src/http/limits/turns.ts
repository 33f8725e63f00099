/**
 * Schedules synchronous work so that it does not block the event loop. Many bodies may be complete at
 * once, and one may be large; decoding all of it at once would delay probes and every other request.
 * So after a few milliseconds the rest waits for the next round of the loop.
 *
 *   sockets are polled ──► work, for `TURN_MS` and to the end of the current piece ──► sockets …
 *
 * A body is decoded to its end, piece by piece, before the next one starts. Workspaces take turns,
 * and each workspace's bodies are decoded in order of arrival, so a body waits for at most one of
 * each other workspace before its workspace's turn.
 */

/** Short for a request, long compared with the cost of a round of the loop. */
export const TURN_MS = 2;

/** Does one piece of work. Returns true for the last one; never throws. */
type Piece = () => boolean;

export class Turns {
  readonly #now: () => number;
  /** by workspace, in the order of their turns; no queue is empty */
  readonly #waiting = new Map<number, Piece[]>();
  /** the current body and its workspace */
  #current: { readonly workspaceId: number; readonly piece: Piece } | null = null;
  /** milliseconds worked since the sockets were polled */
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
   * Does work in pieces; the sockets may be polled between two of them.
   *
   * @returns what `work` returns
   * @throws what `work` throws
   */
  takeInPieces<T>(workspaceId: number, work: Iterator<void, T, void>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#add(workspaceId, () => {
        try {
          const result = work.next();
          if (result.done !== true) return false;
          resolve(result.value);
        } catch (error) {
          reject(error);
        }
        return true;
      });
    });
  }

  #add(workspaceId: number, piece: Piece): void {
    const isIdle = this.#current === null && this.#waiting.size === 0;
    const queue = this.#waiting.get(workspaceId);
    if (queue === undefined) this.#waiting.set(workspaceId, [piece]);
    else queue.push(piece);
    if (isIdle) this.#work();
  }

  /** Starts the first body of the workspace whose turn it is; false if nothing waits. */
  #begin(): boolean {
    for (const [workspaceId, queue] of this.#waiting) {
      const piece = queue.shift();
      if (queue.length === 0) this.#waiting.delete(workspaceId);
      if (piece === undefined) continue;
      this.#current = { workspaceId, piece };
      return true;
    }
    return false;
  }

  /** Moves the workspace to the end of the round. */
  #end(workspaceId: number): void {
    this.#current = null;
    const queue = this.#waiting.get(workspaceId);
    if (queue === undefined) return;
    this.#waiting.delete(workspaceId);
    this.#waiting.set(workspaceId, queue);
  }

  /** Works until nothing waits or the turn is used up; the rest is for later rounds. */
  #work(): void {
    while (this.#usedMs < TURN_MS) {
      if (this.#current === null && !this.#begin()) break;
      const startedAt = this.#now();
      if (this.#current?.piece() === true) this.#end(this.#current.workspaceId);
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
