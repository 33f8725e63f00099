/** Rules of the pinned corpus as this engine classifies them, and a workspace's settings. */
import type { JsonValue } from './json.ts';
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

export const SEVERITIES = ['critical', 'high', 'medium', 'low', 'informational'] as const;
export type Severity = (typeof SEVERITIES)[number];

export const SUPPORTS = ['as_written', 'degraded', 'unsupported', 'fails_own_examples'] as const;
export type Support = (typeof SUPPORTS)[number];

/** What decided whether a rule runs, in the order of evaluation. */
export type DecidedBy = 'support' | 'own_examples' | 'tier' | 'override';

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
  readonly support: Support;
  readonly unsupportedReasons: readonly UnsupportedReason[];
  readonly ownExamples: {
    readonly truePositives: number;
    readonly trueNegatives: number;
    readonly failed: readonly FailedExample[];
  };
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
}

export type SupportCounts = Readonly<Record<Support, number>>;

/** The settings of one workspace. */
export interface RuleSettings {
  readonly experimental: boolean;
  /** rule id → switched on or off */
  readonly overrides: ReadonlyMap<string, boolean>;
}
