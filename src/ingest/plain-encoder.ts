/**
 * Encodes a decoded request as COPY bytes, from the values of its rows: the plain counterpart of
 * `row-encoder.ts`. One object per thread; it encodes one request at a time.
 */
import { checkContents, type EncodedRequest, heldBytes } from '../db/telemetry/encoded-request.ts';
import type { LogRun, LogRunsOfRequest } from '../db/telemetry/log-runs.ts';
import { checkRuns, runDeltas } from '../db/telemetry/run-delta.ts';
import type { TelemetryTable } from '../model/columns.ts';
import type { DecodedRequest, LogRow, PointRow, SpanRow } from '../model/telemetry.ts';
import { LOG_LAYOUT } from '../otlp/fast/log-scanner.ts';
import { POINT_LAYOUT } from '../otlp/fast/point-scanner.ts';
import { codeOf, type RowLayout } from '../otlp/fast/row-layout.ts';
import { SPAN_LAYOUT } from '../otlp/fast/span-scanner.ts';
import { CopyBuffer } from './copy-buffer.ts';

// Constants of this file: V8 compiles them in, imported ones it loads (Node 20.20).
const TIME = codeOf('time');
const OPTIONAL_TIME = codeOf('optionalTime');
const INT16 = codeOf('int16');
const COUNTER = codeOf('counter');
const INT64 = codeOf('int64');
const COUNT = codeOf('count');
const DOUBLE = codeOf('double');
const TRACE_ID = codeOf('traceId');
const OPTIONAL_TRACE_ID = codeOf('optionalTraceId');
const SPAN_ID = codeOf('spanId');
const OPTIONAL_SPAN_ID = codeOf('optionalSpanId');
const TEXT = codeOf('text');
const OPTIONAL_TEXT = codeOf('optionalText');
const ATTRIBUTES = codeOf('attributes');
const OPTIONAL_JSON = codeOf('optionalJson');
const COMPOSED_JSON = codeOf('composedJson');
const RESOURCE = codeOf('resource');
const METRIC = codeOf('metric');
const WORKSPACE = codeOf('workspace');
const ARRIVAL_DAY = codeOf('arrivalDay');
const SESSION_RUN = codeOf('sessionRun');

/** What is the same for all rows of a request. */
interface RowContext {
  readonly workspaceId: number;
  readonly arrivedAtMs: number;
  /** the runs of log records without trace id */
  readonly logRuns: ReadonlyMap<LogRow, LogRun>;
}

/** A row as its columns see it. */
type Fields = Readonly<Record<string, unknown>>;

export class PlainEncoder {
  readonly #out = new CopyBuffer();

  /**
   * Encodes a request.
   *
   * @param arrivedAtMs milliseconds since 1970, by PostgreSQL's clock; its UTC day chooses the
   *   partition
   * @param logRuns the runs of log records without a trace id, and the marks of their sessions
   * @throws {SluiceError} `body_too_large` when there are too many runs, marks, resources or metrics
   */
  encode(
    request: DecodedRequest,
    workspaceId: number,
    arrivedAtMs: number,
    { runs, marks }: LogRunsOfRequest,
  ): EncodedRequest {
    const { resources, metrics, spans, logs, points } = request;
    checkContents(Math.max(resources.length, metrics.length));
    checkRuns(marks.length);
    const deltas = runDeltas(request, workspaceId, runs);
    const context = { workspaceId, arrivedAtMs, logRuns: runs };
    const chunks = new Map<TelemetryTable, Buffer>();
    if (spans.length > 0) chunks.set('spans', this.#encodeRows(spans, SPAN_LAYOUT, context));
    if (logs.length > 0) chunks.set('log_records', this.#encodeRows(logs, LOG_LAYOUT, context));
    if (points.length > 0) {
      chunks.set('metric_points', this.#encodeRows(points, POINT_LAYOUT, context));
    }
    const held = { chunks, resources, metrics, runs: deltas, sessionMarks: marks };
    return {
      workspaceId,
      arrivedAtMs,
      ...held,
      rows: spans.length + logs.length + points.length,
      bytes: heldBytes(held),
      release: () => {},
    };
  }

  #encodeRows(
    rows: readonly (SpanRow | LogRow | PointRow)[],
    layout: RowLayout,
    context: RowContext,
  ): Buffer {
    try {
      for (const row of rows) this.#encodeRow(row as unknown as Fields, layout, context);
      return this.#out.take();
    } finally {
      this.#out.clear();
    }
  }

  #encodeRow(row: Fields, { codes, fields }: RowLayout, context: RowContext): void {
    const out = this.#out;
    out.row(codes.length);
    for (let column = 0; column < codes.length; column += 1) {
      const value = row[fields[column] as string];
      if (value === null) {
        out.null();
        continue;
      }
      switch (codes[column]) {
        case TIME:
        case OPTIONAL_TIME:
        case INT64:
        case COUNT:
          out.int64(value as string);
          break;
        case TEXT:
        case ATTRIBUTES:
          out.text(value as string);
          break;
        case OPTIONAL_TEXT:
        case OPTIONAL_JSON:
        case COMPOSED_JSON:
          if (value === '') out.null();
          else out.text(value as string);
          break;
        case COUNTER:
          out.counter(value as number);
          break;
        case INT16:
          out.int16(value as number);
          break;
        case DOUBLE:
          out.float64(value as number);
          break;
        case TRACE_ID:
        case OPTIONAL_TRACE_ID:
        case RESOURCE:
        case METRIC:
          out.uuid(value as string);
          break;
        case SPAN_ID:
        case OPTIONAL_SPAN_ID:
          out.spanId(value as string);
          break;
        case WORKSPACE:
          out.int32(context.workspaceId);
          break;
        case ARRIVAL_DAY:
          out.date(context.arrivedAtMs);
          break;
        case SESSION_RUN: {
          // Looking up a row that names no session would only cost time.
          const run =
            row.session === null ? undefined : context.logRuns.get(row as unknown as LogRow);
          if (run === undefined) out.null();
          else out.uuid(run.runId);
          break;
        }
        default:
          throw new Error(`no encoding for ${fields[column]}`);
      }
    }
  }
}
