/**
 * The tasks of one pace on one worker thread: takes the next task whenever there is room, and
 * handles its outcome.
 *
 *   quick   several runs; beside another quick task and the long ones
 *   long    one run, in slices beside the quick tasks
 *   apart   runs that are tried again, on the spare thread: a few together, or one alone, and then the run is to
 *           blame if the thread crashes
 *
 * Runs that fail beside others are retried apart, so a run never loses an attempt because of
 * another.
 */
import type { ClaimedRun } from '../db/runs/evaluation-queue.ts';
import type { Events } from '../observe/events.ts';
import type { Claims } from './claims.ts';
import { reasonOf } from './reason.ts';
import type { MeteredRule } from './rule-meter.ts';
import {
  type EvaluateTask,
  LONG_RUNS_PER_THREAD,
  type RunOutcome,
  TASKS_PER_THREAD,
  type TaskOutcome,
  type TaskPace,
} from './tasks.ts';
import type { MatchThread } from './workers.ts';

const STOPPED = 'the process stopped';
const STUCK = 'the thread was stuck';

const ROOM: Readonly<Record<TaskPace, number>> = {
  quick: TASKS_PER_THREAD,
  long: LONG_RUNS_PER_THREAD,
  apart: 1,
};

/** The final outcome of a run. */
export type Settled = Extract<RunOutcome, { kind: 'evaluated' | 'lost' }>;

export interface LaneTiming {
  /** a thread whose slice takes more CPU time counts as stuck, and is ended with its tasks */
  readonly stalledMaxMs: number;
  /** how often that is checked */
  readonly watchMs: number;
}

export interface LaneDependencies {
  readonly thread: MatchThread;
  readonly pace: TaskPace;
  readonly claims: Claims;
  readonly timing: LaneTiming;
  readonly events: Pick<
    Events,
    | 'runsTriedApart'
    | 'runReached'
    | 'blockUnreadable'
    | 'runsPacked'
    | 'runsNotPacked'
    | 'toolsRefused'
  >;
  readonly onOutcome: (outcome: Settled) => void;
  readonly onCosts: (costs: readonly MeteredRule[]) => void;
}

interface UnderWay {
  readonly task: EvaluateTask;
  readonly settled: Promise<void>;
  /** why its thread was ended, if it was by us */
  ended: typeof STOPPED | typeof STUCK | null;
}

export class Lane {
  readonly #deps: LaneDependencies;
  readonly #underWay = new Set<UnderWay>();
  #isWoken = false;
  #resolveWoken = (): void => {};

  constructor(deps: LaneDependencies) {
    this.#deps = deps;
  }

  get pace(): TaskPace {
    return this.#deps.pace;
  }

  get thread(): MatchThread {
    return this.#deps.thread;
  }

  /** `wake` was called since this lane looked for a task. */
  get isWoken(): boolean {
    return this.#isWoken;
  }

  /** Runs taken and not settled. */
  get runs(): ClaimedRun[] {
    return this.#tasks.flatMap(({ runs }) => runs);
  }

  get #tasks(): EvaluateTask[] {
    return [...this.#underWay].map(({ task }) => task);
  }

