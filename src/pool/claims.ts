/**
 * The runs that this process has claimed and not started, the order in which they are handed out,
 * and everything that it reports to the database about them.
 *
 *   database ──claim──► quick ──► a thread ──► evaluated (stored by the thread)
 *       ▲                 ▲          │ ├─ not begun: put back
 *       │                 └──────────┘ ├─ takes long: long ──► in slices beside the quick ones
 *       │                              └─ failed together: apart ──► one by one, on the spare thread
 *       └── given back, released: at once, or before the next claim when the database is away
 *
 * All is handed out by turns of workspaces (run-queue.ts), and little is kept: what has waited here for
 * a second goes back, so that the next claim may choose among all that is due.
 */

import type { Database } from '../db/database.ts';
import { readWorkspaceSettings } from '../db/findings/rule-settings.ts';
import { ClaimTurns } from '../db/runs/claim-turns.ts';
import {
  type ClaimedRun,
  claimRuns,
  giveUpRuns,
  releaseRun,
  requeueRuns,
} from '../db/runs/evaluation-queue.ts';
import type { RunTimes } from '../db/runs/run-times.ts';
import { applySessionMarks } from '../db/runs/session-runs.ts';
import type { Rule, Snapshot } from '../model/rules.ts';
import type { Events } from '../observe/events.ts';
import { ruleSetOf } from './rule-set.ts';
import { RunQueue } from './run-queue.ts';
import {
  type EvaluateTask,
  LONG_RUNS_PER_THREAD,
  TASKS_PER_THREAD,
  type TaskPace,
  type WorkspaceRules,
} from './tasks.ts';

/** Most runs of a quick task. Beyond a few dozen, one more query costs next to nothing. */
export const BATCH_RUNS_MAX = 64;
/**
 * Most steps of a quick task. Bytes limit what is read at a time (`steps.ts`); this limits the rows
 * scanned.
 */
export const BATCH_STEPS_MAX = 2000;
/**
 * Enough that threads do not wait for a claim, few enough that no run waits here while others are
 * free.
 */
const BATCHES_PER_TASK = 2;
/** Least size of a claim, per task that can run. */
const CLAIM_RUNS_MIN = 4;
/**
 * Runs that have waited here this long are given back: runs of other workspaces may have become
 * due.
 */
const KEPT_MS = 1000;
/**
 * No quick task takes runs of a workspace with this many long runs waiting: it would find further
 * long runs faster than they are done.
 */
const LONG_WAITING_MAX = 16;
/** Most long runs of one workspace on a thread; the last place is for another workspace. */
const LONG_OF_WORKSPACE_MAX = LONG_RUNS_PER_THREAD - 1;
/**
 * For this long after a workspace's last long run, its runs have quick tasks of their own, so that
 * runs of other workspaces do not wait for them.
 */
const SLOW_FOR_MS = 10_000;
/**
 * While so many runs wait to go alone, none that was claimed before is claimed: one of them may end the
 * process, and each that waits here would lose an attempt with it.
 */
const APART_WAITING_MAX = 16;
/** What could not be told to the database is kept until it is back; past this, leases run out. */
const OWED_MAX = 100;
/** Pause after session marks failed, so that claims do not wait for them every time. */
const MARKS_PAUSE_MS = 30_000;

export interface ClaimsDependencies {
  readonly database: Database;
  readonly snapshot: Snapshot;
  /** every rule that can run for anyone, in the order the workers have them */
  readonly rules: readonly Rule[];
  readonly threads: number;
  readonly events: Pick<
    Events,
    'passFailed' | 'runUndecided' | 'runsGivenUp' | 'sessionMarksFailed'
  >;
  /** called when a task of this pace can be taken */
  readonly onWaiting: (pace: TaskPace) => void;
}

/** A run that waits here. */
interface WaitingRun extends ClaimedRun {
  /** `performance.now()` */
  readonly claimedAtMs: number;
  /** too large to be read together with others */
  readonly isLarge: boolean;
}

