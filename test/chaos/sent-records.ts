/**
 * The records of a body in the form in which stored ones are compared with them (`stored-records.ts`),
 * by row number. Written from the columns' descriptions for what chaos bodies use; must never use the
 * decoder, which it is there to judge.
 */
import { hash } from 'node:crypto';

import {
  type Columns,
  LOG_COLUMNS,
  SPAN_COLUMNS,
  type TelemetryTable,
} from '../../src/model/columns.ts';
import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { parseExactly } from '../support/exact-json.ts';
import { LISTS } from '../support/otlp-requests.ts';
import { type Body, ROW_NUMBERS, TIME_BASE } from './bodies.ts';

/** The workspace of all bodies: the first one of an installation. */
export const WORKSPACE = 1;

/** The tables whose rows are records. */
export const TABLES = { traces: 'spans', logs: 'log_records' } as const satisfies Partial<
  Record<Signal, TelemetryTable>
>;
export type RowSignal = keyof typeof TABLES;

/** Columns that say when a row came or name another row. */
const NOT_SENT = ['arrived_on', 'resource_id'];
const sentColumns = (columns: Columns): string[] =>
  Object.keys(columns).filter((name) => !NOT_SENT.includes(name));
/** The columns of a row that follow from what was sent. */
export const SENT_COLUMNS: Readonly<Record<RowSignal, readonly string[]>> = {
  traces: sentColumns(SPAN_COLUMNS),
  logs: sentColumns(LOG_COLUMNS),
};
/** The columns of a row's resource that do. */
export const RESOURCE_COLUMNS = [
  'dropped_attributes',
  'scope_dropped_attributes',
  'service_name',
  'attributes',
  'schema_url',
  'scope_name',
  'scope_version',
  'scope_attributes',
  'scope_schema_url',
];

/** JSON text of columns by name; a column that is not named is null. */
type Cells = Readonly<Record<string, string>>;
type Entry = { key: string; value: Record<string, unknown> };

const quoted = (value: unknown): string => JSON.stringify(value);
/** Null when absent or empty. */
const optional = (value: unknown): string => quoted(value === '' ? null : (value ?? null));
/** Null when 0. */
const counter = (value: unknown): string =>
  Number(value ?? 0) === 0 ? 'null' : quoted(`${value}`);

function valueText(value: Readonly<Record<string, unknown>>): string {
  const [[kind, held] = ['', null]] = Object.entries(value);
  if (kind === 'intValue') return String(held);
  if (['stringValue', 'doubleValue', 'boolValue'].includes(kind)) return quoted(held);
  throw new Error(`bodies have no ${kind}`);
}

function attributesText(entries: unknown): string {
  const members = ((entries ?? []) as Entry[]).map(
    ({ key, value }) => `${quoted(key)}:${valueText(value)}`,
  );
  return `{${members.join(',')}}`;
}

/** A list of events or links, which are stored with their attributes as an object. */
function listText(items: unknown): string {
  if (items === undefined) return 'null';
  const texts = (items as JsonObject[]).map((item) => {
    const members = Object.entries(item).map(([name, value]) =>
      name === 'attributes'
        ? `"attributes":${attributesText(value)}`
        : `"${name}":${quoted(value)}`,
    );
    return `{${members.join(',')}}`;
  });
  return `[${texts.join(',')}]`;
}

const spanCells = (span: JsonObject): Cells => {
  const { code, message } = (span.status ?? {}) as JsonObject;
  return {
    start_unix_nano: quoted(span.startTimeUnixNano),
    end_unix_nano: quoted(span.endTimeUnixNano),
    trace_id: quoted(span.traceId),
    kind: quoted(span.kind),
    status_code: quoted(code ?? 0),
    flags: counter(span.flags),
    dropped_attributes: counter(span.droppedAttributesCount),
    dropped_events: counter(span.droppedEventsCount),
    dropped_links: counter(span.droppedLinksCount),
    span_id: quoted(span.spanId),
    parent_span_id: optional(span.parentSpanId),
    name: quoted(span.name),
    status_message: optional(message),
    trace_state: optional(span.traceState),
    attributes: attributesText(span.attributes),
    events: listText(span.events),
    links: listText(span.links),
  };
};

