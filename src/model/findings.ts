/** Findings: as the engine creates them, as they are read back, and the filter of a list. */
import type { Hex8, Hex16, Int64 } from './json.ts';
import type { Category, RuleStatus, Severity } from './rules.ts';
import type { NamesOfRun, RunName, RunNames } from './runs.ts';
import type { Step, Surface } from './steps.ts';
import type { FindingState, TriageMark } from './triage.ts';

/** Part of a text, in UTF-16 units, end exclusive. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** Where in its run a rule matched. Contains no text. */
export interface FindingPlace {
  /** number of the step on the pages of the run when it was evaluated, from 1 */
  readonly step: number;
  readonly source: Step['source'];
  readonly startUnixNano: Int64;
  /** of an output of a step with further steps in it: its text was written after theirs */
  readonly endUnixNano?: Int64;
  /** the UTC day of the step's arrival (retention removes whole days); absent in scans */
  readonly arrivedOn?: string | undefined;
  /** number of steps before it with its source, start, span id and day of arrival */
  readonly twin: number;
  /** index of the text among the texts of the step */
  readonly text: number;
  /** the match in that text, as it was written */
  readonly match: TextRange;
  /** the match in the excerpt; of a match longer than the excerpt, its beginning */
  readonly inExcerpt: TextRange;
  /** digests of the run's step names that contain matched text: redacted names are hidden by them */
  readonly nameDigests: readonly string[];
}

/** Most places of a rule in a run after the first one; one more stands for the rest. */
export const MORE_PLACES_MAX = 20;

export interface MatchedPlace {
  readonly description: string;
  readonly conditionIndex: number;
  readonly conditionDescription: string;
  readonly field: string;
  readonly surface: Surface;
  /** null when the step is a log record that names no span */
  readonly stepSpanId: Hex8 | null;
  readonly stepName: string;
  /** the name contains matched text: it is redacted like the excerpt and never exported */
  readonly stepNameMatched: boolean;
  /**
   * of the call that the step is, if it has one; null if it contains matched text of another surface
   */
  readonly toolName: string | null;
  readonly excerpt: string;
  /** SHA-256 of the matched text, folded: 64 hexadecimal digits. Stored under a key only. */
  readonly matchSha256: string;
  readonly place: FindingPlace;
}

/** A distinct match after the first: of another text, or on another surface or in another tool. */
export interface FurtherPlace extends MatchedPlace {
  /** it stands for the matches that were not kept: no exception of a text or a tool covers it */
  readonly isRest: boolean;
}

/** A finding before it is stored: one rule that matched one run, with its first match. */
export interface FindingDraft extends MatchedPlace {
  readonly ruleId: string;
  readonly ruleVersion: string;
  readonly ruleStatus: RuleStatus;
  readonly severity: Severity;
  readonly category: Category;
  readonly subcategory: string | null;
  readonly recommendedActions: readonly string[];
  /** absent when there are none */
  readonly morePlaces?: readonly FurtherPlace[];
}

/** A finding as it is read back, with the names of its run when it was evaluated, and what people decided by then. */
export interface Finding
  extends Omit<
      FindingDraft,
      'excerpt' | 'stepName' | 'stepNameMatched' | 'toolName' | 'matchSha256' | 'morePlaces'
    >,
    NamesOfRun,
    TriageMark {
  readonly id: Hex16;
  readonly createdAt: Date;
  readonly runId: Hex16;
  readonly corpusVersion: string;
  readonly corpusIdentity: string;
  /** null if it contains matched text and the workspace redacts, or in exports */
  readonly stepName: string | null;
  /** null if it is unknown, or redacted or exported and matched text */
  readonly toolName: string | null;
  /** null when the workspace redacts excerpts, or has done so at any time since the finding */
  readonly excerpt: string | null;
  /**
   * further distinct matches of the rule in the run; null when there is none. The finding shows the first
   * match, or the first one that no exception covers where only some are covered.
   */
  readonly others?: OtherMatches | null;
}

