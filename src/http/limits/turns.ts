/**
 * Schedules synchronous work so that it does not block the event loop. Many bodies may be complete at
 * once, and one may be large; decoding all of it at once would delay probes and every other request.
 * So after a few milliseconds the rest waits for the next round of the loop.
 *
 *   sockets are polled ──► work, for `TURN_MS` and to the end of the current piece ──► sockets …
 *
 * A body is decoded to its end, piece by piece, before the next one starts; workspaces take turns.
 */
import { WorkspaceQueue } from '../../workspace-queue.ts';

/** Short for a request, long compared with the cost of a round of the loop. */
export const TURN_MS = 2;

/** Does one piece of work. Returns true for the last one; never throws. */
type Piece = () => boolean;

export class Turns {
  readonly #now: () => number;
  readonly #bodies = new WorkspaceQueue<Piece>();
  /** of the current body */
  #piece: Piece | null = null;
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
    const { isIdle } = this.#bodies;
    this.#bodies.add(workspaceId, piece);
    if (isIdle) this.#work();
  }

  /** Works until nothing waits or the turn is used up; the rest is for later rounds. */
  #work(): void {
    while (this.#usedMs < TURN_MS) {
      this.#piece ??= this.#bodies.begin();
      if (this.#piece === null) break;
      const startedAt = this.#now();
      if (this.#piece()) {
        this.#piece = null;
        this.#bodies.end();
      }
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
    if (this.#bodies.isIdle) return;
    if (isUsedUp) {
      this.#arm();
      return;
    }
    this.#work();
    // The sockets come next, and nothing is carried over.
    this.#usedMs = 0;
  }
}
