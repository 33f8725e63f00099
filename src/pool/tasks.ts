/**
 * What the pass and its workers say to each other. Plain data: it crosses threads by structured
 * clone.
 */
import type { ClaimedRun } from '../db/evaluation-queue.ts';
import type { PrefilterTables } from '../engine/fast/prefilter-tables.ts';
import type { Rule, Severity, Snapshot } from '../model.ts';

/**
 * Quick tasks of a thread at a time: while the runs of one are matched, those of another are read or
 * stored.
 */
export const TASKS_PER_THREAD = 2;
/** Long runs of a thread at a time, beside its quick tasks. */
export const LONG_RUNS_PER_THREAD = 3;
/**
 * Database connections of a thread: one for each quick task and one for the long runs, of which one
 * large one is read at a time; the others read and store little.
 */
export const CONNECTIONS_PER_THREAD = TASKS_PER_THREAD + 1;
/** Of the spare thread, which has one run at a time. */
export const SPARE_THREAD_CONNECTIONS = 1;

/** Given to every worker when it starts. */
export interface WorkerSettings {
  readonly databaseUrl: string;
  readonly snapshot: Snapshot;
  /** every rule that can run for anyone; masks count in this order */
  readonly rules: readonly Rule[];
  /** of these rules; in shared memory, or every thread has a copy */
  readonly tables: PrefilterTables;
  readonly surfaceCapBytes: number;
  readonly excerptChars: number;
  /** CPU time that one run may take: what was found by then is kept, the rest counts as unread */
  readonly runCpuBudgetMs: number;
}

/** What a workspace's effective set is to a worker. */
export interface RuleSet {
  /** 1 where the workspace's effective set has the rule */
  readonly mask: Uint8Array;
  readonly ruleSetSha256: string;
}

/** How the runs of a workspace are evaluated. */
export interface WorkspaceRules extends RuleSet {
  /** whether the workspace redacted when its runs were claimed: then no excerpt is handed on */
  readonly redactExcerpts: boolean;
}

/**
 * quick: runs read and stored together, each for a short time; one that needs longer becomes a long one.
 * long: one run, in slices beside everything else. apart: one run that was claimed before, or failed
 * with others, alone on a thread of its own.
 */
export type TaskPace = 'quick' | 'long' | 'apart';

/** Where a thread is in a run that is tried again (trail.ts). */
export interface Trail {
  /** the group of steps that is being evaluated; shared memory, it outlives the thread */
  readonly at: Int32Array;
  /** groups over which a thread has died; they are passed over */
  readonly fatal: readonly number[];
}

/** Runs that are read together, matched one by one and stored together. */
export interface EvaluateTask {
  readonly pace: TaskPace;
  /** it is known that the run is too large to be read beside others */
  readonly isLarge: boolean;
  /** at least one */
  readonly runs: readonly ClaimedRun[];
  /** by workspace id, of every run */
  readonly workspaces: ReadonlyMap<number, WorkspaceRules>;
  /** only of a run that is tried again */
  readonly trail?: Trail;
}

/** What became of one run. */
export type RunOutcome =
  /** stored: the run is marked, with a finding of each of these severities */
  | {
      readonly kind: 'evaluated';
      readonly findings: readonly Severity[];
      readonly texts: number;
      /** its CPU time was used up before all of its steps were read */
      readonly isOverBudget: boolean;
    }
  /** there was no time for it beside the others of its task */
  | { readonly kind: 'not begun' }
  /** it takes longer than a quick task may, or is too large to be read beside others */
  | { readonly kind: 'long'; readonly isLarge: boolean }
  /** the run had gone to somebody else; nothing was stored */
  | { readonly kind: 'lost' }
  | { readonly kind: 'undecided'; readonly why: string };

/** What became of a task. */
export type TaskOutcome =
  /** of its first runs, at least one; for the others there was no room beside them */
  | { readonly kind: 'done'; readonly runs: readonly RunOutcome[] }
  /** nothing was stored; nobody knows because of which run */
  | { readonly kind: 'failed'; readonly why: string }
  /** the database was away; the runs are not to blame, and nothing was stored */
  | { readonly kind: 'unreachable'; readonly why: string };

export interface CatalogTask {
  readonly packageDir: string;
  readonly manifestPath: string;
}
