/** Exceptions: which findings of a rule are expected, why, and until when. */

/** The parts of a match that an exception can demand; all together are the narrowest exception. */
export const EXCEPTION_PARTS = ['text', 'tool', 'agent', 'service'] as const;
export type ExceptionPart = (typeof EXCEPTION_PARTS)[number];

/** The matches that an exception covers: those that have all of its parts. */
export interface ExceptionCoverage {
  /** the matched words, which are stored as a digest */
  readonly text: boolean;
  /** null: any; empty: the step has none */
  readonly tool: string | null;
  /** null: any; empty: the run has none */
  readonly agent: string | null;
  readonly service: string | null;
}

export const EXCEPTION_DAYS_DEFAULT = 30;
export const EXCEPTION_DAYS_MAX = 365;
export const REASON_CHARS_MAX = 500;

export interface Hidden {
  readonly count: number;
  /** when the newest of them was found; null when there is none */
  readonly last: Date | null;
  /** the rule has more findings than were looked at: `count` is the least */
  readonly isCut: boolean;
}

export interface FindingException extends ExceptionCoverage {
  readonly id: number;
  readonly ruleId: string;
  readonly reason: string;
  /** e-mail address at that time */
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** null unless it was ended before it expired */
  readonly endedAt: Date | null;
  readonly endedBy: string | null;
  /** neither ended nor expired, by PostgreSQL's clock */
  readonly isActive: boolean;
  readonly hidden: Hidden;
}

export interface ExceptionChoice {
  readonly parts: readonly ExceptionPart[];
  readonly hidden: Hidden;
  /** how many of the hidden findings are of other agents */
  readonly ofOtherAgents: number;
}

export interface ExceptionOffer {
  /** its parts; one that is null is not offered */
  readonly coverage: ExceptionCoverage;
  /** every combination that can be made, the narrowest first; none if there is nothing to compare */
  readonly choices: readonly ExceptionChoice[];
}

export interface NewException {
  readonly parts: readonly ExceptionPart[];
  readonly reason: string;
  readonly days: number;
}
