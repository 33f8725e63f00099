/** Findings: as the engine creates them, as they are read back, and the filter of a list. */
import type { Hex8, Hex16 } from './json.ts';
import type { Category, RuleStatus, Severity } from './rules.ts';
import type { Surface } from './steps.ts';

/** A finding before it is stored: one rule that matched one run. */
export interface FindingDraft {
  readonly ruleId: string;
  readonly ruleVersion: string;
  readonly ruleStatus: RuleStatus;
  readonly severity: Severity;
  readonly category: Category;
  readonly subcategory: string | null;
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
  readonly excerpt: string;
  readonly recommendedActions: readonly string[];
}

/** A finding as it is read back. */
export interface Finding extends Omit<FindingDraft, 'excerpt' | 'stepName' | 'stepNameMatched'> {
  readonly id: Hex16;
  readonly createdAt: Date;
  readonly runId: Hex16;
  readonly corpusVersion: string;
  /** null if it contains matched text and the workspace redacts, or in exports */
  readonly stepName: string | null;
  /** null when the workspace redacts excerpts, or has done so at any time since the finding */
  readonly excerpt: string | null;
}

/** Which findings a list has; undefined members do not narrow it. */
export interface FindingFilter {
  readonly severity?: Severity | undefined;
  readonly category?: Category | undefined;
  readonly ruleId?: string | undefined;
  /** any of these; an empty list matches nothing */
  readonly ruleIds?: readonly string[] | undefined;
  readonly runId?: Hex16 | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}
