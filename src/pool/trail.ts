/**
 * Records where a thread is in a run that is retried, so that a step that crashes the thread is
 * known and skipped in the next attempt. The thread writes its position into shared memory, which
 * outlives it.
 *
 *   -1 not in a group ──► group 0, 1, 2 … ──► DONE
 *
 * Not stored: after a restart of the process the step crashes one more thread.
 */
import { LRUCache } from 'lru-cache';

import type { ClaimedRun } from '../db/runs/evaluation-queue.ts';
import type { EvaluateTask, TaskOutcome, Trail } from './tasks.ts';

const NOWHERE = -1;
const DONE = -2;

/** In the worker: it starts a group of steps. */
export function enterGroup({ at }: Trail, group: number): void {
  Atomics.store(at, 0, group);
}

/** In the worker: all groups are done. */
export function leaveGroups({ at }: Trail): void {
  Atomics.store(at, 0, DONE);
}

/** Checks whether all groups are done, in this attempt or an earlier one. */
export function isThrough({ at }: Trail): boolean {
  return Atomics.load(at, 0) === DONE;
}

/** The trails of runs that are tried again alone. */
export class Trails {
  readonly #of: LRUCache<string, Trail>;

  /** @param max most trails that are kept */
  constructor(max = 1000) {
    this.#of = new LRUCache({ max });
  }

  /** Evaluates a task, and records where the thread was if it crashed. */
  async follow(
    task: EvaluateTask,
    evaluate: (task: EvaluateTask) => Promise<TaskOutcome>,
  ): Promise<TaskOutcome> {
    const [run] = task.runs;
    if (run === undefined || task.runs.length > 1 || !run.isRetry) return await evaluate(task);
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
    return trail;
  }
}

const keyOf = ({ workspaceId, runId }: ClaimedRun): string => `${workspaceId} ${runId}`;
