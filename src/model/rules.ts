/** Rules of the pinned corpus as this engine classifies them, and a workspace's settings. */
import type { JsonValue } from './json.ts';
import type { ReferenceIndex } from './references/rule-references.ts';
import type { Surface } from './steps.ts';

export const CATEGORIES = [
  'prompt-injection',
  'context-exfiltration',
  'tool-poisoning',
  'agent-manipulation',
  'privilege-escalation',
  'skill-compromise',
  'model-abuse',
  'excessive-autonomy',
  'data-poisoning',
  'model-security',
] as const;
export type Category = (typeof CATEGORIES)[number];

export const RULE_STATUSES = ['stable', 'experimental', 'draft', 'deprecated'] as const;
export type RuleStatus = (typeof RULE_STATUSES)[number];

/** How far the corpus's authors have tested a rule. It decides nothing here; `status` does. */
export const MATURITIES = ['stable', 'test', 'experimental', 'draft', 'deprecated'] as const;
export type Maturity = (typeof MATURITIES)[number];

export const SEVERITIES = ['critical', 'high', 'medium', 'low', 'informational'] as const;
export type Severity = (typeof SEVERITIES)[number];

export const SUPPORTS = ['as_written', 'degraded', 'unsupported', 'fails_own_examples'] as const;
export type Support = (typeof SUPPORTS)[number];

export const SUPPORT_LABELS: Readonly<Record<Support, string>> = {
  as_written: 'Fully supported',
  degraded: 'Partly supported',
  unsupported: 'Not supported',
  fails_own_examples: 'Fails its own tests',
};

/** Reasons that decide whether a rule runs, in the order of evaluation. */
export type DecidedBy = 'support' | 'own_examples' | 'tier' | 'override';

/** The state of a rule in one workspace. Every rule is in exactly one; it runs in the first two. */
export const RULE_STATES = [
  'as_written',
  'degraded',
  'off_by_tier',
  'off_by_override',
  'unsupported',
  'draft_or_deprecated',
  'fails_own_examples',
] as const;
export type RuleState = (typeof RULE_STATES)[number];

export const STATE_LABELS: Readonly<Record<RuleState, string>> = {
  as_written: 'On, fully supported',
  degraded: 'On, partly supported',
  off_by_tier: 'Off, experimental tier',
  off_by_override: 'Off, set manually',
  unsupported: 'Not supported',
  draft_or_deprecated: 'Draft or deprecated',
  fails_own_examples: 'Fails its own tests',
};

export function canRun(state: RuleState): boolean {
  return ['as_written', 'degraded', 'off_by_tier', 'off_by_override'].includes(state);
}

/** Rules of a workspace by state; they add up to all rules of the snapshot. */
export type StateCounts = Readonly<Record<RuleState, number>>;

export function runningRules({ as_written, degraded }: StateCounts): number {
  return as_written + degraded;
}

export function allRules(counts: StateCounts | SupportCounts): number {
  return Object.values(counts).reduce((all, count) => all + count, 0);
}

/** The examples that a rule's authors ship with it, and which of them fail here. */
export interface OwnExamples {
  readonly truePositives: number;
  readonly trueNegatives: number;
  readonly failed: readonly FailedExample[];
}

type ExampleCounts = Pick<OwnExamples, 'truePositives' | 'trueNegatives'>;

/** Checks whether a rule ships no example: then it has passed none, and never runs. */
export const hasNoExamples = ({ truePositives, trueNegatives }: ExampleCounts): boolean =>
  truePositives + trueNegatives === 0;

/** Completes a sentence that begins with a rule: it fails its own examples, or has none. */
export function exampleFailure({
  failed,
  ...counts
}: ExampleCounts & { readonly failed: readonly unknown[] }): string {
  if (hasNoExamples(counts)) return 'ships no test cases, so it has passed none';
  const cases = counts.truePositives + counts.trueNegatives;
  return `fails ${failed.length} of its ${cases} test cases`;
}

/** Why a rule cannot run in any workspace (409), in words for the user. */
export interface RuleRefusal {
  readonly reason: 'engine_unsupported' | 'fails_own_examples' | 'status_refused';
  readonly detail: string;
}

/** Why an override has no effect: the rule cannot run, or the snapshot does not have it. */
export type OrphanReason = RuleRefusal['reason'] | 'not_in_snapshot';

/** An override without effect: of a rule that cannot run, or that the snapshot does not have. */
export interface OrphanedOverride {
  readonly ruleId: string;
  readonly enabled: boolean;
  readonly reason: OrphanReason;
  readonly detail: string;
}

