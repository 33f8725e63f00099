/**
 * Claims due runs from the database, hands them out as tasks, and reports their outcome to the
 * database.
 *
 *   database ──claim──► quick ──► a thread ──► evaluated (stored by the thread)
 *       ▲                 ▲          │ ├─ not begun: put back
 *       │                 └──────────┘ ├─ takes long: long ──► in slices beside the quick ones
 *       │                              └─ failed together: apart ──► one by one, on the spare thread
 *       └── requeued, released: at once, or before the next claim when the database is away
 *
 * Few runs wait here (waiting-runs.ts): what has waited for a second is requeued, so that the next
 * claim may choose among everything that is due.
 */

import type { Database } from '../db/database.ts';
import { readWorkspaceSettings } from '../db/findings/rule-settings.ts';
import { ClaimTurns } from '../db/runs/claim-turns.ts';
import {
  beginAttempt,
  type ClaimedRun,
  claimRuns,
  giveUpRuns,
  releaseRun,
  requeueRuns,
} from '../db/runs/evaluation-queue.ts';
import { endForgottenLeases } from '../db/runs/processes.ts';
import type { RunTimes } from '../db/runs/run-times.ts';
import { applySessionMarks } from '../db/runs/session-runs.ts';
import type { Rule, Snapshot } from '../model/rules.ts';
import type { Events } from '../observe/events.ts';
import type { Heartbeat } from './heartbeat.ts';
import { ruleSetOf } from './rule-set.ts';
import { type EvaluateTask, TASKS_PER_THREAD, type TaskPace } from './tasks.ts';
import { AGAIN_RUNS_MAX, BATCH_RUNS_MAX, WaitingRuns } from './waiting-runs.ts';

/** Least size of a claim, per task that can run. */
const CLAIM_RUNS_MIN = 4;
/** Reports that the database did not take are kept until it is back; past this, leases run out. */
const FAILED_REPORTS_MAX = 100;
/**
 * After a claim failed, it may still be committed for so long: its runs are leased, and nobody here
 * knows. A statement whose connection is lost ends with PostgreSQL's next attempt to answer.
 */
const UNKNOWN_CLAIM_MS = 60_000;
/** Pause after session marks failed, so that claims do not wait for them every time. */
const MARKS_PAUSE_MS = 30_000;

export interface ClaimsDependencies {
  readonly database: Database;
  readonly snapshot: Snapshot;
  readonly rules: readonly Rule[];
  readonly threads: number;
  readonly heartbeat: Pick<Heartbeat, 'processId' | 'isHeard'>;
  readonly events: Pick<
    Events,
    | 'passFailed'
    | 'passWorked'
    | 'runUndecided'
    | 'runsGivenUp'
    | 'sessionMarksFailed'
    | 'sessionMarksApplied'
  >;
  /** runs that were handed out and are not settled */
  readonly underWay: () => readonly ClaimedRun[];
  /** called when a task of this pace can be taken */
  readonly onWaiting: (pace: TaskPace) => void;
}

export class Claims {
  readonly #deps: ClaimsDependencies;
  readonly #settings: RunTimes;
  readonly #turns = new ClaimTurns();
  readonly #waiting: WaitingRuns;
  /** current limit of a claim */
  #claimRunsMax: number;
  #failedReports: (() => Promise<void>)[] = [];
  #claiming: Promise<void> | null = null;
  #isOpen = false;
  /** more runs that were claimed before may be due than the last claim took */
  #hasRetries = false;
  /** runs released with a lost attempt since `takeReleased` */
  #released = 0;
  /** the database's last answer, when that was an error */
  #failure: unknown = null;
  /** until when a claim that failed may still be committed, by `performance.now()` */
  #unknownClaimUntil = 0;
  /** when session marks are applied again, by `performance.now()` */
  #marksPausedUntil = 0;

  constructor(deps: ClaimsDependencies, settings: RunTimes) {
    this.#deps = deps;
    this.#settings = settings;
    this.#waiting = new WaitingRuns(deps.threads);
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
    return this.#waiting.all;
  }

  takeReleased(): number {
    const count = this.#released;
    this.#released = 0;
    return count;
  }

