/**
 * The columns of the telemetry tables, in COPY order: the only place that lists them. Row types,
 * COPY statements, both COPY writers, the scanned row and the members that the scanner reads follow
 * from here. Data and types only.
 *
 * `test/db/telemetry/columns.test.ts` compares names and types with PostgreSQL's.
 */
import type { Hex8, Hex16, Int64, JsonText } from './json.ts';

export type TelemetryTable = 'spans' | 'log_records';

/** How a value comes in a decoded row (scanned rows: `src/otlp/fast/row-layout.ts`). */
export interface ColumnValues {
  /** the request's workspace; not in the row */
  readonly workspace: never;
  /** the UTC day of the request's arrival; not in the row */
  readonly arrivalDay: never;
  /** the run that a span or log record belongs to instead of its trace; not in the row */
  readonly sessionRun: never;
  readonly traceId: Hex16;
  readonly optionalTraceId: Hex16 | null;
  readonly spanId: Hex8;
  readonly optionalSpanId: Hex8 | null;
  /** the id of the resource and scope, which may come after the row in the body */
  readonly resource: Hex16;
  /** nanoseconds since 1970 */
  readonly time: Int64;
  readonly int16: number;
  /** uint32; stored as null when 0, which it mostly is */
  readonly counter: number;
  readonly text: string;
  /** stored as null when empty */
  readonly optionalText: string;
  /** a JSON object */
  readonly attributes: JsonText;
  /** an AnyValue that may be absent */
  readonly optionalJson: JsonText | null;
  /** JSON that the scanner composes of several values, or absent */
  readonly composedJson: JsonText | null;
}
export type Encoding = keyof ColumnValues;

/**
 * A column: its PostgreSQL type, how its value is encoded, the row's field, the member of OTLP's
 * JSON where the scanner can read it by the encoding alone, and the largest value of an `int16`.
 */
export type Column = readonly [
  type: string,
  encoding: Encoding,
  field?: string,
  member?: string,
  max?: number,
];
export type Columns = Readonly<Record<string, Column>>;

/**
 * Largest value of an enum: PostgreSQL's smallint. Values that OTLP does not know are stored, too,
 * as proto3 keeps them.
 */
export const ENUM_MAX = 32_767;

export const SPAN_COLUMNS = {
  start_unix_nano: ['bigint', 'time', 'startUnixNano', 'startTimeUnixNano'],
  end_unix_nano: ['bigint', 'time', 'endUnixNano', 'endTimeUnixNano'],
  workspace_id: ['integer', 'workspace'],
  arrived_on: ['date', 'arrivalDay'],
  trace_id: ['uuid', 'traceId', 'traceId', 'traceId'],
  run_id: ['uuid', 'sessionRun'],
  resource_id: ['uuid', 'resource', 'resourceId'],
  kind: ['smallint', 'int16', 'kind', 'kind', ENUM_MAX],
  status_code: ['smallint', 'int16', 'statusCode'],
  flags: ['bigint', 'counter', 'flags', 'flags'],
  dropped_attributes: ['bigint', 'counter', 'droppedAttributes', 'droppedAttributesCount'],
  dropped_events: ['bigint', 'counter', 'droppedEvents', 'droppedEventsCount'],
  dropped_links: ['bigint', 'counter', 'droppedLinks', 'droppedLinksCount'],
  span_id: ['bytea', 'spanId', 'spanId', 'spanId'],
  parent_span_id: ['bytea', 'optionalSpanId', 'parentSpanId'],
  name: ['text', 'text', 'name', 'name'],
  status_message: ['text', 'optionalText', 'statusMessage'],
  trace_state: ['text', 'optionalText', 'traceState', 'traceState'],
  attributes: ['json', 'attributes', 'attributes', 'attributes'],
  events: ['json', 'composedJson', 'events'],
  links: ['json', 'composedJson', 'links'],
} as const satisfies Columns;

export const LOG_COLUMNS = {
  time_unix_nano: ['bigint', 'time', 'timeUnixNano', 'timeUnixNano'],
  observed_unix_nano: ['bigint', 'time', 'observedUnixNano', 'observedTimeUnixNano'],
  workspace_id: ['integer', 'workspace'],
  arrived_on: ['date', 'arrivalDay'],
  trace_id: ['uuid', 'optionalTraceId', 'traceId', 'traceId'],
  run_id: ['uuid', 'sessionRun'],
  resource_id: ['uuid', 'resource', 'resourceId'],
  severity_number: ['smallint', 'int16', 'severityNumber', 'severityNumber', ENUM_MAX],
  flags: ['bigint', 'counter', 'flags', 'flags'],
  dropped_attributes: ['bigint', 'counter', 'droppedAttributes', 'droppedAttributesCount'],
  span_id: ['bytea', 'optionalSpanId', 'spanId', 'spanId'],
  severity_text: ['text', 'optionalText', 'severityText', 'severityText'],
  event_name: ['text', 'optionalText', 'eventName', 'eventName'],
  body: ['json', 'optionalJson', 'body'],
  attributes: ['json', 'attributes', 'attributes', 'attributes'],
} as const satisfies Columns;

export const TABLE_COLUMNS: Readonly<Record<TelemetryTable, Columns>> = {
  spans: SPAN_COLUMNS,
  log_records: LOG_COLUMNS,
};

/** The fields that a table's columns give a decoded row. */
export type RowOf<Table extends Columns> = {
  readonly [Name in keyof Table as FieldOf<Table[Name]>]: ColumnValues[Table[Name][1]];
};
type FieldOf<C extends Column> = C extends readonly [string, Encoding, infer F, ...unknown[]]
  ? F extends string
    ? F
    : never
  : never;
