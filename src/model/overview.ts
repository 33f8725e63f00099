/** The overview of a workspace: what arrived, was found and waits, by hour and day, and what is new. Plain data. */
import type { Category, Severity } from './rules.ts';

export interface HourCounts {
  readonly runs: number;
  readonly steps: number;
  /** not evaluated yet: nothing below counts them */
  readonly open: number;
  /** nothing but tool names could be checked, or nothing at all */
  readonly withoutText: number;
  readonly failedEvaluations: number;
  /** from the last step's arrival to the evaluation; null when none was evaluated */
  readonly lagMs: { readonly mean: number; readonly most: number } | null;
}

export interface KindCount {
  readonly severity: Severity;
  readonly category: Category;
  readonly findings: number;
}

export interface NamedCount {
  readonly by: 'agent' | 'service' | 'rule';
  readonly name: string;
  readonly findings: number;
}

/** An hour or a day by its beginning; `counts` is null where nothing was counted yet. */
export interface Slot<Counts> {
  readonly atMs: number;
  readonly counts: Counts | null;
}

export interface WorkspaceOverview {
  /** the last 24 hours (UTC), oldest first, none left out */
  readonly hours: readonly Slot<HourCounts>[];
  /** the last 14 days (UTC), oldest first, none left out */
  readonly days: readonly Slot<readonly KindCount[]>[];
  /** of the same days, the agents, services and rules with most findings, most first */
  readonly top: readonly NamedCount[];
  readonly runs: {
    /** whether anything has arrived */
    readonly any: boolean;
    /** finished and waiting for the pass */
    readonly waiting: number;
    /** there are more than `waiting` */
    readonly moreWait: boolean;
    /** when the last step of the longest waiting run arrived */
    readonly oldestWaitingMs: number | null;
  };
}

/** A number of findings; `more`: at least this many. */
export interface CountedFindings {
  readonly findings: number;
  readonly more: boolean;
}

/** A member's new and assigned findings, as lists show them by default. */
export interface OverviewVisit {
  /** end of the previous visit; null on the first visit */
  readonly since: Date | null;
  /** stored since then; null on the first visit */
  readonly newFindings: CountedFindings | null;
  readonly assigned: CountedFindings & {
    /** findings that someone else assigned since then */
    readonly new: number;
  };
}

export interface ReplicaState {
  readonly isUsed: boolean;
  /** most milliseconds by which it is behind, or since that was known */
  readonly lagMs: number;
}
