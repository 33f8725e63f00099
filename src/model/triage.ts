/** Triage: what people decided about a finding. It never changes the finding itself. */
import type { Hex16, Int64 } from './json.ts';

/** The states of a finding; it begins as new. */
export const FINDING_STATES = [
  'new',
  'acknowledged',
  'confirmed',
  'false_positive',
  'closed',
] as const;
export type FindingState = (typeof FINDING_STATES)[number];

/** States of findings that still need somebody: lists show only these by default. */
export const OPEN_STATES: readonly FindingState[] = ['new', 'acknowledged', 'confirmed'];

/** The states that a list of findings can show: open ones that no exception covers, one state, or others. */
export const LIST_STATES = ['open', ...FINDING_STATES, 'excepted', 'all'] as const;

export const NOTE_CHARS_MAX = 2000;
export const NOTES_MAX = 100;
export const TRIAGE_FINDINGS_MAX = 200;
/** Most findings of groups that are changed at a time, `TRIAGE_FINDINGS_MAX` by one change. */
export const GROUP_FINDINGS_MAX = 1000;

export interface Assignee {
  readonly userId: number;
  readonly email: string;
  readonly displayName: string;
  /** false for a former member of the workspace */
  readonly isMember: boolean;
}

export interface HistoryEntry {
  readonly id: Int64;
  readonly at: Date;
  /** e-mail address at that time */
  readonly actor: string;
  readonly kind: 'state' | 'assignee' | 'note';
  /** a state, or an assignee's e-mail address (null for nobody); null for a note */
  readonly before: string | null;
  /** as `before`; of a note, its text */
  readonly after: string | null;
}

export interface Triage {
  readonly state: FindingState;
  readonly assignee: Assignee | null;
  readonly history: readonly HistoryEntry[];
}

export interface TriageMark {
  readonly state: FindingState;
  /** e-mail address; null when nobody is assigned */
  readonly assignee: string | null;
  readonly isExcepted: boolean;
}

/** A change of one or more findings; undefined members change nothing. */
export interface TriageChange {
  readonly ids: readonly Hex16[];
  readonly state?: FindingState | undefined;
  /** null for nobody */
  readonly assigneeId?: number | null | undefined;
  readonly note?: string | undefined;
}
