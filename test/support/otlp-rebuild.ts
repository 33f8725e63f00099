/**
 * Rebuilds OTLP/JSON export requests from the tables, by SQL alone: what somebody could do who has
 * nothing but the database and the description of its columns.
 *
 * Values come as PostgreSQL's own text, and JSON is read with its number literals kept: a driver or
 * `JSON.parse` would round what is compared.
 */
import type pg from 'pg';

import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { LISTS } from './otlp-requests.ts';

/** A row as PostgreSQL writes it. */
type Row = Readonly<Record<string, string | null>>;

const AS_TEXT: pg.CustomTypesConfig = { getTypeParser: () => (value: string) => value };

/** The signals that are stored as rows. */
type RowSignal = Exclude<Signal, 'metrics'>;

const TABLES: Readonly<Record<RowSignal, string>> = { traces: 'spans', logs: 'log_records' };

async function select(database: pg.Pool, table: string): Promise<Row[]> {
  const { rows } = await database.query<Row>({ text: `SELECT * FROM ${table}`, types: AS_TEXT });
  return rows;
}

/** Strings (left alone) and numbers of a JSON text. */
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/**
 * Parses stored JSON; an integer literal becomes `{"$int":"5"}`, any other `{"$double":"5.0"}`.
 * Stored values hold no such objects of their own: below the top a key's `$` is doubled.
 */
function parse(json: string): JsonValue {
  const marked = json.replace(STRING_OR_NUMBER, (token) => {
    if (token.startsWith('"')) return token;
    return /[.eE]/.test(token) ? `{"$double":"${token}"}` : `{"$int":"${token}"}`;
  });
  return JSON.parse(marked) as JsonValue;
}

function members(value: JsonValue | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

function toAnyValue(stored: JsonValue): JsonObject {
  if (stored === null) return {};
  if (typeof stored === 'string') return { stringValue: stored };
  if (typeof stored === 'boolean') return { boolValue: stored };
  if (Array.isArray(stored)) return { arrayValue: { values: stored.map(toAnyValue) } };
  const { $int, $double, $bytes } = members(stored);
  if ($int !== undefined) return { intValue: $int };
  if ($double !== undefined) return { doubleValue: $double };
  if ($bytes !== undefined) return { bytesValue: $bytes };
  const values = toEntries(stored, (key) => (key.startsWith('$$') ? key.slice(1) : key));
  return { kvlistValue: { values } };
}

function toEntries(stored: JsonValue | undefined, unmark = (key: string): string => key) {
  return Object.entries(members(stored)).map(([key, value]): JsonValue => {
    return { key: unmark(key), value: toAnyValue(value) };
  });
}

/** Stored messages: attribute lists become entries, marked numbers their digits. */
function toMessage(stored: JsonValue): JsonValue {
  if (Array.isArray(stored)) return stored.map(toMessage);
  if (typeof stored !== 'object' || stored === null) return stored;
  const { $int, $double } = stored;
  if ($int !== undefined) return $int;
  if ($double !== undefined) return $double;
  return Object.fromEntries(
    Object.entries(stored).map(([name, value]) => [
      name,
      /^(?:a|filteredA)ttributes$/.test(name) ? toEntries(value) : toMessage(value),
    ]),
  );
}

const attributesIn = (json: string | null | undefined) => toEntries(parse(json ?? '{}'));
const messagesIn = (json: string | null | undefined) => toMessage(parse(json ?? 'null'));
const hexIn = (value: string | null | undefined) => value?.replace(/^\\x|-/g, '') ?? null;
const column = (row: Row, name: string): string | null => row[name] ?? null;

function toSpan(row: Row): JsonObject {
  return {
    traceId: hexIn(row.trace_id),
    spanId: hexIn(row.span_id),
    parentSpanId: hexIn(row.parent_span_id),
    traceState: column(row, 'trace_state'),
    flags: column(row, 'flags'),
    name: column(row, 'name'),
    kind: Number(row.kind),
    startTimeUnixNano: column(row, 'start_unix_nano'),
    endTimeUnixNano: column(row, 'end_unix_nano'),
    attributes: attributesIn(row.attributes),
    droppedAttributesCount: column(row, 'dropped_attributes'),
    events: messagesIn(row.events),
    droppedEventsCount: column(row, 'dropped_events'),
    links: messagesIn(row.links),
    droppedLinksCount: column(row, 'dropped_links'),
    status: { code: Number(row.status_code), message: column(row, 'status_message') },
  };
}

function toLogRecord(row: Row): JsonObject {
  return {
    timeUnixNano: column(row, 'time_unix_nano'),
    observedTimeUnixNano: column(row, 'observed_unix_nano'),
    severityNumber: Number(row.severity_number),
    severityText: column(row, 'severity_text'),
    eventName: column(row, 'event_name'),
    // No body is SQL's NULL, an empty one JSON's null.
    body: typeof row.body === 'string' ? toAnyValue(parse(row.body)) : null,
    attributes: attributesIn(row.attributes),
    droppedAttributesCount: column(row, 'dropped_attributes'),
    flags: column(row, 'flags'),
    traceId: hexIn(row.trace_id),
    spanId: hexIn(row.span_id),
  };
}

/** A row by its id, which must be there. */
function byId(rows: readonly Row[], id: string | null | undefined): Row {
  const row = rows.find((candidate) => candidate.id === id);
  if (row === undefined) throw new Error(`no row ${id}`);
  return row;
}

/** One export request with everything of the signal that the database holds. */
export async function rebuildRequest(database: pg.Pool, signal: RowSignal): Promise<JsonObject> {
  const [resourceList, scopeList, itemList] = LISTS[signal];
  const resources = await select(database, 'resources');
  const toItem = signal === 'traces' ? toSpan : toLogRecord;
  const rows = await select(database, TABLES[signal]);
  const entries = rows.map((row): JsonObject => {
    const origin = byId(resources, row.resource_id);
    const scope = {
      name: column(origin, 'scope_name'),
      version: column(origin, 'scope_version'),
      attributes: attributesIn(origin.scope_attributes),
      droppedAttributesCount: column(origin, 'scope_dropped_attributes'),
    };
    const schemaUrl = column(origin, 'scope_schema_url');
    return {
      resource: {
        attributes: attributesIn(origin.attributes),
        droppedAttributesCount: column(origin, 'dropped_attributes'),
      },
      schemaUrl: column(origin, 'schema_url'),
      [scopeList]: [{ scope, schemaUrl, [itemList]: [toItem(row)] }],
    };
  });
  return { [resourceList]: entries };
}
