/**
 * Stopping, in the reverse order of starting: each step is named, has a time limit, and is tried
 * even when one before it failed, because every step that is skipped leaves something behind.
 *
 *   start ──add, add, add──► running ──run──► last step … first step
 *     └──run──► the next add ends the start ──► the same
 */
import type { Events } from '../observe/events.ts';
import { withinLimit } from '../time-limit.ts';

/** Enough for work that touches nothing slower than a healthy database. */
const STEP_LIMIT_MS = 15_000;
/**
 * How long a start that is to be undone may take to come to its next step: making a cluster,
 * starting PostgreSQL and the schema are one. Past that its server is left running, and is found
 * again by the next start.
 */
const START_LIMIT_MS = 180_000;

interface Step {
  readonly name: string;
  readonly run: () => void | Promise<void>;
  readonly limitMs: number;
}

/** What a start ends with that was stopped half-way; no fault, and nothing to tell anybody. */
export class StartInterrupted extends Error {
  constructor() {
    super('stopped while starting');
    this.name = 'StartInterrupted';
  }
}

export class StopOrder {
  readonly #steps: Step[] = [];
  #starting: Promise<unknown> = Promise.resolve();
  #stopped: Promise<boolean> | null = null;

  /** True from the first `run` on. */
  get isStopping(): boolean {
    return this.#stopped !== null;
  }

  /**
   * Runs a start, whose steps `run` waits for and undoes.
   *
   * @throws what `start` throws; nothing is undone by that alone
   */
  async during<T>(start: () => Promise<T>): Promise<T> {
    const starting = start();
    this.#starting = starting.catch(() => {
      // Told by whoever called; stopping only waits for its end.
    });
    return await starting;
  }

  /**
   * Notes how to undo what was just started.
   *
   * @param limitMs past this the step counts as failed and the next one begins
   * @throws {StartInterrupted} when stopping has begun; the step is noted all the same
   */
  add(name: string, run: Step['run'], limitMs: number = STEP_LIMIT_MS): void {
    this.#steps.push({ name, run, limitMs });
    if (this.isStopping) throw new StartInterrupted();
  }

  /**
   * Undoes everything, last first; a start under way is waited for. A second call waits for the
   * first.
   *
   * @returns false when a step failed; it has been reported
   */
  run(events: Pick<Events, 'stopFailed'>): Promise<boolean> {
    this.#stopped ??= this.#runAll(events);
    return this.#stopped;
  }

  async #runAll(events: Pick<Events, 'stopFailed'>): Promise<boolean> {
    const attempt = async ({ name, run, limitMs }: Step): Promise<boolean> => {
      try {
        await withinLimit(Promise.resolve(run()), limitMs);
        return true;
      } catch (error) {
        events.stopFailed(name, error);
        return false;
      }
    };
    const start = async (): Promise<void> => void (await this.#starting);
    let clean = await attempt({ name: 'start', run: start, limitMs: START_LIMIT_MS });
    for (const step of this.#steps.reverse()) clean = (await attempt(step)) && clean;
    return clean;
  }
}
