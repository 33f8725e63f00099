/** Exceptions: which findings of a rule are expected, why, and until when. */

/** Scopes of exceptions, the narrowest first; `match` is all of the others together. */
export const EXCEPTION_SCOPES = ['match', 'text', 'tool', 'agent', 'service'] as const;
export type ExceptionScope = (typeof EXCEPTION_SCOPES)[number];

/** For how many days an exception can be made. */
export const EXCEPTION_DAYS_DEFAULT = 30;
export const EXCEPTION_DAYS_MAX = 365;
/** Most characters of a reason. */
export const REASON_CHARS_MAX = 500;

/** How many of a rule's newest findings an exception hides. */
export interface Hidden {
  readonly count: number;
  /** when the newest of them was found; null when there is none */
  readonly last: Date | null;
  /** the rule has more findings than were looked at: `count` is the least */
  readonly isCut: boolean;
}

export interface FindingException {
  readonly id: number;
  readonly ruleId: string;
  readonly scope: ExceptionScope;
  /** of the agent, service or tool; null for `match` and exact text */
  readonly name: string | null;
  /** of `match`: what a finding has to have beside the text; null for none, and of other scopes */
  readonly agent?: string | null;
  readonly service?: string | null;
  readonly tool?: string | null;
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

/** A scope that a finding offers for an exception. */
export interface ExceptionChoice {
  readonly scope: ExceptionScope;
  /** null for `match` and exact text */
  readonly name: string | null;
  readonly hidden: Hidden;
  /** how many of the hidden findings are of other agents */
  readonly ofOtherAgents: number;
}

/** An exception to be made from a finding. */
export interface NewException {
  readonly scope: ExceptionScope;
  readonly reason: string;
  readonly days: number;
}