export class Claims {
  readonly #deps: ClaimsDependencies;
  readonly #settings: RunTimes;
  readonly #turns = new ClaimTurns();
  readonly #quick = new RunQueue<WaitingRun>();
  readonly #long = new RunQueue<WaitingRun>();
  readonly #apart = new RunQueue<WaitingRun>();
  /** workspaces whose runs took long, and when the last of them was found to; `performance.now()` */
  readonly #slow = new Map<number, number>();
  /** quick tasks of slow workspaces and of the others alternate */
  #isTurnOfSlow = false;
  /** the rules of every workspace with a run here */
  #workspaces = new Map<number, WorkspaceRules>();
  /** current limits of a claim and of a quick task */
  #claimRunsMax: number;
  #batchRunsMax = BATCH_RUNS_MAX;
  #owed: (() => Promise<void>)[] = [];
  #claiming: Promise<void> | null = null;
  #isOpen = false;
  /** more runs that were claimed before may be due than the last claim took */
  #hasRetries = false;
  /** runs released with a lost attempt since `takeReleased` */
  #released = 0;
  /** what the database last answered with, when that was an error */
  #failure: unknown = null;
  /** when session marks are applied again, by `performance.now()` */
  #marksPausedUntil = 0;

  constructor(deps: ClaimsDependencies, settings: RunTimes) {
    this.#deps = deps;
    this.#settings = settings;
    this.#claimRunsMax = this.#mostRuns;
  }

  /** `next` hands out tasks until `close`. */
  open(): void {
    this.#isOpen = true;
  }

  /** `next` hands out nothing any more; what is claimed stays claimed. */
  close(): void {
    this.#isOpen = false;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get failure(): unknown {
    return this.#failure;
  }

