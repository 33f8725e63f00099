/**
 * What the pass and its workers say to each other. Plain data: it crosses threads by structured
 * clone.
 */
import type { ClaimedRun } from '../db/evaluation-queue.ts';
import type { PrefilterTables } from '../engine/fast/prefilter-tables.ts';
import type { Rule, Severity, Snapshot } from '../model.ts';

/**
 * Tasks of a thread at a time, each over a database connection of its own: while the runs of one
 * are matched, those of another are read or stored.
 */
export const TASKS_PER_THREAD = 2;

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

/** Runs that are read together, matched one by one and stored together. */
export interface EvaluateTask {
  /** at least one */
  readonly runs: readonly ClaimedRun[];
  /** by workspace id, of every run */
  readonly workspaces: ReadonlyMap<number, WorkspaceRules>;
}

/** What became of one run. */
export type RunOutcome =
  /** stored: the run is marked, with a finding of each of these severities */
  | { readonly kind: 'evaluated'; readonly findings: readonly Severity[]; readonly texts: number }
  /** the run had gone to somebody else; nothing was stored */
  | { readonly kind: 'lost' }
  | { readonly kind: 'undecided'; readonly why: string };

/** What became of a task. */
export type TaskOutcome =
  /** of its first runs, at least one; the others were too large beside them and not begun */
  | { readonly kind: 'done'; readonly runs: readonly RunOutcome[] }
  /** nothing was stored; nobody knows because of which run */
  | { readonly kind: 'failed'; readonly why: string }
  /** the database was away; the runs are not to blame, and nothing was stored */
  | { readonly kind: 'unreachable'; readonly why: string };

export interface CatalogTask {
  readonly packageDir: string;
  readonly manifestPath: string;
}
