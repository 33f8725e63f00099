/**
 * Stopping, in the reverse order of starting: each step is named and tried even when one before it
 * failed, because every step that is skipped leaves something behind.
 */
import type { Events } from '../observe/events.ts';

interface Step {
  readonly name: string;
  readonly run: () => void | Promise<void>;
}

export class StopOrder {
  readonly #steps: Step[] = [];
  #stopped: Promise<boolean> | null = null;

  /** Notes how to undo what was just started. */
  add(name: string, run: Step['run']): void {
    this.#steps.push({ name, run });
  }

  /**
   * Undoes everything, last first. A second call waits for the first.
   *
   * @returns false when a step failed; it has been reported
   */
  run(events: Pick<Events, 'stopFailed'>): Promise<boolean> {
    this.#stopped ??= this.#runAll(events);
    return this.#stopped;
  }

  async #runAll(events: Pick<Events, 'stopFailed'>): Promise<boolean> {
    let clean = true;
    for (const { name, run } of this.#steps.reverse()) {
      try {
        await run();
      } catch (error) {
        clean = false;
        events.stopFailed(name, error);
      }
    }
    return clean;
  }
}
