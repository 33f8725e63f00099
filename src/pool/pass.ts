/**
 * The pass: slots, one per worker thread, that claim due runs and have them evaluated one by one.
 *
 *   turn (every interval) ──► free slots open ──► next run ──► evaluate ──► settle ─┐
 *                                  │                 ▲──────────────────────────────┘
 *                                  └ nothing due: the slot closes
 *
 * Slots share the runs claimed, so that no run waits behind a long one while a thread is free. What
 * was claimed is always evaluated, released, given back, or left to its lease when the database is
 * away. Any number of processes may do this over one database.
 */
import type { Database } from '../db/database.ts';
import {
  type ClaimedRun,
  type ClaimSettings,
  claimRuns,
  giveBackRuns,
  giveUpRuns,
  releaseRun,
  renewLeases,
} from '../db/evaluation-queue.ts';
import { readWorkspaceSettings } from '../db/rule-settings.ts';
import { closeSessionRuns } from '../db/session-runs.ts';
import { type Rule, SEVERITIES, type Severity, type Snapshot } from '../model.ts';
import type { Events, PassFacts } from '../observe/events.ts';
import { reasonOf } from './reason.ts';
import { ruleSetOf } from './rule-set.ts';
import type { EvaluateOutcome, EvaluateTask } from './tasks.ts';
import type { Workers } from './workers.ts';

/** Enough to be worth a claim, few enough that none waits here while another process is free. */
const RUNS_PER_SLOT = 4;
const TIMING: PassTiming = {
  renewMs: 60_000,
  runTimeMaxMs: 10 * 60_000,
  stopWithinMs: 10_000,
};
/** What could not be told to the database is kept until it is back; past this, leases run out. */
const OWED_MAX = 100;

const STOPPED = 'the process stopped';
const TOO_LONG = 'the evaluation took too long';

export interface PassTiming {
  /** how often leases begin anew; a fifth of what they last (`evaluation-queue.ts`) */
  readonly renewMs: number;
  /** past this a run's worker is ended, and the run has lost an attempt */
  readonly runTimeMaxMs: number;
  /** how long a stopping process waits for the runs under way before it gives them back */
  readonly stopWithinMs: number;
}

export interface PassSettings extends Omit<ClaimSettings, 'limit'> {
  readonly intervalMs: number;
}

export interface PassDependencies {
  readonly database: Database;
  readonly workers: Pick<Workers, 'threads' | 'evaluate'>;
  readonly snapshot: Snapshot;
  /** every rule that can run for anyone, in the order the workers have them */
  readonly rules: readonly Rule[];
  readonly events: Pick<
    Events,
    | 'passFinished'
    | 'passFailed'
    | 'runUndecided'
    | 'runLost'
    | 'runWithoutText'
    | 'runsGivenUp'
    | 'findingsStored'
  >;
}

/** The rules that can run for some workspace: the union that workers compile. */
export function runnableRules(rules: readonly Rule[]): Rule[] {
  return rules.filter(
    ({ support, status }) =>
      (support === 'as_written' || support === 'degraded') &&
      (status === 'stable' || status === 'experimental'),
  );
}

const freshTally = () => ({ evaluated: 0, undecided: 0, findings: 0, since: performance.now() });

export class Pass {
  readonly #deps: PassDependencies;
  readonly #settings: PassSettings;
  readonly #timing: PassTiming;
  readonly #slots = new Set<Promise<void>>();
  /** claimed, not begun */
  readonly #waiting: EvaluateTask[] = [];
  readonly #underWay = new Map<EvaluateTask, AbortController>();
  #owed: (() => Promise<void>)[] = [];
  #claiming: Promise<void> | null = null;
  #turns: NodeJS.Timeout | null = null;
  #renewals: NodeJS.Timeout | null = null;
  #stopping = false;
  /** what the database last answered the pass with, when that was an error */
  #failure: unknown = null;
  #tally = freshTally();

