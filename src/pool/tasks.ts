/**
 * What the pass and its workers say to each other. Plain data: it crosses threads by structured
 * clone.
 */
import type { ClaimedRun } from '../db/evaluation-queue.ts';
import type { Rule, Severity, Snapshot } from '../model.ts';

/** Given to every worker when it starts. */
export interface WorkerSettings {
  readonly databaseUrl: string;
  readonly snapshot: Snapshot;
  /** every rule that can run for anyone; masks count in this order */
  readonly rules: readonly Rule[];
  readonly surfaceCapBytes: number;
  readonly excerptChars: number;
}

/** What a workspace's effective set is to a worker. */
export interface RuleSet {
  /** 1 where the workspace's effective set has the rule */
  readonly mask: Uint8Array;
  readonly ruleSetSha256: string;
}

/** One run, so that whoever dies over it takes no other run's attempt with it. */
export interface EvaluateTask extends RuleSet {
  readonly run: ClaimedRun;
  /** whether its workspace redacted when the run was claimed: then no excerpt is handed on */
  readonly redactExcerpts: boolean;
}

export type EvaluateOutcome =
  /** stored: the run is marked, with a finding of each of these severities */
  | { readonly kind: 'evaluated'; readonly findings: readonly Severity[]; readonly texts: number }
  /** the run had gone to somebody else; nothing was stored */
  | { readonly kind: 'lost' }
  | { readonly kind: 'undecided'; readonly why: string }
  /** the database was away; the run is not to blame */
  | { readonly kind: 'unreachable'; readonly why: string };

export interface CatalogTask {
  readonly packageDir: string;
  readonly manifestPath: string;
}
