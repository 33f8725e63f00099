/**
 * One worker thread and its tasks: takes the next task whenever the thread has room, and settles
 * what comes of it.
 *
 *   several runs   beside another task; whatever fails, the runs are tried again one by one
 *   one run        alone on the thread; when that ends over it, or takes too long, it was the run
 *
 * So no run pays for another: a lost attempt is the run's own.
 */
import type { ClaimedRun } from '../db/evaluation-queue.ts';
import type { Events } from '../observe/events.ts';
import type { Claims } from './claims.ts';
import { reasonOf } from './reason.ts';
import { type EvaluateTask, type RunOutcome, TASKS_PER_THREAD, type TaskOutcome } from './tasks.ts';
import type { MatchThread } from './workers.ts';

const STOPPED = 'the process stopped';
const TOO_LONG = 'the evaluation took too long';

export interface LaneTiming {
  /** past this a run that is alone has its thread ended, and has lost an attempt */
  readonly runTimeMaxMs: number;
  /** past this a task of several runs has its thread ended, and they are tried one by one */
  readonly taskTimeMaxMs: number;
}

export interface LaneDependencies {
  readonly thread: MatchThread;
  readonly claims: Claims;
  readonly timing: LaneTiming;
  readonly events: Pick<Events, 'runsTriedApart'>;
  /** told of runs that were evaluated, or lost */
  readonly onOutcome: (outcome: Exclude<RunOutcome, { kind: 'undecided' }>) => void;
}

/** A task under way. */
interface UnderWay {
  readonly task: EvaluateTask;
  readonly settled: Promise<void>;
  /** why its thread was ended, if it was by us */
  ended: typeof STOPPED | typeof TOO_LONG | null;
}

export class Lane {
  readonly #deps: LaneDependencies;
  readonly #underWay = new Set<UnderWay>();
  /** taken, and waiting to be alone on the thread */
  #next: EvaluateTask | null = null;

  constructor(deps: LaneDependencies) {
    this.#deps = deps;
  }

  /** Runs taken and not settled. */
  get runs(): ClaimedRun[] {
    const begun = [...this.#underWay].flatMap(({ task }) => task.runs);
    return [...begun, ...(this.#next?.runs ?? [])];
  }

  /** Works until nothing is due, or the claims were closed, and all that was begun is settled. */
  async work(): Promise<void> {
    const { claims } = this.#deps;
    for (;;) {
      await this.#until(TASKS_PER_THREAD - 1);
      const task = await claims.next();
      if (task !== null) await this.#begin(task);
      else if (this.#underWay.size === 0) return;
      // What is under way may yet be put back.
      else await this.#until(this.#underWay.size - 1);
    }
  }

  /** Ends the thread; what is under way is given back. */
  stop(): void {
    if (this.#underWay.size > 0) this.#end(STOPPED);
  }

  async #begin(task: EvaluateTask): Promise<void> {
    const { claims } = this.#deps;
    const isAlone = task.runs.length === 1;
    this.#next = task;
    if (isAlone) await this.#until(0);
    this.#next = null;
    // Closed while it waited for the thread.
    if (!claims.isOpen) return claims.putBack(task);
    const one: UnderWay = { task, ended: null, settled: Promise.resolve() };
    const settled = this.#evaluate(one).finally(() => this.#underWay.delete(one));
    this.#underWay.add(Object.assign(one, { settled }));
    if (isAlone) await this.#until(0);
  }

  /** Waits until no more than so many tasks are under way. */
  async #until(tasks: number): Promise<void> {
    while (this.#underWay.size > tasks) {
      await Promise.race([...this.#underWay].map(({ settled }) => settled));
    }
  }

  #end(why: typeof STOPPED | typeof TOO_LONG): void {
    for (const one of this.#underWay) one.ended = why;
    this.#deps.thread.end();
  }

  async #evaluate(one: UnderWay): Promise<void> {
    const { thread, timing } = this.#deps;
    const { task } = one;
    const { runTimeMaxMs, taskTimeMaxMs } = timing;
    const limitMs = task.runs.length === 1 ? runTimeMaxMs : taskTimeMaxMs;
    const limit = setTimeout(() => this.#end(TOO_LONG), limitMs);
    const outcome = await thread.evaluate(task).catch((error: unknown): TaskOutcome | null => {
      if (one.ended === STOPPED) return null;
      return { kind: 'failed', why: one.ended ?? `the worker ended: ${reasonOf(error)}` };
    });
    clearTimeout(limit);
    if (outcome === null) await this.#deps.claims.giveBack(task.runs);
    else await this.#settle(task, outcome);
  }

  async #settle(task: EvaluateTask, outcome: TaskOutcome): Promise<void> {
    const { claims } = this.#deps;
    switch (outcome.kind) {
      case 'done':
        await this.#settleRuns(task, outcome.runs);
        return;
      case 'failed':
        await this.#settleFailure(task, outcome.why);
        return;
      case 'unreachable':
        // The next runs would fare no better; the next turn may. None waits for it under a lease
        // that nobody can renew.
        claims.close();
        claims.fail(new Error(outcome.why));
        await claims.giveBackWaiting(task.runs);
    }
  }

  async #settleRuns(task: EvaluateTask, outcomes: readonly RunOutcome[]): Promise<void> {
    const { claims, onOutcome } = this.#deps;
    const left = task.runs.slice(outcomes.length);
    if (left.length > 0) claims.putBack({ ...task, runs: left });
    for (const [index, outcome] of outcomes.entries()) {
      const run = task.runs[index];
      if (outcome.kind !== 'undecided') onOutcome(outcome);
      else if (run !== undefined) await claims.release(run, outcome.why);
    }
  }

  async #settleFailure(task: EvaluateTask, why: string): Promise<void> {
    const { claims, events } = this.#deps;
    const [run, ...others] = task.runs;
    if (run !== undefined && others.length === 0) return await claims.release(run, why);
    events.runsTriedApart(task.runs.length, why);
    claims.putBackApart(task);
  }
}
