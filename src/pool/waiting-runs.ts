/**
 * The claimed runs that wait in this process, in one queue per pace, and the rules of their
 * workspaces. Puts tasks together: workspaces take turns, a workspace whose runs take
 * long has separate quick tasks, and none while many of its long runs wait.
 *
 * Knows neither the database nor the worker threads; `claims.ts` fills and empties it.
 */
import type { ClaimedRun } from '../db/runs/evaluation-queue.ts';
import { WorkspaceQueue } from '../workspace-queue.ts';
import {
  type EvaluateTask,
  LONG_RUNS_PER_THREAD,
  TASKS_PER_THREAD,
  type TaskPace,
  type WorkspaceRules,
} from './tasks.ts';

/** Most runs of a quick task: planning the statements of a task costs as much as dozens of runs. */
export const BATCH_RUNS_MAX = 256;
/**
 * Most runs that are evaluated together after their process died with them; each loses one attempt if the next one dies, too.
 */
export const AGAIN_RUNS_MAX = 16;
/**
 * Most steps of a quick task. Bytes limit what is read at a time (`steps-of-runs.ts`); this limits the rows
 * scanned.
 */
const BATCH_STEPS_MAX = 2000;
/** A workspace whose first run has waited here this long makes the queue stale. */
const KEPT_MS = 1000;
/**
 * No quick task takes runs of a workspace with this many long runs waiting: it would find further
 * long runs faster than they are done.
 */
const LONG_WAITING_MAX = 16;
/** Most long runs of one workspace on a thread; the last place is for another workspace. */
const LONG_OF_WORKSPACE_MAX = LONG_RUNS_PER_THREAD - 1;
/**
 * For this long after a workspace's last long run, its runs have separate quick tasks, so that
 * runs of other workspaces do not wait for them.
 */
const SLOW_FOR_MS = 10_000;

interface WaitingRun extends ClaimedRun {
  /** `performance.now()` */
  readonly claimedAtMs: number;
  /** too large to be read together with others */
  readonly isLarge: boolean;
  /** it failed with others, or an attempt at it was counted before */
  readonly isAlone: boolean;
}