  /** @param timing other than the service's, for tests */
  constructor(deps: PassDependencies, settings: PassSettings, timing: PassTiming = TIMING) {
    this.#deps = deps;
    this.#settings = settings;
    this.#timing = timing;
  }

  /** Begins: now, and at every interval for the slots that are free then. */
  start(): void {
    const turn = (): void => {
      this.#openSlots();
      this.#report();
    };
    turn();
    this.#turns = setInterval(turn, this.#settings.intervalMs);
  }

  /**
   * Claims nothing new and waits for the runs under way, not longer than `stopWithinMs`: then their
   * workers are ended. Whatever is not decided is given back, without having lost an attempt.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#turns !== null) clearInterval(this.#turns);
    const deadline = setTimeout(() => {
      for (const controller of this.#underWay.values()) controller.abort(STOPPED);
    }, this.#timing.stopWithinMs);
    await this.#drain();
    clearTimeout(deadline);
  }

  /**
   * The `pass` probe: rejects while the database refuses the pass, to claim or to store. Long runs
   * do not fail it; a worker that dies is replaced, told and counted, and costs its run an attempt.
   */
  async check(): Promise<void> {
    if (this.#failure !== null) throw this.#failure;
  }

  /**
   * Evaluates until nothing is due; not beside `start`.
   *
   * @throws what the database said when it went away meanwhile
   */
  async runOnce(): Promise<PassFacts> {
    this.#tally = freshTally();
    this.#openSlots();
    await this.#drain();
    if (this.#failure !== null) throw this.#failure;
    // A run may have failed for the last time after the last claim had looked.
    await this.#giveUp();
    return this.#report();
  }

  #report(): PassFacts {
    const { since, ...counts } = this.#tally;
    this.#tally = freshTally();
    const facts = { ...counts, elapsedMs: Math.round(performance.now() - since) };
    this.#deps.events.passFinished(facts);
    return facts;
  }

  #fail(error: unknown): void {
    this.#failure = error;
    this.#deps.events.passFailed(error);
  }

