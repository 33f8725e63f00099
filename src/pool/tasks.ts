/**
 * What the pass and its workers say to each other. Plain data: it crosses threads by structured
 * clone.
 */
import type { ClaimedRun } from '../db/evaluation-queue.ts';
import type { Rule, Severity, Snapshot } from '../model.ts';

/** Runs per task: enough to share one commit, few enough to keep all threads busy. */
export const RUNS_PER_TASK = 16;
/** one under evaluation, one waiting, per thread */
export const TASKS_PER_THREAD = 2;

/** Given to every worker when it starts. */
export interface WorkerSettings {
  readonly databaseUrl: string;
  readonly snapshot: Snapshot;
  /** every rule that can run for anyone; masks count in this order */
  readonly rules: readonly Rule[];
  readonly surfaceCapBytes: number;
  readonly excerptChars: number;
}

/** Runs of one workspace, to be evaluated with one rule set. */
export interface EvaluateTask {
  readonly runs: readonly ClaimedRun[];
  /** 1 where the workspace's effective set has the rule */
  readonly mask: Uint8Array;
  readonly ruleSetSha256: string;
}

export interface EvaluateOutcome {
  readonly evaluated: number;
  readonly undecided: number;
  readonly findings: Partial<Record<Severity, number>>;
}

export interface CatalogTask {
  readonly packageDir: string;
  readonly manifestPath: string;
}
