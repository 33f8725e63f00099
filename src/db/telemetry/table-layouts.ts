/**
 * The columns of the three telemetry tables, in COPY order, and how a row fills them.
 *
 * Column lists and field calls stand side by side because they must agree: the count is checked by
 * `test/db/telemetry/table-layouts.test.ts`, the types by PostgreSQL.
 */
import type { LogRow, PointRow, SpanRow } from '../../model/telemetry.ts';
import type { BinaryCopyBuffer } from './binary-copy.ts';
import type { LogRun } from './log-runs.ts';

export type TelemetryTable = 'spans' | 'log_records' | 'metric_points';
export const TELEMETRY_TABLES: readonly TelemetryTable[] = [
  'spans',
  'log_records',
  'metric_points',
];

export const COPY_COLUMNS: Readonly<Record<TelemetryTable, readonly string[]>> = {
  spans: [
    'start_unix_nano',
    'end_unix_nano',
    'workspace_id',
    'arrived_on',
    'trace_id',
    'resource_id',
    'kind',
    'status_code',
    'flags',
    'dropped_attributes',
    'dropped_events',
    'dropped_links',
    'span_id',
    'parent_span_id',
    'name',
    'status_message',
    'trace_state',
    'attributes',
    'events',
    'links',
  ],
  log_records: [
    'time_unix_nano',
    'observed_unix_nano',
    'workspace_id',
    'arrived_on',
    'trace_id',
    'run_id',
    'resource_id',
    'severity_number',
    'flags',
    'dropped_attributes',
    'span_id',
    'severity_text',
    'event_name',
    'body',
    'attributes',
  ],
  metric_points: [
    'time_unix_nano',
    'start_unix_nano',
    'workspace_id',
    'arrived_on',
    'metric_id',
    'resource_id',
    'flags',
    'value_int',
    'value_double',
    'count',
    'sum',
    'min',
    'max',
    'attributes',
    'distribution',
    'exemplars',
  ],
};

/** The COPY statement of a table. */
export function copyStatement(table: TelemetryTable): string {
  return `COPY ${table} (${COPY_COLUMNS[table].join(', ')}) FROM STDIN (FORMAT binary)`;
}

/** Whose row it is and on which day it arrived; the same for all rows of a request. */
export interface RowContext {
  readonly workspaceId: number;
  readonly arrivedAtMs: number;
  /** the runs of log records without trace id */
  readonly logRuns: ReadonlyMap<LogRow, LogRun>;
}

function optionalText(out: BinaryCopyBuffer, value: string | null): void {
  if (value === null || value === '') out.null();
  else out.text(value);
}

function optionalFloat(out: BinaryCopyBuffer, value: number | null): void {
  if (value === null) out.null();
  else out.float64(value);
}

function optionalInt64(out: BinaryCopyBuffer, value: string | null): void {
  if (value === null) out.null();
  else out.int64(value);
}

export function writeSpan(out: BinaryCopyBuffer, row: SpanRow, context: RowContext): void {
  out.row(20);
  out.int64(row.startUnixNano);
  out.int64(row.endUnixNano);
  out.int32(context.workspaceId);
  out.date(context.arrivedAtMs);
  out.uuid(row.traceId);
  out.uuid(row.resourceId);
  out.int16(row.kind);
  out.int16(row.statusCode);
  out.counter(row.flags);
  out.counter(row.droppedAttributes);
  out.counter(row.droppedEvents);
  out.counter(row.droppedLinks);
  out.spanId(row.spanId);
  if (row.parentSpanId === null) out.null();
  else out.spanId(row.parentSpanId);
  out.text(row.name);
  optionalText(out, row.statusMessage);
  optionalText(out, row.traceState);
  out.text(row.attributes);
  optionalText(out, row.events);
  optionalText(out, row.links);
}

export function writeLog(out: BinaryCopyBuffer, row: LogRow, context: RowContext): void {
  const run = row.session === null ? undefined : context.logRuns.get(row);
  out.row(15);
  out.int64(row.timeUnixNano);
  out.int64(row.observedUnixNano);
  out.int32(context.workspaceId);
  out.date(context.arrivedAtMs);
  if (row.traceId === null) out.null();
  else out.uuid(row.traceId);
  if (run === undefined) out.null();
  else out.uuid(run.runId);
  out.uuid(row.resourceId);
  out.int16(row.severityNumber);
  out.counter(row.flags);
  out.counter(row.droppedAttributes);
  if (row.spanId === null) out.null();
  else out.spanId(row.spanId);
  optionalText(out, row.severityText);
  optionalText(out, row.eventName);
  optionalText(out, row.body);
  out.text(row.attributes);
}

export function writePoint(out: BinaryCopyBuffer, row: PointRow, context: RowContext): void {
  out.row(16);
  out.int64(row.timeUnixNano);
  optionalInt64(out, row.startUnixNano);
  out.int32(context.workspaceId);
  out.date(context.arrivedAtMs);
  out.uuid(row.metricId);
  out.uuid(row.resourceId);
  out.counter(row.flags);
  optionalInt64(out, row.valueInt);
  optionalFloat(out, row.valueDouble);
  optionalInt64(out, row.count);
  optionalFloat(out, row.sum);
  optionalFloat(out, row.min);
  optionalFloat(out, row.max);
  out.text(row.attributes);
  optionalText(out, row.distribution);
  optionalText(out, row.exemplars);
}
