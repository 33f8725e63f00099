/**
 * The messages between the pass and its workers. Plain data, passed between threads by structured
 * clone.
 */
import type { ClaimedRun } from '../db/runs/evaluation-queue.ts';
import type { RunToRead } from '../db/runs/run-to-read.ts';
import type { PackedCounts } from '../db/telemetry/packed/store-packed.ts';
import type { PrefilterTables } from '../engine/prefilter/prefilter-tables.ts';
import type { Rule, Severity, Snapshot } from '../model/rules.ts';
import type { CheckedOutcome } from '../model/run-check.ts';
import type { MeteredRule } from './rule-meter.ts';

/**
 * Quick tasks per thread: while the runs of one are matched, the runs of the other are read or stored.
 */
export const TASKS_PER_THREAD = 2;
/** Long runs per thread, beside its quick tasks. */
export const LONG_RUNS_PER_THREAD = 3;
/** Batches of a preview per thread; they share the connection of the long runs. */
export const PREVIEWS_PER_THREAD = 1;
/**
 * Database connections per thread: one for each quick task, and one that all long runs share. At
 * most one of them is large; the others read and store little.
 */
export const CONNECTIONS_PER_THREAD = TASKS_PER_THREAD + 1;
/** Connections of the spare thread, which has one run at a time. */
export const SPARE_THREAD_CONNECTIONS = 1;

export interface WorkerSettings {
  readonly databaseUrl: string;
  /** of the read replica; null without one */
  readonly readUrl: string | null;
  readonly snapshot: Snapshot;
  /** every rule that can run for anyone; masks count in this order */
  readonly rules: readonly Rule[];
  /** of these rules; in shared memory, or every thread has a copy */
  readonly tables: PrefilterTables;
  readonly surfaceCapBytes: number;
  readonly excerptChars: number;
  /** most CPU time of a run; after that its findings so far are stored, and the rest is unread */
  readonly runCpuBudgetMs: number;
}

/** A workspace's effective rule set, as workers need it. */
export interface RuleSet {
  /** 1 where the workspace's effective set has the rule */
  readonly mask: Uint8Array;
  readonly ruleSetSha256: string;
}

/** How the runs of a workspace are evaluated. */
export interface WorkspaceRules extends RuleSet {
  /** whether the workspace redacted when its runs were claimed: then no excerpt is stored */
  readonly redactExcerpts: boolean;
}

/**
 * quick: runs read and stored together, each for a short time; one that needs longer becomes a long one.
 * long: one run, in slices beside everything else. apart: on the spare thread, a few runs whose process died with
 * them, or one that failed with others or was tried before, alone.
 */
export type TaskPace = 'quick' | 'long' | 'apart';

/** Where a thread is in a run that is retried (trail.ts). */
export interface Trail {
  /** index of the current group of steps, in shared memory, which outlives the thread */
  readonly at: Int32Array;
  /** groups that have crashed a thread; they are skipped */
  readonly fatal: readonly number[];
}

/** Runs that are read together, matched one by one and stored together. */
export interface EvaluateTask {
  readonly pace: TaskPace;
  /** the run is known to be too large to be read together with others */
  readonly isLarge: boolean;
  /** at least one */
  readonly runs: readonly ClaimedRun[];
  /** by workspace id, of every run */
  readonly workspaces: ReadonlyMap<number, WorkspaceRules>;
  readonly trail?: Trail;
}

/** Runs that a preview looks at: nothing is stored. */
export interface PreviewTask {
  /** at least one */
  readonly runs: readonly RunToRead[];
  readonly ruleIds: readonly string[];
  /** whether the runs are read from the replica */
  readonly fromReplica: boolean;
}

export type RunOutcome =
  /** stored: the run is marked, with a finding of each of these severities */
  | (CheckedOutcome & {
      readonly kind: 'evaluated';
      readonly findings: readonly Severity[];
      /** steps that were read, and surface texts that they held */
      readonly steps: number;
      readonly texts: number;
      /** these were late steps: the run was evaluated before */
      readonly isLate?: true;
    })
  /** the other runs of its task have used up the time */
  | { readonly kind: 'not begun' }
  /** it takes longer than a quick task may, or is too large to be read together with others */
  | { readonly kind: 'long'; readonly isLarge: boolean }
  /** another process has claimed the run; nothing was stored */
  | { readonly kind: 'lost' }
  | { readonly kind: 'undecided'; readonly why: string };

/** A stored block that is damaged or missing. */
export interface UnreadableBlock {
  readonly blockId: string;
  readonly why: string;
}

export type TaskOutcome =
  /** outcomes of its first runs, at least one; there was no room to read the others */
  | {
      readonly kind: 'done';
      readonly runs: readonly RunOutcome[];
      /** measurements of its thread since the last task */
      readonly costs: readonly MeteredRule[];
      readonly unreadableBlocks: readonly UnreadableBlock[];
      /** the runs that were packed; null for none */
      readonly packed: PackedCounts | null;
      /** why runs were stored without being packed */
      readonly notPacked: string | null;
      /** definitions of tools that were not kept */
      readonly refusedTools: number;
    }
  /** nothing was stored; it is unknown which run caused it */
  | { readonly kind: 'failed'; readonly why: string }
  /** the database was away; the runs are not to blame, and nothing was stored */
  | { readonly kind: 'unreachable'; readonly why: string };

export interface CatalogTask {
  readonly packageDir: string;
  readonly manifestPath: string;
}
