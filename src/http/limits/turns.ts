/**
 * Schedules synchronous work so that it does not block the event loop. Many bodies may be complete at
 * once, and one may be large; decoding all of it at once would delay probes and every other request.
 * So after a few milliseconds the rest waits for the next round of the loop.
 *
 *   sockets are polled ──► work, for `TURN_MS` and to the end of the current piece ──► sockets …
 *
 * There are two lines, so that a small body does not wait for a large one: while both have work, each
 * gets half of the time. In a line, a body is decoded to its end, piece by piece, before the next one
 * starts; workspaces take turns.
 */
import { WorkspaceQueue } from '../../workspace-queue.ts';

/** Short for a request, long compared with the cost of a round of the loop. */
export const TURN_MS = 2;

/** Bodies up to this size, which take about a millisecond, are in the line of the small ones. */
export const SMALL_BODY_BYTES_MAX = 256 * 1024;

interface Body {
  readonly workspaceId: number;
  /** does one piece of work; returns true after the last piece; never throws */
  readonly work: () => boolean;
}

class Line {
  readonly bodies = new WorkspaceQueue<Body>();
  /** milliseconds worked, or more if the line was idle meanwhile */
  usedMs = 0;
  #current: Body | null = null;

  work(): void {
    this.#current ??= this.bodies.begin();
    if (this.#current === null || !this.#current.work()) return;
    this.bodies.end(this.#current.workspaceId);
    this.#current = null;
  }
}

export class Turns {
  readonly #now: () => number;
  readonly #small = new Line();
  readonly #large = new Line();
  /** milliseconds worked since the sockets were polled */
  #usedMs = 0;
  #isArmed = false;

  /** @param now milliseconds, rising */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  take<T>(workspaceId: number, work: () => T): Promise<T> {
    return this.takeInPieces(workspaceId, { next: () => ({ done: true, value: work() }) }, 0);
  }

  /** The sockets may be polled between two pieces, and a piece of one other work may be done. */
  takeInPieces<T>(workspaceId: number, work: Iterator<void, T, void>, bytes: number): Promise<T> {
    const line = bytes > SMALL_BODY_BYTES_MAX ? this.#large : this.#small;
    return new Promise((resolve, reject) => {
      const piece = (): boolean => {
        try {
          const result = work.next();
          if (result.done !== true) return false;
          resolve(result.value);
        } catch (error) {
          reject(error);
        }
        return true;
      };
      this.#add(line, { workspaceId, work: piece });
    });
  }

  get #isIdle(): boolean {
    return this.#small.bodies.isIdle && this.#large.bodies.isIdle;
  }

  #add(line: Line, body: Body): void {
    const isIdle = this.#isIdle;
    if (line.bodies.isIdle) {
      // Time in which a line had no work gives it no advantage later.
      line.usedMs = Math.max(this.#small.usedMs, this.#large.usedMs);
    }
    line.bodies.add(body.workspaceId, body);
    if (isIdle) this.#work();
  }

  /** The line that has worked less, of those that have work. */
  #next(): Line {
    if (this.#large.bodies.isIdle) return this.#small;
    if (this.#small.bodies.isIdle) return this.#large;
    return this.#large.usedMs < this.#small.usedMs ? this.#large : this.#small;
  }

  #work(): void {
    while (this.#usedMs < TURN_MS && !this.#isIdle) {
      const line = this.#next();
      const startedAt = this.#now();
      line.work();
      const tookMs = this.#now() - startedAt;
      line.usedMs += tookMs;
      this.#usedMs += tookMs;
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
    if (this.#isIdle) return;
    if (isUsedUp) {
      this.#arm();
      return;
    }
    this.#work();
    // The sockets come next, and nothing is carried over.
    this.#usedMs = 0;
  }
}