/** Why a condition, or a whole rule, cannot run on this engine. */
export interface UnsupportedReason {
  readonly code: string;
  readonly message: string;
}

export interface RuleCondition {
  readonly index: number;
  readonly field: string;
  /** the surfaces whose text the field names; empty when there is none */
  readonly surfaces: readonly Surface[];
  readonly operator: string;
  readonly pattern: string;
  readonly description: string;
  readonly supported: boolean;
  readonly reason: UnsupportedReason | null;
}

export interface FailedExample {
  readonly kind: 'true_positive' | 'true_negative';
  readonly index: number;
  readonly why: string;
}

/** Texts, and how many of them a rule finds. */
export interface Measured {
  readonly texts: number;
  readonly found: number;
}

/** The quality of a rule as its authors state it; null where they state nothing. Does not decide whether it runs. */
export interface StatedQuality {
  readonly maturity: Maturity | null;
  /** 0 to 100 */
  readonly confidence: number | null;
  /** how many of 100 harmless documents the rule matched */
  readonly wildFpRate: number | null;
  /** how many documents it was tried on */
  readonly wildSamples: number | null;
  /** the day on which it was tried, YYYY-MM-DD or as written */
  readonly wildValidated: string | null;
  /** sentences about harmless texts that may match */
  readonly falsePositives: readonly string[];
}

/** One rule of the snapshot, classified for this engine. Plain data: it crosses threads. */
export interface Rule {
  readonly id: string;
  readonly title: string;
  readonly version: string;
  readonly status: RuleStatus;
  readonly severity: Severity;
  readonly category: Category;
  readonly subcategory: string | null;
  readonly description: string;
  readonly author: string;
  readonly date: string;
  readonly references: JsonValue;
  readonly condition: 'any' | 'all';
  readonly conditions: readonly RuleCondition[];
  /** whether a condition does not count whose first match begins in code */
  readonly suppressInCodeBlocks: boolean;
  readonly support: Support;
  readonly unsupportedReasons: readonly UnsupportedReason[];
  readonly ownExamples: OwnExamples;
  /** the author's other texts, tried on a rule that runs; none of them decides anything */
  readonly measured: {
    /** disguised attacks that the author says the rule finds */
    readonly caughtEvasions: Measured;
    /** disguised attacks that the author says it does not find */
    readonly otherEvasions: Measured;
    /** the author's descriptions of harmless texts that may match */
    readonly falsePositives: Measured;
  };
  readonly quality: StatedQuality;
  readonly recommendedActions: readonly string[];
  /** the rule's file inside the package, as the manifest names it */
  readonly file: string;
}

/** The pinned corpus, as every finding and every rules list names it. */
export interface Snapshot {
  readonly version: string;
  readonly date: string;
  readonly files: number;
  /** digest over all file digests */
  readonly sha256: string;
  /** 40 hexadecimal digits for package and manifest together, as a commit id (corpus.ts) */
  readonly identity: string;
}

/** The short form of a corpus's identity, as people read it. */
export function shortIdentity(identity: string): string {
  return identity.slice(0, SHORT_IDENTITY_CHARS);
}
const SHORT_IDENTITY_CHARS = 12;

export type SupportCounts = Readonly<Record<Support, number>>;

export interface RuleSettings {
  readonly experimental: boolean;
  /** rule id → switched on or off */
  readonly overrides: ReadonlyMap<string, boolean>;
}

export interface RuleBook {
  readonly snapshot: Snapshot;
  readonly rules: readonly Rule[];
  /** null when the snapshot has no such rule */
  readonly find: (ruleId: string) => Rule | null;
  /** the title of a rule; its id when the snapshot has no such rule */
  readonly titleOf: (ruleId: string) => string;
  /** rules about descriptions of tools with a pattern that matches this one; they never run */
  readonly describedBy: (description: string) => readonly Rule[];
  readonly references: ReferenceIndex;
  /** of the corpus itself, the same for every workspace */
  readonly counts: SupportCounts;
  readonly decide: (
    rule: Rule,
    settings: RuleSettings,
  ) => { readonly enabled: boolean; readonly decidedBy: DecidedBy; readonly state: RuleState };
  /** why a rule cannot run, and so not be overridden; null when it can */
  readonly refusal: (rule: Rule) => RuleRefusal | null;
  readonly countStates: (settings: RuleSettings) => StateCounts;
  /** the overrides that have no effect, by rule id */
  readonly orphans: (settings: RuleSettings) => readonly OrphanedOverride[];
}
