/** A decoded OTLP request: rows to store, and rejected records. Types only. */
import type { LOG_COLUMNS, RowOf, SPAN_COLUMNS } from './columns.ts';
import type { Hex16, JsonText } from './json.ts';

export type Signal = 'traces' | 'metrics' | 'logs';

/**
 * One OTLP resource together with one instrumentation scope, stored once by content.
 * `id` is a hash of everything else in the row.
 */
export interface ResourceRow {
  readonly id: Hex16;
  readonly serviceName: string | null;
  readonly attributes: JsonText;
  readonly schemaUrl: string;
  readonly droppedAttributes: number;
  readonly scopeName: string;
  readonly scopeVersion: string;
  readonly scopeAttributes: JsonText;
  readonly scopeSchemaUrl: string;
  readonly scopeDroppedAttributes: number;
}

/** One span. */
export interface SpanRow extends RowOf<typeof SPAN_COLUMNS> {
  /** null for all but products whose spans name their session */
  readonly session: LogSession | null;
}

/**
 * The session of a log record or span, for products that identify their runs this way
 * (`src/otlp/log-session.ts`).
 */
export interface LogSession {
  /** names the session: a hash of service and session */
  readonly key: Hex16;
  /** names the run: a hash of service, session and prompt; null when no prompt is named */
  readonly runId: Hex16 | null;
  /** the record begins a prompt, carries text that a rule can be about, or none */
  readonly event: 'prompt' | 'text' | 'nothing';
  /** nothing of the session's prompts so far follows this record */
  readonly ends: boolean;
  /** it has a trace id, whose run it belongs to where its prompt is not known */
  readonly hasTrace: boolean;
}

/** One log record. `timeUnixNano` is "0" when the sender did not know it. */
export interface LogRow extends RowOf<typeof LOG_COLUMNS> {
  /** null for products that are not known to have such runs; for most with a trace id, too */
  readonly session: LogSession | null;
}

/** Records rejected for one reason. */
export interface Rejection {
  readonly reason: string;
  readonly count: number;
  /** path of the first one, as `resourceSpans[0].scopeSpans[2].spans[7].traceId` */
  readonly firstPath: string;
  /** says more than the reason, where that depends on the body */
  readonly message?: string;
}

/** One export request, decoded: rows to store and rejected records. */
export interface DecodedRequest {
  readonly signal: Signal;
  readonly resources: readonly ResourceRow[];
  readonly spans: readonly SpanRow[];
  readonly logs: readonly LogRow[];
  /** number of accepted data points, which are stored as sent */
  readonly points: number;
  readonly rejections: readonly Rejection[];
  /** characters that PostgreSQL cannot store (U+0000, lone surrogates), replaced by U+FFFD */
  readonly replacedCharacters: number;
}