  /** Runs claimed and not begun. */
  get waiting(): ClaimedRun[] {
    return [...this.#quick.all, ...this.#long.all, ...this.#apart.all];
  }

  /** How many runs were released since this was asked last. */
  takeReleased(): number {
    const count = this.#released;
    this.#released = 0;
    return count;
  }

  fail(error: unknown): void {
    this.#failure = error;
    this.#deps.events.passFailed(error);
  }

  /**
   * The next quick task; claims before the last runs are handed out.
   *
   * @returns null when nothing is due, or `close` was said
   */
  async next(): Promise<EvaluateTask | null> {
    if (this.#isOpen && (this.#openRuns < this.#claimRunsMax / 2 || this.#isStale)) {
      this.#claiming ??= this.#claim().finally(() => {
        this.#claiming = null;
      });
    }
    if (this.#openRuns === 0) await this.#claiming;
    if (!this.#isOpen) return null;
    const runs = this.#takeQuick(this.#isTurnOfSlow);
    this.#isTurnOfSlow = !this.#isTurnOfSlow;
    return this.#taskOf(runs.length > 0 ? runs : this.#takeQuick(this.#isTurnOfSlow), 'quick');
  }

  /**
   * The next long run for a thread.
   * @param underWay the thread's current long tasks
   */
  nextLong(underWay: readonly EvaluateTask[]): EvaluateTask | null {
    if (!this.#isOpen) return null;
    const ofOne = (workspaceId: number): number =>
      underWay.filter(({ runs }) => runs[0]?.workspaceId === workspaceId).length;
    const hasLarge = underWay.some(({ isLarge }) => isLarge);
    const run = this.#long.takeOne(
      ({ workspaceId, isLarge }) =>
        ofOne(workspaceId) < LONG_OF_WORKSPACE_MAX && !(hasLarge && isLarge),
    );
    // Quick tasks of its workspace may have waited for this.
    if (run !== null) this.#notify('quick');
    return this.#taskOf(run === null ? [] : [run], 'long');
  }

  /** The next run that is evaluated alone. */
  nextApart(): EvaluateTask | null {
    const run = this.#isOpen ? this.#apart.takeOne(() => true) : null;
    if (run !== null && this.#apart.size === 0 && this.#hasRetries) {
      // A claim takes few of them, and is begun by a lane for quick tasks.
      this.#hasRetries = false;
      this.#deps.onWaiting('quick');
    }
    return this.#taskOf(run === null ? [] : [run], 'apart');
  }

  /** Waits for a claim under way. */
  async settled(): Promise<void> {
    await this.#claiming;
  }

  /** Takes back runs of a task that were not begun; they are next. */
  putBack(task: EvaluateTask): void {
    const queue = { quick: this.#quick, long: this.#long, apart: this.#apart }[task.pace];
    queue.putFirst(this.#takeIn(task));
    this.#notify(task.pace);
  }

  /** Takes back long runs: they are evaluated in slices beside others. */
  putBackLong(task: EvaluateTask): void {
    for (const run of this.#takeIn(task)) {
      this.#long.push(run);
      this.#slow.set(run.workspaceId, performance.now());
    }
    this.#notify('long');
  }

  /** Takes back runs that failed together: each is tried alone, with the attempt it has. */
  putBackApart(task: EvaluateTask): void {
    for (const run of this.#takeIn(task)) this.#apart.push(run);
    this.#notify('apart');
  }

  /** Gives runs back to the database without having lost an attempt. */
  async giveBack(runs: readonly ClaimedRun[]): Promise<void> {
    await this.#settle(() => requeueRuns(this.#deps.database, runs));
  }

  /** Gives back everything that waits, and the runs of `begun`, in one statement. */
  async giveBackWaiting(begun: readonly ClaimedRun[] = []): Promise<void> {
    const waiting = [this.#quick, this.#long, this.#apart].flatMap((queue) => queue.drain());
    await this.giveBack([...begun, ...waiting]);
  }

  /** Gives a run back undecided; it has lost an attempt. */
  async release(run: ClaimedRun, why: string): Promise<void> {
    this.#released += 1;
    this.#deps.events.runUndecided(why);
    await this.#settle(() => releaseRun(this.#deps.database, run, why));
  }

  /** @throws what the database said */
  async giveUp(): Promise<void> {
    const count = await giveUpRuns(this.#deps.database);
    if (count > 0) this.#deps.events.runsGivenUp(count);
  }

  /** Runs that a quick task may take now. */
  get #openRuns(): number {
    if (this.#long.size < LONG_WAITING_MAX) return this.#quick.size;
    const blocked = this.#quick.firsts.filter(({ workspaceId }) => !this.#mayTake(workspaceId));
    return blocked.reduce(
      (sum, { workspaceId }) => sum - this.#quick.countOf(workspaceId),
      this.#quick.size,
    );
  }

  /** Whether a workspace's first run has waited too long. */
  get #isStale(): boolean {
    const claimedBefore = performance.now() - KEPT_MS;
    return this.#quick.firsts.some(({ claimedAtMs }) => claimedAtMs < claimedBefore);
  }

  get #mostRuns(): number {
    return this.#deps.threads * TASKS_PER_THREAD * BATCHES_PER_TASK * BATCH_RUNS_MAX;
  }

  readonly #mayTake = (workspaceId: number): boolean =>
    this.#long.countOf(workspaceId) < LONG_WAITING_MAX;

  #takeQuick(isSlow: boolean): WaitingRun[] {
    const slowSince = performance.now() - SLOW_FOR_MS;
    for (const [id, seenAtMs] of this.#slow) if (seenAtMs < slowSince) this.#slow.delete(id);
    const mayTake = (workspaceId: number): boolean =>
      this.#slow.has(workspaceId) === isSlow && this.#mayTake(workspaceId);
    return this.#quick.take(this.#batchRunsMax, BATCH_STEPS_MAX, mayTake);
  }

  #notify(pace: TaskPace): void {
    const open = { quick: this.#openRuns, long: this.#long.size, apart: this.#apart.size };
    if (open[pace] > 0) this.#deps.onWaiting(pace);
  }

  #taskOf(runs: readonly WaitingRun[], pace: TaskPace): EvaluateTask | null {
    const [first] = runs;
    if (first === undefined) return null;
    const own = new Set(runs.map(({ workspaceId }) => workspaceId));
    const workspaces = new Map([...this.#workspaces].filter(([id]) => own.has(id)));
    return { pace, runs, workspaces, isLarge: first.isLarge };
  }

  /** Restores the rules of a task's workspaces, unless newer ones are known. */
  #takeIn({ runs, workspaces, isLarge }: EvaluateTask): WaitingRun[] {
    this.#workspaces = new Map([...workspaces, ...this.#workspaces]);
    return runs.map((run) => ({ claimedAtMs: performance.now(), ...run, isLarge }));
  }

  async #claim(): Promise<void> {
    const { database, threads } = this.#deps;
    const isStale = this.#isStale;
    const stale = isStale ? this.#quick.drain() : [];
    const least = threads * TASKS_PER_THREAD * CLAIM_RUNS_MIN;
    const wanted = isStale ? this.#claimRunsMax / 4 : this.#claimRunsMax * 2;
    const limit = Math.min(Math.max(Math.floor(wanted), least), this.#mostRuns);
    this.#claimRunsMax = limit;
    try {
      if (stale.length > 0) await this.giveBack(stale);
      for (const work of this.#owed.splice(0)) await this.#settle(work);
      await this.giveUp();
      await this.#applyMarks();
      const { settleMs, timeoutMs } = this.#settings;
      const retries = this.#apart.size < APART_WAITING_MAX ? threads : 0;
      const settings = { settleMs, timeoutMs, limit, retries };
      const runs = await claimRuns(database, settings, this.#turns);
      this.#hasRetries = retries === 0 || runs.some(({ attempt }) => attempt > 1);
      if (runs.length > 0) await this.#enqueue(runs);
      // Closed meanwhile: a worker found the database away.
      if (this.#isOpen) this.#failure = null;
    } catch (error) {
      this.fail(error);
    }
    this.#notify('quick');
    this.#notify('apart');
  }

  /** Completes runs without a root. Never rejects: runs whose marks are not applied time out. */
  async #applyMarks(): Promise<void> {
    if (performance.now() < this.#marksPausedUntil) return;
    try {
      await applySessionMarks(this.#deps.database, this.#settings);
    } catch (error) {
      this.#marksPausedUntil = performance.now() + MARKS_PAUSE_MS;
      this.#deps.events.sessionMarksFailed(error);
    }
  }

  /** Joins claimed runs with the rules of their workspaces. */
  async #enqueue(runs: readonly ClaimedRun[]): Promise<void> {
    const { database, rules, snapshot, threads } = this.#deps;
    try {
      const ids = [...new Set(runs.map(({ workspaceId }) => workspaceId))];
      const settings = await readWorkspaceSettings(database, ids);
      const kept = new Set(this.waiting.map(({ workspaceId }) => workspaceId));
      this.#workspaces = new Map([...this.#workspaces].filter(([id]) => kept.has(id)));
      for (const [id, own] of settings) {
        const { redactExcerpts } = own;
        this.#workspaces.set(id, { ...ruleSetOf(rules, snapshot, own), redactExcerpts });
      }
      const claimedAtMs = performance.now();
      for (const run of runs) {
        if (!settings.has(run.workspaceId)) continue;
        // A run that was claimed before may be one that crashes every thread.
        const queue = run.attempt === 1 ? this.#quick : this.#apart;
        queue.push({ ...run, claimedAtMs, isLarge: false });
      }
      this.#batchRunsMax = Math.min(
        BATCH_RUNS_MAX,
        Math.max(1, Math.ceil(this.#quick.size / (threads * TASKS_PER_THREAD))),
      );
      const lost = runs.filter(({ workspaceId }) => !settings.has(workspaceId));
      for (const run of lost) await this.release(run, 'its workspace does not exist');
    } catch (error) {
      await this.giveBack(runs);
      throw error;
    }
  }

  /** Tells the database what becomes of runs; tried again before the next claim if it is away. */
  async #settle(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#owed.length < OWED_MAX) this.#owed.push(work);
      this.fail(error);
    }
  }
}
