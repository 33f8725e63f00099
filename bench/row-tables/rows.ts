/**
 * Export requests as rows of the tables in `tables.ts`. Only for the benchmark's own bodies: nothing is
 * checked, and events and links are stored as they were sent. Pure.
 */
import { createHash } from 'node:crypto';

import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { type EnclosedRecord, recordsIn } from '../request-records.ts';

/** 64-bit integers are decimal text, bytes and ids are hexadecimal digits, JSON is text. */
export type Value = string | number | null;
/** Values in the order of the table's columns. */
export type Row = readonly Value[];

const WORKSPACE_ID = 1;

/** An id made of a content. */
const idOf = (content: unknown): string =>
  createHash('md5').update(JSON.stringify(content)).digest('hex');

const text = (value: JsonValue | undefined): Value => (value as Value | undefined) ?? null;
/** Null in place of 0 or an empty text. */
const unlessEmpty = (value: JsonValue | undefined): Value => (value as Value | undefined) || null;
const json = (value: JsonValue | undefined): Value =>
  value === undefined ? null : JSON.stringify(value);

function plainValue(value: JsonObject): JsonValue {
  const { stringValue, intValue, doubleValue, boolValue, arrayValue, kvlistValue } = value;
  if (arrayValue !== undefined) {
    return ((arrayValue as JsonObject).values as JsonObject[]).map(plainValue);
  }
  if (kvlistValue !== undefined) return attributesOf((kvlistValue as JsonObject).values);
  if (intValue !== undefined) return Number(intValue);
  return stringValue ?? doubleValue ?? boolValue ?? null;
}

function attributesOf(list: JsonValue | undefined): JsonObject {
  const object: JsonObject = {};
  for (const { key, value } of (list ?? []) as { key: string; value: JsonObject }[]) {
    object[key] = plainValue(value);
  }
  return object;
}

function list(value: JsonValue | undefined): Value {
  return Array.isArray(value) && value.length > 0 ? JSON.stringify(value) : null;
}

function spanRow({ record }: EnclosedRecord, arrivedOn: string, resourceId: string): Row {
  const status = (record.status ?? {}) as JsonObject;
  return [
    text(record.startTimeUnixNano),
    text(record.endTimeUnixNano),
    WORKSPACE_ID,
    arrivedOn,
    text(record.traceId),
    null,
    resourceId,
    text(record.kind),
    text(status.code ?? 0),
    unlessEmpty(record.flags),
    unlessEmpty(record.droppedAttributesCount),
    unlessEmpty(record.droppedEventsCount),
    unlessEmpty(record.droppedLinksCount),
    text(record.spanId),
    unlessEmpty(record.parentSpanId),
    text(record.name),
    unlessEmpty(status.message),
    unlessEmpty(record.traceState),
    json(attributesOf(record.attributes)),
    list(record.events),
    list(record.links),
  ];
}

function logRow({ record }: EnclosedRecord, arrivedOn: string, resourceId: string): Row {
  return [
    text(record.timeUnixNano),
    text(record.observedTimeUnixNano),
    WORKSPACE_ID,
    arrivedOn,
    unlessEmpty(record.traceId),
    null,
    resourceId,
    text(record.severityNumber),
    unlessEmpty(record.flags),
    unlessEmpty(record.droppedAttributesCount),
    unlessEmpty(record.spanId),
    unlessEmpty(record.severityText),
    unlessEmpty(record.eventName),
    record.body === undefined ? null : json(plainValue(record.body as JsonObject)),
    json(attributesOf(record.attributes)),
  ];
}

function pointRow({ record, metric }: EnclosedRecord, arrivedOn: string, resourceId: string): Row {
  const { bucketCounts, explicitBounds } = record;
  return [
    text(record.timeUnixNano),
    text(record.startTimeUnixNano),
    WORKSPACE_ID,
    arrivedOn,
    idOf(metric),
    resourceId,
    unlessEmpty(record.flags),
    text(record.asInt),
    text(record.asDouble),
    text(record.count),
    text(record.sum),
    text(record.min),
    text(record.max),
    json(attributesOf(record.attributes)),
    bucketCounts === undefined ? null : JSON.stringify({ bucketCounts, explicitBounds }),
    json(record.exemplars),
  ];
}

const ROWS = { traces: spanRow, logs: logRow, metrics: pointRow };

/** @param arrivedOn a day, as `2026-11-20` */
export function* rowsOf(signal: Signal, request: JsonObject, arrivedOn: string): Generator<Row> {
  const toRow = ROWS[signal];
  let scope: JsonObject | null = null;
  let resourceId = '';
  for (const enclosed of recordsIn(signal, request)) {
    if (enclosed.scope !== scope) {
      resourceId = idOf([enclosed.resource, enclosed.scope]);
      scope = enclosed.scope;
    }
    yield toRow(enclosed, arrivedOn, resourceId);
  }
}
