/**
 * What this process has claimed and not begun, and all that it tells the database about its runs.
 *
 *   database ──claim──► waiting ──next──► a thread ──► evaluated (stored by the thread)
 *       ▲                  ▲                 │ ├─ not begun: put back
 *       │                  └─────────────────┘ └─ failed together: put back one by one
 *       └── given back, released: at once, or before the next claim when the database is away
 */
import type { Database } from '../db/database.ts';
import {
  type ClaimedRun,
  claimRuns,
  giveBackRuns,
  giveUpRuns,
  releaseRun,
} from '../db/evaluation-queue.ts';
import { readWorkspaceSettings } from '../db/rule-settings.ts';
import type { RunTimes } from '../db/run-times.ts';
import { applySessionMarks } from '../db/session-runs.ts';
import type { Rule, Snapshot } from '../model.ts';
import type { Events } from '../observe/events.ts';
import { BATCH_RUNS_MAX, toBatches } from './batches.ts';
import { ruleSetOf } from './rule-set.ts';
import { type EvaluateTask, TASKS_PER_THREAD, type WorkspaceRules } from './tasks.ts';

/** So that threads do not wait for a claim; few enough that none waits here while others are free. */
const BATCHES_PER_TASK = 2;
/** What could not be told to the database is kept until it is back; past this, leases run out. */
const OWED_MAX = 100;
/** After session marks could not be applied: so that claims do not wait for them every time. */
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
  /** there is something to take */
  readonly onWaiting: () => void;
}

export class Claims {
  readonly #deps: ClaimsDependencies;
  readonly #settings: RunTimes;
  readonly #waiting: EvaluateTask[] = [];
  #owed: (() => Promise<void>)[] = [];
  #claiming: Promise<void> | null = null;
  #isOpen = false;
  /** runs released with a lost attempt since `takeReleased` */
  #released = 0;
  /** what the database last answered with, when that was an error */
  #failure: unknown = null;
  /** when session marks are applied again, by `performance.now()` */
  #marksPausedUntil = 0;

  constructor(deps: ClaimsDependencies, settings: RunTimes) {
    this.#deps = deps;
    this.#settings = settings;
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
    return this.#waiting.flatMap(({ runs }) => runs);
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
   * The next task; claims before the last one is handed out.
   *
   * @returns null when nothing is due, or `close` was said
   */
  async next(): Promise<EvaluateTask | null> {
    if (this.#isOpen && this.#waiting.length < this.#deps.threads * TASKS_PER_THREAD) {
      this.#claiming ??= this.#claim().finally(() => {
        this.#claiming = null;
      });
    }
    if (this.#waiting.length === 0) await this.#claiming;
    return this.#isOpen ? (this.#waiting.shift() ?? null) : null;
  }

  /** Waits for a claim under way. */
  async settled(): Promise<void> {
    await this.#claiming;
  }

  /** Takes back runs of a task that were not begun; they are next. */
  putBack({ runs, workspaces }: EvaluateTask): void {
    if (runs.length > 0) this.#waiting.unshift({ runs, workspaces });
    this.#deps.onWaiting();
  }

  /** Takes back runs that failed together: each is tried alone, with the attempt it has. */
  putBackApart({ runs, workspaces }: EvaluateTask): void {
    this.#waiting.push(...runs.map((run) => ({ runs: [run], workspaces })));
    this.#deps.onWaiting();
  }

  /** Gives runs back to the database without having lost an attempt. */
  async giveBack(runs: readonly ClaimedRun[]): Promise<void> {
    await this.#settle(() => giveBackRuns(this.#deps.database, runs));
  }

  /** Gives back everything that waits, and the runs of `begun`, in one statement. */
  async giveBackWaiting(begun: readonly ClaimedRun[] = []): Promise<void> {
    const waiting = this.#waiting.splice(0).flatMap(({ runs }) => runs);
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

  async #claim(): Promise<void> {
    const { database, threads } = this.#deps;
    try {
      for (const work of this.#owed.splice(0)) await this.#settle(work);
      await this.giveUp();
      await this.#applyMarks();
      const limit = threads * TASKS_PER_THREAD * BATCHES_PER_TASK * BATCH_RUNS_MAX;
      const runs = await claimRuns(database, { ...this.#settings, limit, retries: threads });
      if (runs.length > 0) await this.#enqueue(runs);
      // Closed meanwhile: a worker found the database away.
      if (this.#isOpen) this.#failure = null;
    } catch (error) {
      this.fail(error);
    }
    if (this.#waiting.length > 0) this.#deps.onWaiting();
  }

  /** Completes runs without a root. Never fails: those of a mark that is left time out. */
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
      const known = new Map<number, WorkspaceRules>(
        [...settings].map(([id, own]) => {
          const { redactExcerpts } = own;
          return [id, { ...ruleSetOf(rules, snapshot, own), redactExcerpts }];
        }),
      );
      const [mine, lost] = [runs.filter(isOf(known)), runs.filter((run) => !isOf(known)(run))];
      for (const batch of toBatches(mine, threads * TASKS_PER_THREAD)) {
        const own = new Set(batch.map(({ workspaceId }) => workspaceId));
        const workspaces = new Map([...known].filter(([id]) => own.has(id)));
        this.#waiting.push({ runs: batch, workspaces });
      }
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

const isOf =
  (known: ReadonlyMap<number, unknown>) =>
  ({ workspaceId }: ClaimedRun): boolean =>
    known.has(workspaceId);