  /** Works until nothing is due, or the claims were closed, and all that was begun is settled. */
  async work(): Promise<void> {
    const { timing } = this.#deps;
    const watch = setInterval(() => this.#endIfStuck(), timing.watchMs);
    try {
      for (;;) {
        const woken = this.#untilWoken();
        const task = this.#hasRoom ? await this.#take() : null;
        if (task !== null) this.#begin(task);
        else if (this.#underWay.size === 0) return;
        // Running tasks may still be put back; new ones call `wake`.
        else await Promise.race([woken, ...[...this.#underWay].map(({ settled }) => settled)]);
      }
    } finally {
      clearInterval(watch);
    }
  }

  /** To be called when there may be a task to take. */
  wake(): void {
    this.#isWoken = true;
    this.#resolveWoken();
  }

  /** Notes that the thread is ended on purpose: its runs are requeued. */
  expectStop(): void {
    for (const one of this.#underWay) one.ended ??= STOPPED;
  }

  get #hasRoom(): boolean {
    return this.#underWay.size < ROOM[this.#deps.pace];
  }

  #untilWoken(): Promise<void> {
    this.#isWoken = false;
    return new Promise((resolve) => {
      this.#resolveWoken = resolve;
    });
  }

  async #take(): Promise<EvaluateTask | null> {
    const { claims, pace } = this.#deps;
    if (pace === 'quick') return await claims.next();
    return pace === 'long' ? claims.nextLong(this.#tasks) : claims.nextApart();
  }

  #begin(task: EvaluateTask): void {
    const one: UnderWay = { task, ended: null, settled: Promise.resolve() };
    const settled = this.#evaluate(one).finally(() => this.#underWay.delete(one));
    this.#underWay.add(Object.assign(one, { settled }));
  }

  #endIfStuck(): void {
    const { thread, timing } = this.#deps;
    if (this.#underWay.size === 0 || thread.stalledMs() <= timing.stalledMaxMs) return;
    for (const one of this.#underWay) one.ended ??= STUCK;
    thread.end();
  }

  async #evaluate(one: UnderWay): Promise<void> {
    const { thread, claims, events } = this.#deps;
    const task = await this.#toBegin(one.task);
    if (task === null) return;
    if (one.ended !== null) return await claims.requeue(task.runs);
    for (const run of task.runs) events.runReached(run, 'given to a thread', { pace: task.pace });
    const outcome = await thread.evaluate(task).catch((error: unknown): TaskOutcome | null => {
      if (one.ended === STOPPED) return null;
      return { kind: 'failed', why: one.ended ?? `the worker ended: ${reasonOf(error)}` };
    });
    if (outcome === null) await claims.requeue(task.runs);
    else await this.#settle(task, outcome);
  }

  /** Of runs that are tried again the attempt is counted first: one of them may end the process. */
  async #toBegin(task: EvaluateTask): Promise<EvaluateTask | null> {
    const { claims, onOutcome } = this.#deps;
    if (task.pace !== 'apart') return task;
    const runs = await claims.begin(task.runs);
    if (runs === null) {
      await claims.requeueWaiting(task.runs);
      return null;
    }
    for (let lost = task.runs.length - runs.length; lost > 0; lost -= 1)
      onOutcome({ kind: 'lost' });
    return runs.length === 0 ? null : { ...task, runs };
  }

  async #settle(task: EvaluateTask, outcome: TaskOutcome): Promise<void> {
    const { claims, events } = this.#deps;
    switch (outcome.kind) {
      case 'done':
        this.#deps.onCosts(outcome.costs);
        for (const { blockId, why } of outcome.unreadableBlocks)
          events.blockUnreadable(blockId, why);
        if (outcome.packed !== null) events.runsPacked(outcome.packed);
        if (outcome.notPacked !== null) events.runsNotPacked(outcome.notPacked);
        if (outcome.refusedTools > 0) events.toolsRefused(outcome.refusedTools);
        await this.#settleRuns(task, outcome.runs);
        return;
      case 'failed':
        await this.#settleFailure(task, outcome.why);
        return;
      case 'unreachable':
        // The next runs would fail too. They are requeued instead of waiting under leases that
        // cannot be renewed.
        claims.close();
        claims.fail(new Error(outcome.why));
        await claims.requeueWaiting(task.runs);
    }
  }

  async #settleRuns(task: EvaluateTask, outcomes: readonly RunOutcome[]): Promise<void> {
    const { claims, events, onOutcome } = this.#deps;
    const left: ClaimedRun[] = [];
    for (const [index, run] of task.runs.entries()) {
      const outcome = outcomes[index] ?? { kind: 'not begun' };
      traceOutcome(run, outcome, events);
      switch (outcome.kind) {
        case 'not begun':
          left.push(run);
          break;
        case 'long':
          // One that is tried again stays on the spare thread, and goes alone.
          claims.moveTo(task.pace === 'apart' ? 'apart' : 'long', {
            ...task,
            runs: [run],
            isLarge: outcome.isLarge,
          });
          break;
        case 'undecided':
          await claims.release(run, outcome.why);
          break;
        default:
          onOutcome(outcome);
      }
    }
    if (left.length > 0) claims.putBack({ ...task, runs: left });
  }

  async #settleFailure(task: EvaluateTask, why: string): Promise<void> {
    const { claims, events } = this.#deps;
    const [run, other] = task.runs;
    if (task.pace === 'apart' && run !== undefined && other === undefined) {
      return await claims.release(run, why);
    }
    events.runsTriedApart(task.runs.length, why);
    claims.moveTo('apart', task);
  }
}

function traceOutcome(
  run: ClaimedRun,
  outcome: RunOutcome,
  events: LaneDependencies['events'],
): void {
  if (outcome.kind !== 'evaluated') {
    events.runReached(run, outcome.kind);
    return;
  }
  const { steps, texts, findings } = outcome;
  events.runReached(run, 'read and matched', { steps, texts });
  events.runReached(run, 'stored', { findings: findings.length });
}
