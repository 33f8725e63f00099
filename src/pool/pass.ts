/**
 * The pass: claims finished runs, hands them to the workers, until none is left; again after a
 * while.
 *
 *   idle ──interval──► round: give up, claim, evaluate … ──nothing left──► idle
 *
 * Rounds never overlap. Any number of processes may do this over one database: a claimed run is
 * leased, and others take other runs.
 */
import type { Database } from '../db/database.ts';
import {
  type ClaimedRun,
  type ClaimSettings,
  claimRuns,
  giveUpRuns,
  releaseRun,
} from '../db/evaluation-queue.ts';
import { readWorkspaceSettings } from '../db/rule-settings.ts';
import { decide, ruleSetDigest } from '../engine/effective-set.ts';
import { type Rule, type RuleSettings, SEVERITIES, type Snapshot } from '../model.ts';
import type { Events, PassFacts } from '../observe/events.ts';
import {
  type EvaluateOutcome,
  type EvaluateTask,
  RUNS_PER_TASK,
  TASKS_PER_THREAD,
} from './tasks.ts';
import type { Workers } from './workers.ts';

/** Without a sign of life for this long the probe says that the pass is stuck. */
const STALLED_MS = 5 * 60_000;

export interface PassSettings extends Omit<ClaimSettings, 'limit'> {
  readonly intervalMs: number;
}

export interface PassDependencies {
  readonly database: Database;
  readonly workers: Workers;
  readonly snapshot: Snapshot;
  /** every rule that can run for anyone, in the order the workers have them */
  readonly rules: readonly Rule[];
  readonly events: Pick<Events, 'passFinished' | 'passFailed' | 'runsGivenUp' | 'findingsStored'>;
}

/** The rules that can run for some workspace: the union that workers compile. */
export function runnableRules(rules: readonly Rule[]): Rule[] {
  return rules.filter(
    ({ support, status }) =>
      (support === 'as_written' || support === 'degraded') &&
      (status === 'stable' || status === 'experimental'),
  );
}

export class Pass {
  readonly #deps: PassDependencies;
  readonly #settings: PassSettings;
  #timer: NodeJS.Timeout | null = null;
  #round: Promise<PassFacts> | null = null;
  #stopping = false;
  #lastSignMs = performance.now();
  #lastFailed = false;

  constructor(deps: PassDependencies, settings: PassSettings) {
    this.#deps = deps;
    this.#settings = settings;
  }

  /** Begins rounds, the first at once. */
  start(): void {
    const turn = async (): Promise<void> => {
      await this.runOnce().catch((error: unknown) => this.#deps.events.passFailed(error));
      if (this.#stopping) return;
      this.#timer = setTimeout(() => void turn(), this.#settings.intervalMs);
    };
    void turn();
  }

  /** Ends after the tasks under way; nothing new is claimed. */
  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#round?.catch(() => {
      // The round's own caller reports it; stopping only waits for its end.
    });
  }

  /** The `pass` probe: resolves when the last round went well and the current one moves. */
  async check(): Promise<void> {
    if (this.#lastFailed) throw new Error('the last round failed');
    const silentMs = performance.now() - this.#lastSignMs;
    if (silentMs > STALLED_MS + this.#settings.intervalMs) throw new Error('no sign of life');
  }

  /** One round; the one under way if there is one. Rejects when the database is away. */
  runOnce(): Promise<PassFacts> {
    this.#round ??= this.#runRound().finally(() => {
      this.#round = null;
    });
    return this.#round;
  }

  async #runRound(): Promise<PassFacts> {
    const startedAt = performance.now();
    const total = { evaluated: 0, undecided: 0, findings: 0 };
    try {
      const givenUp = await giveUpRuns(this.#deps.database);
      if (givenUp > 0) this.#deps.events.runsGivenUp(givenUp);
      while (!this.#stopping) {
        this.#lastSignMs = performance.now();
        const tasks = await this.#claimTasks();
        if (tasks.length === 0) break;
        for (const outcome of await Promise.all(tasks.map((task) => this.#evaluate(task)))) {
          this.#add(total, outcome);
        }
      }
      this.#lastFailed = false;
    } catch (error) {
      this.#lastFailed = true;
      throw error;
    }
    const facts = { ...total, elapsedMs: Math.round(performance.now() - startedAt) };
    this.#deps.events.passFinished(facts);
    return facts;
  }

  #add(total: { evaluated: number; undecided: number; findings: number }, one: EvaluateOutcome) {
    total.evaluated += one.evaluated;
    total.undecided += one.undecided;
    for (const severity of SEVERITIES) {
      const count = one.findings[severity] ?? 0;
      total.findings += count;
      if (count > 0) this.#deps.events.findingsStored(severity, count);
    }
  }

  /** A task that fails as a whole (its worker died) gives its runs back, one by one. */
  async #evaluate(task: EvaluateTask): Promise<EvaluateOutcome> {
    try {
      return await this.#deps.workers.evaluate(task);
    } catch (error) {
      this.#deps.events.passFailed(error);
      for (const run of task.runs) {
        await releaseRun(this.#deps.database, run, 'the worker ended before it had answered');
      }
      return { evaluated: 0, undecided: task.runs.length, findings: {} };
    }
  }

  /** Claims runs and makes tasks of them, each of one workspace. */
  async #claimTasks(): Promise<EvaluateTask[]> {
    const { database, workers } = this.#deps;
    const tasksMax = workers.threads * TASKS_PER_THREAD;
    const { settleMs, timeoutMs } = this.#settings;
    const limit = tasksMax * RUNS_PER_TASK;
    const claimed = await claimRuns(database, { settleMs, timeoutMs, limit });
    if (claimed.length === 0) return [];
    const workspaceIds = [...new Set(claimed.map(({ workspaceId }) => workspaceId))];
    const settings = await readWorkspaceSettings(database, workspaceIds);
    return workspaceIds.flatMap((workspaceId) => {
      const own = settings.get(workspaceId);
      if (own === undefined) return [];
      const ruleSet = this.#ruleSetOf(own);
      const runs = claimed.filter((run) => run.workspaceId === workspaceId);
      return chunkRuns(runs).map((chunk) => ({ runs: chunk, ...ruleSet }));
    });
  }

  #ruleSetOf(settings: RuleSettings): Pick<EvaluateTask, 'mask' | 'ruleSetSha256'> {
    const { rules, snapshot } = this.#deps;
    const mask = Uint8Array.from(rules, (rule) => (decide(rule, settings).enabled ? 1 : 0));
    const ids = rules.filter((_, index) => mask[index] === 1).map(({ id }) => id);
    return { mask, ruleSetSha256: ruleSetDigest(snapshot, ids) };
  }
}

/**
 * Runs in tasks. A run that was claimed before goes alone: should it end its worker again, it takes
 * no other run's attempt with it.
 */
function chunkRuns(runs: readonly ClaimedRun[]): ClaimedRun[][] {
  const fresh = runs.filter(({ attempt }) => attempt === 1);
  const chunks = runs.filter(({ attempt }) => attempt > 1).map((run) => [run]);
  for (let first = 0; first < fresh.length; first += RUNS_PER_TASK) {
    chunks.push(fresh.slice(first, first + RUNS_PER_TASK));
  }
  return chunks;
}
