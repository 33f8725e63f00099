/** A decoded OTLP request: the facts of its accepted records, and the rejected records. Types only. */
import type { Hex16, Int64 } from './json.ts';

export type Signal = 'traces' | 'metrics' | 'logs';

export interface Origin {
  /** null if the resource has none */
  readonly serviceName: string | null;
  readonly scopeName: string;
}

export interface SpanFacts {
  readonly traceId: Hex16;
  readonly startUnixNano: Int64;
  readonly endUnixNano: Int64;
  /** null for a span with a parent */
  readonly root: RootFacts | null;
  readonly serviceName: string | null;
  /** null for all but products whose spans name their session */
  readonly session: LogSession | null;
}

export interface RootFacts {
  readonly name: string;
  readonly isFailed: boolean;
}

export interface LogFacts {
  readonly traceId: Hex16 | null;
  /** "0" when the sender did not know it */
  readonly timeUnixNano: Int64;
  readonly observedUnixNano: Int64;
  readonly serviceName: string | null;
  /** null for products that are not known to have such runs; for most with a trace id, too */
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

export interface Rejection {
  readonly reason: string;
  readonly count: number;
  /** path of the first one, as `resourceSpans[0].scopeSpans[2].spans[7].traceId` */
  readonly firstPath: string;
  /** says more than the reason, where that depends on the body */
  readonly message?: string;
}

/** One export request, decoded. Its records are stored as sent; only their facts are read. */
export interface DecodedRequest {
  readonly signal: Signal;
  /** accepted spans, in the order of the body */
  readonly spans: readonly SpanFacts[];
  /** accepted log records, in the order of the body */
  readonly logs: readonly LogFacts[];
  /** number of accepted data points */
  readonly points: number;
  readonly rejections: readonly Rejection[];
}