const logCells = (record: JsonObject): Cells => ({
  time_unix_nano: quoted(record.timeUnixNano),
  observed_unix_nano: quoted(record.observedTimeUnixNano),
  severity_number: quoted(record.severityNumber),
  flags: counter(record.flags),
  dropped_attributes: counter(record.droppedAttributesCount),
  severity_text: optional(record.severityText),
  event_name: optional(record.eventName),
  body: valueText(record.body as JsonObject),
  attributes: attributesText(record.attributes),
});

function resourceCells(resource: JsonObject, scope: JsonObject): Cells {
  const attributes = (resource.attributes ?? []) as Entry[];
  const service = attributes.find(({ key }) => key === 'service.name');
  return {
    dropped_attributes: '"0"',
    scope_dropped_attributes: '"0"',
    service_name: optional(service?.value.stringValue),
    attributes: attributesText(attributes),
    schema_url: '""',
    scope_name: quoted(scope.name),
    scope_version: quoted(scope.version),
    scope_attributes: attributesText(scope.attributes),
    scope_schema_url: '""',
  };
}

/** The body and row numbers of a time. */
export function placeOf(time: string): { readonly body: number; readonly row: number } {
  const since = BigInt(time) - TIME_BASE;
  const row = ((since % BigInt(ROW_NUMBERS)) + BigInt(ROW_NUMBERS)) % BigInt(ROW_NUMBERS);
  return { body: Number((since - row) / BigInt(ROW_NUMBERS)), row: Number(row) };
}

/**
 * The rows that a body of spans or log records makes, in order: each as PostgreSQL's
 * `json_build_array` writes `SENT_COLUMNS` and `RESOURCE_COLUMNS`.
 */
export function sentRows({ signal, bytes }: Body & { readonly signal: RowSignal }): string[] {
  const [resourceList, scopeList, itemList] = LISTS[signal];
  const request = JSON.parse(bytes.toString());
  const [{ resource, [scopeList]: scopes }] = request[resourceList];
  const [{ scope, [itemList]: items }] = scopes;
  const origin = resourceCells(resource, scope);
  const originTexts = RESOURCE_COLUMNS.map((name) => origin[name] ?? 'null');
  const cellsOf = signal === 'traces' ? spanCells : logCells;
  return (items as JsonObject[]).map((item) => {
    const cells: Cells = { ...cellsOf(item), workspace_id: String(WORKSPACE) };
    const texts = SENT_COLUMNS[signal].map((name) => cells[name] ?? 'null');
    return `[${[...texts, ...originTexts].join(', ')}]`;
  });
}

const md5 = (text: string): string => hash('md5', text);

const hasRows = (body: Body): body is Body & { readonly signal: RowSignal } =>
  body.signal !== 'metrics';

/** A digest of a body's rows as PostgreSQL makes it, or of its line in a block. */
export function digestOf(body: Body): string {
  return hasRows(body) ? md5(sentRows(body).map(md5).join('')) : md5(body.bytes.toString());
}

/** A data point with all that encloses it; numbers are their texts (`exact-json.ts`). */
export interface Point {
  readonly time: string;
  readonly content: object;
}

type Parsed = Readonly<Record<string, JsonValue>>;
const listOf = (value: JsonValue | undefined): Parsed[] => (value ?? []) as JsonObject[];

/** The data points of an export request. @throws SyntaxError */
export function pointsOf(request: string): Point[] {
  const points: Point[] = [];
  const { resourceMetrics, ...rest } = parseExactly(request) as Parsed;
  for (const { scopeMetrics, ...resource } of listOf(resourceMetrics)) {
    for (const { metrics, ...scope } of listOf(scopeMetrics)) {
      for (const metric of listOf(metrics)) {
        const [kind, data] =
          Object.entries(metric).find(([, value]) => Object.hasOwn(Object(value), 'dataPoints')) ??
          [];
        if (kind === undefined) continue;
        const { [kind]: _data, ...identity } = metric;
        const { dataPoints, ...aggregation } = data as JsonObject;
        for (const point of listOf(dataPoints)) {
          const content = { rest, resource, scope, identity, kind, aggregation, point };
          points.push({ time: String(point.timeUnixNano), content });
        }
      }
    }
  }
  return points;
}
