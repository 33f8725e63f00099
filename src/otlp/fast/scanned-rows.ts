/**
 * Owns the form in which a scanned record is handed on: numbers, ids as bytes, and places of texts in
 * the scanner's arenas. One object of each kind serves all records; it is read before the next
 * record is scanned.
 */

import { Arena } from './arena.ts';

/** Where a text stands in an arena; empty when both are the same. */
export interface TextRange {
  start: number;
  end: number;
}

const range = (): TextRange => ({ start: 0, end: 0 });

function forget(text: TextRange): void {
  text.start = 0;
  text.end = 0;
}

/** One span; the fields are those of `SpanRow`. */
export class ScannedSpan {
  /** trace id (16 bytes), span id (8), parent's span id (8) */
  readonly ids = new DataView(new ArrayBuffer(32));
  hasParent = false;
  /** times as whole seconds since 1970 and nanoseconds below one second */
  startSeconds = 0;
  startNanos = 0;
  endSeconds = 0;
  endNanos = 0;
  kind = 0;
  statusCode = 0;
  flags = 0;
  droppedAttributes = 0;
  droppedEvents = 0;
  droppedLinks = 0;
  /** UTF-8 texts in `texts` */
  readonly name = range();
  readonly statusMessage = range();
  readonly traceState = range();
  /** JSON in `texts`; empty means no attributes */
  readonly attributes = range();
  /** JSON arrays in `lists` */
  readonly events = range();
  readonly links = range();
  readonly texts: Arena;
  readonly lists = new Arena();

  constructor(texts: Arena) {
    this.texts = texts;
  }

  reset(): void {
    this.hasParent = false;
    this.startSeconds = 0;
    this.startNanos = 0;
    this.endSeconds = 0;
    this.endNanos = 0;
    this.kind = 0;
    this.statusCode = 0;
    this.flags = 0;
    this.droppedAttributes = 0;
    this.droppedEvents = 0;
    this.droppedLinks = 0;
    forget(this.name);
    forget(this.statusMessage);
    forget(this.traceState);
    forget(this.attributes);
    forget(this.events);
    forget(this.links);
    this.texts.restart();
    this.lists.restart();
  }
}

/** One log record; the fields are those of `LogRow`. */
export class ScannedLog {
  /** trace id (16 bytes), span id (8) */
  readonly ids = new DataView(new ArrayBuffer(24));
  hasTraceId = false;
  hasSpanId = false;
  timeSeconds = 0;
  timeNanos = 0;
  observedSeconds = 0;
  observedNanos = 0;
  severityNumber = 0;
  flags = 0;
  droppedAttributes = 0;
  /** UTF-8 texts in `texts` */
  readonly severityText = range();
  readonly eventName = range();
  /** JSON in `texts`; empty means none */
  readonly body = range();
  readonly attributes = range();
  readonly texts: Arena;

  constructor(texts: Arena) {
    this.texts = texts;
  }

  reset(): void {
    this.hasTraceId = false;
    this.hasSpanId = false;
    this.timeSeconds = 0;
    this.timeNanos = 0;
    this.observedSeconds = 0;
    this.observedNanos = 0;
    this.severityNumber = 0;
    this.flags = 0;
    this.droppedAttributes = 0;
    forget(this.severityText);
    forget(this.eventName);
    forget(this.body);
    forget(this.attributes);
    this.texts.restart();
  }
}

/** One data point of a number or a histogram; the fields are those of `PointRow`. */
export class ScannedPoint {
  timeSeconds = 0;
  timeNanos = 0;
  startSeconds = 0;
  startNanos = 0;
  flags = 0;
  /** an integer value as billions and the rest */
  hasInt = false;
  isNegative = false;
  intBillions = 0;
  intRest = 0;
  double: number | null = null;
  count: number | null = null;
  sum: number | null = null;
  min: number | null = null;
  max: number | null = null;
  /** JSON in `texts`; empty means no attributes */
  readonly attributes = range();
  /** JSON in `lists` */
  readonly distribution = range();
  readonly exemplars = range();
  readonly texts: Arena;
  readonly lists = new Arena();

  constructor(texts: Arena) {
    this.texts = texts;
  }

  reset(): void {
    this.timeSeconds = 0;
    this.timeNanos = 0;
    this.startSeconds = 0;
    this.startNanos = 0;
    this.flags = 0;
    this.hasInt = false;
    this.isNegative = false;
    this.double = null;
    this.count = null;
    this.sum = null;
    this.min = null;
    this.max = null;
    forget(this.attributes);
    forget(this.distribution);
    forget(this.exemplars);
    this.texts.restart();
    this.lists.restart();
  }
}
