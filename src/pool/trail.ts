/**
 * Where a thread is in a run that is tried again, so that the step over which the thread dies is known
 * and passed over the next time. The thread writes into shared memory; what it wrote outlives it.
 *
 *   -1 nowhere, or matching the whole run ──► group 0, 1, 2 … ──► DONE
 *
 * Known to this process only: after a restart the thread dies once more and it is known again.
 */
import type { ClaimedRun } from '../db/evaluation-queue.ts';
import type { EvaluateTask, TaskOutcome, Trail } from './tasks.ts';

const NOWHERE = -1;
const DONE = -2;

/** The thread begins a group of steps. */
export function enterGroup({ at }: Trail, group: number): void {
  Atomics.store(at, 0, group);
}

/** The thread is through with all groups. */
export function leaveGroups({ at }: Trail): void {
  Atomics.store(at, 0, DONE);
}

/** Have all groups been looked at, by this attempt or one before? */
export function isThrough({ at }: Trail): boolean {
  return Atomics.load(at, 0) === DONE;
}

/** A run that failed before goes alone, with its trail. */
export class Trails {
  readonly #of = new Map<string, Trail>();
  readonly #max: number;

  /** @param max runs whose trail is kept; past it the oldest is forgotten */
  constructor(max = 1000) {
    this.#max = max;
  }

  /** Has a task evaluated, and notes where the thread was when it ended over it. */
  async follow(
    task: EvaluateTask,
    evaluate: (task: EvaluateTask) => Promise<TaskOutcome>,
  ): Promise<TaskOutcome> {
    const [run] = task.runs;
    if (run === undefined || task.runs.length > 1 || run.attempt === 1) return await evaluate(task);
    const trail = this.#trailOf(run);
    try {
      return await evaluate({ ...task, trail });
    } catch (error) {
      this.#noteEnd(run, trail);
      throw error;
    }
  }

  #trailOf(run: ClaimedRun): Trail {
    const known = this.#of.get(keyOf(run));
    if (known !== undefined) return known;
    const at = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)).fill(NOWHERE);
    return this.#keep(run, { at, fatal: [] });
  }

  #noteEnd(run: ClaimedRun, { at, fatal }: Trail): void {
    const group = Atomics.load(at, 0);
    if (group < 0) return;
    Atomics.store(at, 0, NOWHERE);
    this.#keep(run, { at, fatal: [...fatal, group] });
  }

  #keep(run: ClaimedRun, trail: Trail): Trail {
    this.#of.set(keyOf(run), trail);
    const [oldest] = this.#of.keys();
    if (this.#of.size > this.#max && oldest !== undefined) this.#of.delete(oldest);
    return trail;
  }
}

const keyOf = ({ workspaceId, runId }: ClaimedRun): string => `${workspaceId} ${runId}`;
