/**
 * The vocabulary every room shares: plain data, no behaviour, nothing imported.
 *
 * Words mean what `ARCHITECTURE.md` says they mean (workspace, run, step, surface, rule, finding,
 * pass). OpenTelemetry's own names are kept for what comes from OpenTelemetry.
 */
import type { Hex8, Hex16, Int64, JsonObject, JsonValue } from './model/json.ts';

export * from './model/json.ts';
export * from './model/people.ts';
export * from './model/telemetry.ts';

// ── Runs and steps ───────────────────────────────────────────────────────────────────────────

export const RUN_STATES = ['running', 'completed', 'failed', 'timed_out'] as const;
export type RunState = (typeof RUN_STATES)[number];

/** Whether a run's text was matched against the rules; `evaluation_failed` after the last attempt. */
export const EVALUATION_STATES = ['pending', 'evaluated', 'evaluation_failed'] as const;
export type EvaluationState = (typeof EVALUATION_STATES)[number];

/** Names one run of one workspace. */
export interface RunRef {
  readonly workspaceId: number;
  readonly runId: Hex16;
}

export interface SpanEvent {
  readonly name: string;
  readonly attributes: JsonObject;
}

/**
 * One step as it is read back for evaluation: a span, or a log record carrying the run's trace id.
 * Attribute values are in the stored form of `src/otlp/any-value.ts`.
 */
export interface Step {
  readonly source: 'span' | 'log';
  /** the span's id, or for a log record the id of the span it belongs to, if it names one */
  readonly spanId: Hex8 | null;
  readonly parentSpanId: Hex8 | null;
  /** span name, or the log record's event name */
  readonly name: string;
  readonly startUnixNano: Int64;
  readonly endUnixNano: Int64;
  readonly statusCode: number;
  readonly statusMessage: string;
  readonly scopeName: string;
  readonly serviceName: string | null;
  readonly attributes: JsonObject;
  readonly events: readonly SpanEvent[];
  /** log body; null for spans */
  readonly body: JsonValue;
  /** attributes and events that the sender says it left out */
  readonly dropped: number;
  /** the span above belongs to another process (OTLP `Span.flags`, bits 8 and 9) */
  readonly hasRemoteParent: boolean;
}

/** Why not all of a run's text is here, as far as its sender says. */
export type TextGap =
  /** past the sender's limits on attributes or events */
  | 'dropped_by_sender'
  /** past the sender's limit on a value's length */
  | 'cut_by_sender'
  /** replaced by a mark: the instrumentation is not set to send text */
  | 'withheld_by_sender'
  /** kept in a store of the sender's */
  | 'stored_elsewhere';

/** What a run's steps say about the run itself. Names are as sent, cut to 256 characters. */
export interface RunFacts {
  readonly state: RunState;
  readonly agentName: string | null;
  readonly model: string | null;
  readonly sessionId: string | null;
  readonly userId: string | null;
  readonly textGaps: readonly TextGap[];
}

// ── Surfaces ─────────────────────────────────────────────────────────────────────────────────

export const SURFACES = [
  'step_input',
  'tool_args',
  'tool_result',
  'step_output',
  'query_text',
  'agent_output',
  'tool_name',
] as const;
export type Surface = (typeof SURFACES)[number];

/** One piece of a step's text, where it stands. */
export interface SurfaceText {
  /** index into the run's steps */
  readonly step: number;
  readonly surface: Surface;
  readonly text: string;
}

/**
 * What a step is, where that decides on which surface its text stands. `duplicate` is a step that
 * another one repeats in full: it is not read at all.
 */
export type StepKind =
  | 'tool'
  | 'llm'
  | 'agent'
  | 'chain'
  | 'retriever'
  | 'embedding'
  | 'duplicate'
  | 'other';

/** How much text a step told on one surface. */
export interface SurfaceSize {
  readonly surface: Surface;
  readonly texts: number;
  /** in UTF-8 */
  readonly bytes: number;
}

export interface StepOutline {
  readonly source: Step['source'];
  /** null where the workspace redacts and a rule matched it */
  readonly name: string | null;
  readonly kind: StepKind;
  readonly spanId: Hex8 | null;
  readonly parentSpanId: Hex8 | null;
  readonly serviceName: string | null;
  readonly startUnixNano: Int64;
  readonly endUnixNano: Int64;
  /** OTLP `Status.code`: 0 unset, 1 ok, 2 error */
  readonly statusCode: number;
  /** in telling order; empty when the step told nothing */
  readonly surfaces: readonly SurfaceSize[];
  /**
   * the step was too large to be read whole: name, texts and sizes are those of the part that was
   * read
   */
  readonly isCut: boolean;
}

// ── Rules ────────────────────────────────────────────────────────────────────────────────────

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

/** What decided whether a rule runs, in the order in which it is asked. */
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

/** What one workspace has decided about the rules. */
export interface RuleSettings {
  readonly experimental: boolean;
  /** rule id → switched on or off */
  readonly overrides: ReadonlyMap<string, boolean>;
}

// ── Findings ─────────────────────────────────────────────────────────────────────────────────

/** A finding before it has an identity: what one rule said about one run. */
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

/** Which findings a list holds; what is undefined does not narrow it. */
export interface FindingFilter {
  readonly severity?: Severity | undefined;
  readonly category?: Category | undefined;
  readonly ruleId?: string | undefined;
  /** one of these; none of them: nothing */
  readonly ruleIds?: readonly string[] | undefined;
  readonly runId?: Hex16 | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/** Where the next page of a list begins: after the finding or run with this time and id. */
export interface PageCursor {
  /** microseconds since 1970, so that no two times of the database are mixed up */
  readonly atMicros: string;
  readonly id: Hex16;
}

/** A run as people see it. What its steps say about it is null until it is evaluated. */
export interface RunSummary {
  readonly runId: Hex16;
  readonly state: RunState;
  readonly evaluation: EvaluationState;
  /** of its root span */
  readonly name: string | null;
  readonly serviceName: string | null;
  readonly agentName: string | null;
  readonly model: string | null;
  readonly sessionId: string | null;
  readonly userId: string | null;
  readonly startUnixNano: Int64 | null;
  readonly endUnixNano: Int64 | null;
  readonly firstArrivalAt: Date;
  readonly lastArrivalAt: Date;
  readonly spans: number;
  readonly logRecords: number;
  readonly evaluatedAt: Date | null;
  /** steps that were there when it was evaluated; what came after is late and was not matched */
  readonly evaluatedSteps: number | null;
  /** steps beyond the limits of one evaluation (steps, bytes, CPU time) */
  readonly unreadSteps: number | null;
  /** surface texts that its steps held; 0: none of them told any */
  readonly texts: number | null;
  /** texts of which only the beginning was matched (`SURFACE_CAP_BYTES`) */
  readonly truncatedTexts: number | null;
  readonly textGaps: readonly TextGap[] | null;
  readonly corpusVersion: string | null;
  /** of its findings, one per finding */
  readonly severities: readonly Severity[];
}

/** Which runs a list holds; what is undefined does not narrow it. Names and ids fit as a whole. */
export interface RunFilter {
  readonly state?: RunState | undefined;
  readonly evaluation?: EvaluationState | undefined;
  readonly serviceName?: string | undefined;
  readonly agentName?: string | undefined;
  readonly model?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly userId?: string | undefined;
  readonly textIncomplete?: boolean | undefined;
  readonly hasFindings?: boolean | undefined;
  /** by the arrival of the first step */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}