  #openSlots(): void {
    this.#renewals ??= setInterval(() => void this.#renew(), this.#timing.renewMs);
    while (!this.#stopping && this.#slots.size < this.#deps.workers.threads) {
      const slot = this.#runSlot().finally(() => this.#slots.delete(slot));
      this.#slots.add(slot);
    }
  }

  /** Waits for every slot to close, then gives back what none of them has begun. */
  async #drain(): Promise<void> {
    while (this.#slots.size > 0) await Promise.all(this.#slots);
    if (this.#renewals !== null) clearInterval(this.#renewals);
    this.#renewals = null;
    const left = this.#waiting.splice(0).map(({ run }) => run);
    await this.#settle(() => giveBackRuns(this.#deps.database, left));
  }

  async #runSlot(): Promise<void> {
    for (let task = await this.#next(); task !== null; task = await this.#next()) {
      const outcome = await this.#evaluate(task);
      // The next run would fare no better; the next turn may.
      if (outcome.kind === 'unreachable') return;
    }
  }

  async #next(): Promise<EvaluateTask | null> {
    if (this.#waiting.length === 0 && !this.#stopping) {
      this.#claiming ??= this.#claim().finally(() => {
        this.#claiming = null;
      });
      await this.#claiming;
    }
    return this.#stopping ? null : (this.#waiting.shift() ?? null);
  }

  async #claim(): Promise<void> {
    const { database, workers } = this.#deps;
    const { settleMs, timeoutMs } = this.#settings;
    try {
      for (const work of this.#owed.splice(0)) await this.#settle(work);
      await this.#giveUp();
      await closeSessionRuns(database, settleMs);
      const limit = workers.threads * RUNS_PER_SLOT;
      const runs = await claimRuns(database, { settleMs, timeoutMs, limit });
      if (runs.length > 0) await this.#enqueue(runs);
      this.#failure = null;
    } catch (error) {
      this.#fail(error);
    }
    if (this.#waiting.length > 0) this.#openSlots();
  }

  async #giveUp(): Promise<void> {
    const count = await giveUpRuns(this.#deps.database);
    if (count > 0) this.#deps.events.runsGivenUp(count);
  }

  /** Joins claimed runs with the rules of their workspaces. */
  async #enqueue(runs: readonly ClaimedRun[]): Promise<void> {
    const { database, rules, snapshot } = this.#deps;
    const workspaceIds = [...new Set(runs.map(({ workspaceId }) => workspaceId))];
    try {
      const settings = await readWorkspaceSettings(database, workspaceIds);
      const decisions = new Map(
        [...settings].map(([id, own]) => {
          const { redactExcerpts } = own;
          return [id, { ...ruleSetOf(rules, snapshot, own), redactExcerpts }];
        }),
      );
      for (const run of runs) {
        const decided = decisions.get(run.workspaceId);
        if (decided !== undefined) this.#waiting.push({ run, ...decided });
        else await this.#release(run, 'its workspace does not exist');
      }
    } catch (error) {
      await this.#settle(() => giveBackRuns(database, runs));
      throw error;
    }
  }

  async #evaluate(task: EvaluateTask): Promise<EvaluateOutcome | { kind: 'stopped' }> {
    const controller = new AbortController();
    this.#underWay.set(task, controller);
    const limit = setTimeout(() => controller.abort(TOO_LONG), this.#timing.runTimeMaxMs);
    const outcome = await this.#deps.workers
      .evaluate(task, controller.signal)
      .catch((error: unknown) => {
        const { reason }: { reason: unknown } = controller.signal;
        if (reason === STOPPED) return { kind: 'stopped' } as const;
        const why = reason === TOO_LONG ? TOO_LONG : `the worker ended: ${reasonOf(error)}`;
        return { kind: 'undecided', why } as const;
      });
    clearTimeout(limit);
    await this.#take(task.run, outcome);
    this.#underWay.delete(task);
    return outcome;
  }

  async #take(run: ClaimedRun, outcome: EvaluateOutcome | { kind: 'stopped' }): Promise<void> {
    const { database, events } = this.#deps;
    switch (outcome.kind) {
      case 'evaluated':
        this.#tally.evaluated += 1;
        this.#countFindings(outcome.findings);
        if (outcome.texts === 0) events.runWithoutText();
        return;
      case 'lost':
        events.runLost();
        return;
      case 'undecided':
        await this.#release(run, outcome.why);
        return;
      case 'unreachable':
        this.#fail(new Error(outcome.why));
        await this.#settle(() => giveBackRuns(database, [run]));
        return;
      case 'stopped':
        await this.#settle(() => giveBackRuns(database, [run]));
    }
  }

  #countFindings(found: readonly Severity[]): void {
    this.#tally.findings += found.length;
    for (const severity of SEVERITIES) {
      const count = found.filter((one) => one === severity).length;
      if (count > 0) this.#deps.events.findingsStored(severity, count);
    }
  }

  async #release(run: ClaimedRun, why: string): Promise<void> {
    this.#tally.undecided += 1;
    this.#deps.events.runUndecided(why);
    await this.#settle(() => releaseRun(this.#deps.database, run, why));
  }

  /** Tells the database what becomes of a run; tried again before the next claim if it is away. */
  async #settle(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#owed.length < OWED_MAX) this.#owed.push(work);
      this.#fail(error);
    }
  }

  /** From here and not from the workers: matching keeps their threads from any timer. */
  async #renew(): Promise<void> {
    const tasks = [...this.#waiting, ...this.#underWay.keys()];
    if (tasks.length === 0) return;
    const runs = tasks.map(({ run }) => run);
    await renewLeases(this.#deps.database, runs).catch((error: unknown) => this.#fail(error));
  }
}