export interface OtherMatches {
  readonly count: number;
  /** there are more than are kept: no exception for a text or a tool covers them all */
  readonly isCut: boolean;
  /** an exception covers the first match, but not the one that is shown */
  readonly isPartlyExcepted: boolean;
}

/**
 * Which findings a list has; undefined members do not narrow it. A name is contained, in any case, in the name that
 * the finding has; in double quotes, it is the whole name.
 */
export interface FindingFilter extends Readonly<Partial<Record<RunName, string | undefined>>> {
  readonly severity?: Severity | undefined;
  readonly category?: Category | undefined;
  readonly ruleId?: string | undefined;
  readonly ruleIds?: readonly string[] | undefined;
  /** its words, in the rule's id, title or category; or all of it in an excerpt that is not redacted */
  readonly search?: string | undefined;
  readonly surface?: Surface | undefined;
  /** repetitions of this finding: its rule, its agent or else its service, and its matched text */
  readonly sameAs?: Hex16 | undefined;
  readonly states?: readonly FindingState[] | undefined;
  /** e-mail address of the user that it is assigned to; null for nobody */
  readonly assignee?: string | null | undefined;
  readonly isExcepted?: boolean | undefined;
  readonly runId?: Hex16 | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/** The order of a list of findings; `count` is for groups, and `newest` for single findings. */
export const FINDING_ORDERS = ['newest', 'oldest', 'severity', 'count'] as const;
export type FindingOrder = (typeof FINDING_ORDERS)[number];

export interface FindingTotal {
  readonly count: number;
  /** false: there may be more */
  readonly isExact: boolean;
  /** the counted findings where the count is partial: so many, the newest or the latest decided */
  readonly within: { readonly count: number; readonly by: 'newest' | 'decided' } | null;
}

/** run: of one run. match: repetitions, as `FindingFilter.sameAs`. */
export const FINDING_GROUPINGS = ['run', 'match'] as const;
export type FindingGrouping = (typeof FINDING_GROUPINGS)[number];

export const GROUP_DAYS = 14;

export interface FindingGroup {
  /** the most severe of a run, or the newest of its repetitions */
  readonly top: Finding;
  readonly findings: number;
  readonly rules: number;
  readonly runs: number;
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
  /** findings of each of the last `GROUP_DAYS` UTC days, today last, of those that were read */
  readonly days: readonly number[];
  readonly severities: Readonly<Partial<Record<Severity, number>>>;
}

/** The findings before and after one in a list; null at its ends. */
export interface FindingNeighbours {
  readonly previous: Hex16 | null;
  readonly next: Hex16 | null;
}

/** Names that findings have, the most frequent first: what the filters of the list suggest. */
export interface FindingNames extends RunNames {
  /** e-mail addresses of users that findings are assigned to, in order */
  readonly assignees: readonly string[];
}

/** A rule's findings of the last thirty days; only the latest 10,000 are counted. */
export interface RuleRecord {
  readonly findings: number;
  /** of them, those whose state is false positive */
  readonly falsePositives: number;
  /** the newest of all its findings */
  readonly lastSeenAt: Date | null;
  /** of the time that this server's threads matched rules, 0 to 1; null where nothing was measured */
  readonly matcherShare: number | null;
  /** mean time of one search for the rule, in microseconds */
  readonly matcherUs: number | null;
}

export const NO_RECORD: RuleRecord = {
  findings: 0,
  falsePositives: 0,
  lastSeenAt: null,
  matcherShare: null,
  matcherUs: null,
};

export const FINDING_VIEWS_MAX = 20;
export const VIEW_QUERY_CHARS_MAX = 2000;

export interface FindingView {
  readonly id: number;
  readonly name: string;
  /** of the list's address, without its `?` */
  readonly query: string;
  /** of everybody in the workspace, not only of the member who sees it */
  readonly isShared: boolean;
  /** the list begins with it, for this member */
  readonly isDefault: boolean;
  readonly isEditable: boolean;
}

export interface NewFindingView {
  readonly name: string;
  readonly query: string;
  readonly isShared: boolean;
  readonly isDefault: boolean;
}
