/**
 * Encodes the rows of the plain decoder as COPY bytes: the counterpart of `row-encoder.ts`, which
 * encodes scanned rows. One object per thread, for one request at a time.
 */
import type { TelemetryPlacement } from '../db/placement.ts';
import { checkContents, type EncodedRequest, heldBytes } from '../db/telemetry/encoded-request.ts';
import type { LogRunsOfRequest } from '../db/telemetry/log-runs.ts';
import { checkRuns, runDeltas } from '../db/telemetry/run-delta.ts';
import type { TelemetryTable } from '../model/columns.ts';
import type { DecodedRequest, LogRow, PointRow, SpanRow } from '../model/telemetry.ts';
import { LOG_LAYOUT } from '../otlp/fast/log-scanner.ts';
import { POINT_LAYOUT } from '../otlp/fast/point-scanner.ts';
import { SPAN_LAYOUT } from '../otlp/fast/span-scanner.ts';
import { CopyBuffer } from './copy-buffer.ts';
import { compilePlainWriter, type PlainContext, type PlainWriter } from './row-writer.ts';

const writersOf = (placement: TelemetryPlacement) => ({
  span: compilePlainWriter<SpanRow>(SPAN_LAYOUT, placement),
  log: compilePlainWriter<LogRow>(LOG_LAYOUT, placement),
  point: compilePlainWriter<PointRow>(POINT_LAYOUT, placement),
});
const WRITERS = { local: writersOf('local'), distributed: writersOf('distributed') };

export class PlainEncoder {
  readonly #out = new CopyBuffer();
  readonly #write: ReturnType<typeof writersOf>;

  /** @param placement where the rows are to be stored */
  constructor(placement: TelemetryPlacement = 'local') {
    this.#write = WRITERS[placement];
  }

  /**
   * Encodes a request.
   *
   * @param arrivedAtMs milliseconds since 1970, by PostgreSQL's clock; its UTC day chooses the
   *   partition
   * @param logRuns the runs of rows that do not belong to their trace, and the marks of their sessions
   * @throws {SluiceError} `body_too_large` when there are too many runs, marks, resources or
   *   metrics
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
    const { span, log, point } = this.#write;
    if (spans.length > 0) chunks.set('spans', this.#encodeRows(spans, span, context));
    if (logs.length > 0) chunks.set('log_records', this.#encodeRows(logs, log, context));
    if (points.length > 0) chunks.set('metric_points', this.#encodeRows(points, point, context));
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

  #encodeRows<Row>(rows: readonly Row[], write: PlainWriter<Row>, context: PlainContext): Buffer {
    try {
      for (const row of rows) write(this.#out, row, context);
      return this.#out.take();
    } finally {
      this.#out.clear();
    }
  }
}
