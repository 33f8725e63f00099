/**
 * The forms in which scanned rows are taken: numbers, ids as bytes, places of texts. Stated here as
 * they are needed; `src/otlp/fast/scanned-rows.ts` has them. An object of them is read at once and is
 * another row afterwards. Sources of bytes go on for eight bytes behind every text.
 */
import type { BytesSource } from './row-bytes.ts';

/** Where a text stands; empty when both are the same. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

export interface Texts extends BytesSource {
  /** the text in a range */
  readonly string: (start: number, end: number) => string;
}

export interface SpanSource {
  /** trace id (16 bytes), span id (8), parent's span id (8) */
  readonly ids: DataView;
  readonly hasParent: boolean;
  readonly startSeconds: number;
  readonly startNanos: number;
  readonly endSeconds: number;
  readonly endNanos: number;
  readonly kind: number;
  readonly statusCode: number;
  readonly flags: number;
  readonly droppedAttributes: number;
  readonly droppedEvents: number;
  readonly droppedLinks: number;
  readonly name: TextRange;
  readonly statusMessage: TextRange;
  readonly traceState: TextRange;
  readonly attributes: TextRange;
  readonly events: TextRange;
  readonly links: TextRange;
  readonly texts: Texts;
  readonly lists: Texts;
}

export interface LogSource {
  /** trace id (16 bytes), span id (8) */
  readonly ids: DataView;
  readonly hasTraceId: boolean;
  readonly hasSpanId: boolean;
  readonly timeSeconds: number;
  readonly timeNanos: number;
  readonly observedSeconds: number;
  readonly observedNanos: number;
  readonly severityNumber: number;
  readonly flags: number;
  readonly droppedAttributes: number;
  readonly severityText: TextRange;
  readonly eventName: TextRange;
  readonly body: TextRange;
  readonly attributes: TextRange;
  readonly texts: Texts;
}

export interface PointSource {
  readonly timeSeconds: number;
  readonly timeNanos: number;
  readonly startSeconds: number;
  readonly startNanos: number;
  readonly flags: number;
  readonly hasInt: boolean;
  readonly isNegative: boolean;
  readonly intBillions: number;
  readonly intRest: number;
  readonly double: number | null;
  /** at most 2^53 − 1 */
  readonly count: number | null;
  readonly sum: number | null;
  readonly min: number | null;
  readonly max: number | null;
  readonly attributes: TextRange;
  readonly distribution: TextRange;
  readonly exemplars: TextRange;
  readonly texts: Texts;
  readonly lists: Texts;
}
