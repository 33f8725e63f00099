/**
 * One decoded request, made ready to store: COPY bytes per table and what goes beside them.
 *
 * Encoding happens as the request arrives, on its own thread and alone, so that a batch is nothing
 * but a list of buffers, its size in bytes is known, and a batch that fails can be halved without
 * encoding anew.
 */
import type { DecodedRequest, MetricRow, ResourceRow } from '../model.ts';
import { BinaryCopyBuffer } from './binary-copy.ts';
import { LogRuns, type SessionMark } from './log-runs.ts';
import { type RunDelta, runDeltas } from './run-delta.ts';
import {
  type RowContext,
  type TelemetryTable,
  writeLog,
  writePoint,
  writeSpan,
} from './table-layouts.ts';

export interface EncodedRequest {
  readonly workspaceId: number;
  readonly arrivedAtMs: number;
  /** rows without header and trailer; tables without rows are absent */
  readonly chunks: ReadonlyMap<TelemetryTable, Buffer>;
  readonly resources: readonly ResourceRow[];
  readonly metrics: readonly MetricRow[];
  readonly runs: readonly RunDelta[];
  readonly sessionMarks: readonly SessionMark[];
  readonly rows: number;
  /** what the request holds in memory while it waits */
  readonly bytes: number;
}

/** What a request costs beside its rows: bookkeeping, resources, deltas. */
const OVERHEAD_BYTES = 1024;

const scratch = new BinaryCopyBuffer();

function encodeRows<Row>(
  rows: readonly Row[],
  write: (out: BinaryCopyBuffer, row: Row, context: RowContext) => void,
  context: RowContext,
): Buffer {
  try {
    for (const row of rows) write(scratch, row, context);
    return scratch.take();
  } finally {
    scratch.clear();
  }
}

/**
 * Encodes a request's rows.
 *
 * @param arrivedAtMs milliseconds since 1970; its UTC day chooses the partition
 * @param logRuns one per process: it remembers the sessions of log records without trace id
 */
export function encodeRequest(
  request: DecodedRequest,
  workspaceId: number,
  arrivedAtMs: number,
  logRuns: LogRuns = new LogRuns(),
): EncodedRequest {
  const { runs, marks } = logRuns.assign(request.logs, workspaceId);
  const context = { workspaceId, arrivedAtMs, logRuns: runs };
  const chunks = new Map<TelemetryTable, Buffer>();
  if (request.spans.length > 0) chunks.set('spans', encodeRows(request.spans, writeSpan, context));
  if (request.logs.length > 0) {
    chunks.set('log_records', encodeRows(request.logs, writeLog, context));
  }
  if (request.points.length > 0) {
    chunks.set('metric_points', encodeRows(request.points, writePoint, context));
  }
  let bytes = OVERHEAD_BYTES;
  for (const chunk of chunks.values()) bytes += chunk.length;
  return {
    workspaceId,
    arrivedAtMs,
    chunks,
    resources: request.resources,
    metrics: request.metrics,
    runs: runDeltas(request, workspaceId, runs),
    sessionMarks: marks,
    rows: request.spans.length + request.logs.length + request.points.length,
    bytes,
  };
}