export class WaitingRuns {
  readonly #threads: number;
  readonly #queues: Readonly<Record<TaskPace, WorkspaceQueue<WaitingRun>>> = {
    quick: new WorkspaceQueue(),
    long: new WorkspaceQueue(),
    apart: new WorkspaceQueue(),
  };
  /** workspace → when its last long run was found; `performance.now()` */
  readonly #slow = new Map<number, number>();
  /** quick tasks of slow workspaces and of the others alternate */
  #isTurnOfSlow = false;
  /** the rules of every workspace with a run here */
  #workspaces = new Map<number, WorkspaceRules>();
  #batchRunsMax = BATCH_RUNS_MAX;

  /** @param threads that share the quick runs */
  constructor(threads: number) {
    this.#threads = threads;
  }

  get all(): ClaimedRun[] {
    return Object.values(this.#queues).flatMap((queue) => queue.all);
  }

  /** How many runs a task of this pace may take now. */
  sizeOf(pace: TaskPace): number {
    if (pace !== 'quick') return this.#queues[pace].size;
    const { quick, long } = this.#queues;
    if (long.size < LONG_WAITING_MAX) return quick.size;
    const blocked = quick.firsts.filter(({ workspaceId }) => !this.#mayTake(workspaceId));
    return blocked.reduce((sum, { workspaceId }) => sum - quick.countOf(workspaceId), quick.size);
  }

  /** Checks whether a workspace's first quick run has waited too long. */
  get isStale(): boolean {
    const claimedBefore = performance.now() - KEPT_MS;
    return this.#queues.quick.firsts.some(({ claimedAtMs }) => claimedAtMs < claimedBefore);
  }

  /**
   * Adds runs just claimed. One that was claimed before may be one that crashes every thread, so it
   * goes apart from fresh ones.
   *
   * @param rules of the runs' workspaces, as they are now
   */
  add(runs: readonly ClaimedRun[], rules: ReadonlyMap<number, WorkspaceRules>): void {
    const kept = new Set(this.all.map(({ workspaceId }) => workspaceId));
    this.#workspaces = new Map([...this.#workspaces].filter(([id]) => kept.has(id)));
    for (const [id, own] of rules) this.#workspaces.set(id, own);
    const claimedAtMs = performance.now();
    const { quick, apart } = this.#queues;
    for (const run of runs) {
      const waiting = { ...run, claimedAtMs, isLarge: false, isAlone: run.attempt > 1 };
      (run.isRetry ? apart : quick).add(run.workspaceId, waiting);
    }
    const share = Math.ceil(quick.size / (this.#threads * TASKS_PER_THREAD));
    this.#batchRunsMax = Math.min(BATCH_RUNS_MAX, Math.max(1, share));
  }

  /** Puts back runs of a task that were not begun; they are next. */
  putBack(task: EvaluateTask): void {
    const queue = this.#queues[task.pace];
    for (const run of this.#runsOf(task).reverse()) queue.addFirst(run.workspaceId, run);
  }

  /** Puts back runs that take long, each to be evaluated in slices, or that failed together, each to be tried alone. */
  moveTo(pace: 'long' | 'apart', task: EvaluateTask): void {
    for (const run of this.#runsOf(task)) {
      this.#queues[pace].add(run.workspaceId, { ...run, isAlone: true });
      if (pace === 'long') this.#slow.set(run.workspaceId, performance.now());
    }
  }

  takeQuick(): EvaluateTask | null {
    const slowSince = performance.now() - SLOW_FOR_MS;
    for (const [id, seenAtMs] of this.#slow) if (seenAtMs < slowSince) this.#slow.delete(id);
    const isTurnOfSlow = this.#isTurnOfSlow;
    this.#isTurnOfSlow = !isTurnOfSlow;
    const runs = this.#takeBatch(isTurnOfSlow);
    return this.#taskOf(runs.length > 0 ? runs : this.#takeBatch(!isTurnOfSlow), 'quick');
  }

  /**
   * The next long run for a thread; null when there is none.
   * @param underWay the thread's current long tasks
   */
  takeLong(underWay: readonly EvaluateTask[]): EvaluateTask | null {
    const ofOne = (workspaceId: number): number =>
      underWay.filter(({ runs }) => runs[0]?.workspaceId === workspaceId).length;
    const hasLarge = underWay.some(({ isLarge }) => isLarge);
    return this.#takeOne(
      'long',
      ({ workspaceId, isLarge }) =>
        ofOne(workspaceId) < LONG_OF_WORKSPACE_MAX && !(hasLarge && isLarge),
    );
  }

  /** The next run that goes alone, or the next few that may go together; null when there is none. */
  takeApart(): EvaluateTask | null {
    const { apart } = this.#queues;
    const runs: WaitingRun[] = [];
    const mayTake = ({ isAlone }: WaitingRun): boolean => runs.length === 0 || !isAlone;
    while (runs.length < AGAIN_RUNS_MAX && runs[0]?.isAlone !== true) {
      const next = apart.next(mayTake);
      if (next === null) break;
      apart.take(next.workspaceId, next.item);
      runs.push(next.item);
    }
    return this.#taskOf(runs, 'apart');
  }

  drain(pace?: TaskPace): ClaimedRun[] {
    const queues = pace === undefined ? Object.values(this.#queues) : [this.#queues[pace]];
    return queues.flatMap((queue) => queue.drain());
  }

  readonly #mayTake = (workspaceId: number): boolean =>
    this.#queues.long.countOf(workspaceId) < LONG_WAITING_MAX;

  #takeBatch(isSlow: boolean): WaitingRun[] {
    const { quick } = this.#queues;
    const taken: WaitingRun[] = [];
    let room = BATCH_STEPS_MAX;
    let before = -1;
    // One turn of each workspace, until nothing is taken any more.
    while (before < taken.length) {
      before = taken.length;
      for (const run of quick.firsts) {
        const { workspaceId, steps } = run;
        if (taken.length >= this.#batchRunsMax) return taken;
        if (this.#slow.has(workspaceId) !== isSlow || !this.#mayTake(workspaceId)) continue;
        // A run with more steps is taken alone.
        if (taken.length > 0 && steps > room) continue;
        room -= steps;
        taken.push(run);
        quick.take(workspaceId, run);
      }
    }
    return taken;
  }

  #takeOne(pace: TaskPace, mayTake: (run: WaitingRun) => boolean): EvaluateTask | null {
    const next = this.#queues[pace].next(mayTake);
    if (next !== null) this.#queues[pace].take(next.workspaceId, next.item);
    return this.#taskOf(next === null ? [] : [next.item], pace);
  }

  #taskOf(runs: readonly WaitingRun[], pace: TaskPace): EvaluateTask | null {
    const [first] = runs;
    if (first === undefined) return null;
    const own = new Set(runs.map(({ workspaceId }) => workspaceId));
    const workspaces = new Map([...this.#workspaces].filter(([id]) => own.has(id)));
    return { pace, runs, workspaces, isLarge: first.isLarge };
  }

  /** A task's runs; restores the rules of their workspaces, unless newer ones are known. */
  #runsOf({ runs, workspaces, isLarge }: EvaluateTask): WaitingRun[] {
    this.#workspaces = new Map([...workspaces, ...this.#workspaces]);
    return runs.map((run) => ({
      claimedAtMs: performance.now(),
      isAlone: false,
      ...run,
      isLarge,
    }));
  }
}
