/**
 * Steps of a run as the evaluation reads them, and the surfaces that their texts belong to. Plain data
 * without behaviour.
 */
import type { Hex8, Int64, JsonObject, JsonValue } from './json.ts';

export interface SpanEvent {
  readonly name: string;
  readonly attributes: JsonObject;
  /** evaluations do not read it */
  readonly timeUnixNano?: Int64;
}

/**
 * One step as it is read back for evaluation: a span, or a log record carrying the run's trace id.
 * Attribute values are in the form of `src/otlp/stored-values.ts`.
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
  /** number of attributes and events that the sender reports as dropped */
  readonly dropped: number;
  /** the parent span belongs to another process (OTLP `Span.flags`, bits 8 and 9) */
  readonly hasRemoteParent: boolean;
  /** its number on the pages of its run, from 1; steps that were not read for an evaluation have none */
  readonly number?: number;
  /** the UTC day on which it arrived (`2026-11-20`) */
  readonly arrivedOn?: string;
  /** number of steps before it with its source, start, span id and day of arrival */
  readonly twin?: number;
}

/** Why a run's text is incomplete, according to its sender. */
export type TextGap =
  /** past the sender's limits on attributes or events */
  | 'dropped_by_sender'
  /** past the sender's limit on a value's length */
  | 'cut_by_sender'
  /** replaced by a mark: the instrumentation is not set to send text */
  | 'withheld_by_sender'
  /** kept in a store of the sender */
  | 'stored_elsewhere';

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

const SURFACE_LABELS: Readonly<Record<string, string>> = {
  step_input: 'User input',
  tool_args: 'Tool arguments',
  tool_result: 'Tool result',
  step_output: 'Step output',
  query_text: 'Query',
  agent_output: 'Agent answer',
  tool_name: 'Tool name',
} satisfies Record<Surface, string>;

/** `tool_args` → `Tool arguments`, for people. A name that a newer server sent is its own label. */
export function surfaceLabel(surface: string): string {
  return SURFACE_LABELS[surface] ?? surface;
}

export interface SurfaceText {
  /** index into the run's steps */
  readonly step: number;
  readonly surface: Surface;
  readonly text: string;
  /** The newest text of a step has the highest; without it, the last one is the newest. */
  readonly recency?: number;
}

/**
 * The kind of a step decides to which surfaces its texts belong. `duplicate` is a step that another one
 * repeats in full; it is not read.
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
  /** in the order of the texts; empty for a step without text */
  readonly surfaces: readonly SurfaceSize[];
  /**
   * the step was too large to be read whole: name, texts and sizes are of the part that was read
   */
  readonly isCut: boolean;
}