  #succeed(): void {
    this.#failure = null;
    this.#deps.events.passWorked();
  }

  fail(error: unknown): void {
    this.#failure = error;
    this.#deps.events.passFailed(error);
  }

  /**
   * The next quick task; claims before the last runs are handed out.
   *
   * @returns null when nothing is due, or after `close`
   */
  async next(): Promise<EvaluateTask | null> {
    const isLow = this.#waiting.sizeOf('quick') < this.#claimRunsMax / 2;
    if (this.#isOpen && (isLow || this.#waiting.isStale)) {
      this.#claiming ??= this.#claim().finally(() => {
        this.#claiming = null;
      });
    }
    if (this.#waiting.sizeOf('quick') === 0) await this.#claiming;
    return this.#isOpen ? this.#waiting.takeQuick() : null;
  }

  /**
   * The next long run for a thread.
   * @param underWay the thread's current long tasks
   */
  nextLong(underWay: readonly EvaluateTask[]): EvaluateTask | null {
    const task = this.#isOpen ? this.#waiting.takeLong(underWay) : null;
    // Quick tasks of its workspace may have waited for this.
    if (task !== null) this.#notify('quick');
    return task;
  }

  nextApart(): EvaluateTask | null {
    const task = this.#isOpen ? this.#waiting.takeApart() : null;
    if (task !== null && this.#waiting.sizeOf('apart') === 0 && this.#hasRetries) {
      // A claim takes few of them, and is begun by a lane for quick tasks.
      this.#hasRetries = false;
      this.#deps.onWaiting('quick');
    }
    return task;
  }

  async settled(): Promise<void> {
    await this.#claiming;
  }

  putBack(task: EvaluateTask): void {
    this.#waiting.putBack(task);
    this.#notify(task.pace);
  }

  moveTo(pace: 'long' | 'apart', task: EvaluateTask): void {
    this.#waiting.moveTo(pace, task);
    this.#notify(pace);
  }

  /**
   * Counts the attempt at runs that are evaluated again.
   *
   * @returns those that are still leased; null when the database is away: nothing is claimed until the next turn
   */
  async begin(runs: readonly ClaimedRun[]): Promise<ClaimedRun[] | null> {
    try {
      return await beginAttempt(this.#deps.database, runs);
    } catch (error) {
      this.close();
      this.fail(error);
      return null;
    }
  }

  /** Requeues runs in the database; they have not lost an attempt. */
  async requeue(runs: readonly ClaimedRun[]): Promise<void> {
    await this.#report(() => requeueRuns(this.#deps.database, runs));
  }

  /** Requeues everything that waits, and the runs of `begun`, in one statement. */
  async requeueWaiting(begun: readonly ClaimedRun[] = []): Promise<void> {
    await this.requeue([...begun, ...this.#waiting.drain()]);
  }

  /** Releases an undecided run; it has lost an attempt. */
  async release(run: ClaimedRun, why: string): Promise<void> {
    this.#released += 1;
    this.#deps.events.runUndecided(why);
    await this.#report(() => releaseRun(this.#deps.database, run, why));
  }

  /** @throws the database's error */
  async giveUp(): Promise<void> {
    const count = await giveUpRuns(this.#deps.database);
    if (count > 0) this.#deps.events.runsGivenUp(count);
  }

  get #mostRuns(): number {
    return this.#deps.threads * TASKS_PER_THREAD * BATCH_RUNS_MAX;
  }

  #notify(pace: TaskPace): void {
    if (this.#waiting.sizeOf(pace) > 0) this.#deps.onWaiting(pace);
  }

  async #claim(): Promise<void> {
    const { database, threads, heartbeat } = this.#deps;
    const { processId } = heartbeat;
    const { isStale } = this.#waiting;
    const stale = isStale ? this.#waiting.drain('quick') : [];
    const least = threads * TASKS_PER_THREAD * CLAIM_RUNS_MIN;
    const wanted = isStale ? this.#claimRunsMax / 4 : this.#claimRunsMax * 2;
    const limit = Math.min(Math.max(Math.floor(wanted), least), this.#mostRuns);
    this.#claimRunsMax = limit;
    try {
      if (stale.length > 0) await this.requeue(stale);
      for (const report of this.#failedReports.splice(0)) await this.#report(report);
      await this.giveUp();
      await this.#applyMarks();
      const { settleMs, timeoutMs } = this.#settings;
      await heartbeat.isHeard();
      // Other processes may have nothing to do.
      const retries = Math.max(0, AGAIN_RUNS_MAX - this.#waiting.sizeOf('apart'));
      const settings = { settleMs, timeoutMs, limit, retries, processId };
      await this.#endForgottenLeases();
      const runs = await claimRuns(database, settings, this.#turns).catch((error: unknown) => {
        this.#unknownClaimUntil = performance.now() + UNKNOWN_CLAIM_MS;
        throw error;
      });
      this.#hasRetries = retries === 0 || runs.some(({ isRetry }) => isRetry);
      if (runs.length > 0) await this.#enqueue(runs);
      // Closed meanwhile: a worker found the database away.
      if (this.#isOpen) this.#succeed();
    } catch (error) {
      this.fail(error);
    }
    this.#notify('quick');
    this.#notify('apart');
  }

  async #endForgottenLeases(): Promise<void> {
    if (performance.now() >= this.#unknownClaimUntil) return;
    const { database, heartbeat, underWay } = this.#deps;
    await endForgottenLeases(database, heartbeat.processId, [...this.waiting, ...underWay()]);
  }

  /** Completes runs without a root. Never rejects: runs whose marks are not applied time out. */
  async #applyMarks(): Promise<void> {
    if (performance.now() < this.#marksPausedUntil) return;
    try {
      await applySessionMarks(this.#deps.database, this.#settings);
      this.#deps.events.sessionMarksApplied();
    } catch (error) {
      this.#marksPausedUntil = performance.now() + MARKS_PAUSE_MS;
      this.#deps.events.sessionMarksFailed(error);
    }
  }

  /** Joins claimed runs with the rules of their workspaces. */
  async #enqueue(runs: readonly ClaimedRun[]): Promise<void> {
    const { database, rules, snapshot } = this.#deps;
    try {
      const ids = [...new Set(runs.map(({ workspaceId }) => workspaceId))];
      const settings = await readWorkspaceSettings(database, ids);
      const workspaces = new Map(
        [...settings].map(([id, own]) => {
          const { redactExcerpts } = own;
          return [id, { ...ruleSetOf(rules, snapshot, own), redactExcerpts }];
        }),
      );
      const hasWorkspace = ({ workspaceId }: ClaimedRun): boolean => settings.has(workspaceId);
      this.#waiting.add(runs.filter(hasWorkspace), workspaces);
      for (const run of runs) {
        if (!hasWorkspace(run)) await this.release(run, 'its workspace does not exist');
      }
    } catch (error) {
      await this.requeue(runs);
      throw error;
    }
  }

  /** Reports to the database; tried again before the next claim if it is away. */
  async #report(report: () => Promise<void>): Promise<void> {
    try {
      await report();
    } catch (error) {
      if (this.#failedReports.length < FAILED_REPORTS_MAX) this.#failedReports.push(report);
      this.fail(error);
    }
  }
}
