/**
 * The canonical form of an OTLP/JSON export request: one entry per record, with where it comes
 * from. Two requests that mean the same (defaults left out, hex in either case, base64 in either
 * alphabet, integers as text or number, lists of attributes in any order) have equal forms.
 *
 * Written from the .proto files alone; must never use the decoder, which it is there to judge.
 */
import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { LISTS } from './otlp-requests.ts';

/** One field's canonical value; undefined when it is the default, which is left out. */
type Canonical = (value: JsonValue) => JsonValue | undefined;
type Message = Readonly<Record<string, Canonical>>;

/** Fields whose presence means something keep their zero. */
const presentInt64: Canonical = (value) => String(BigInt(String(value)));
const presentDouble: Canonical = (value) =>
  Object.is(Number(value), -0) ? '-0' : String(Number(value));

const unlessDefault =
  (canonical: Canonical, zero: JsonValue): Canonical =>
  (value) => {
    const result = canonical(value);
    return result === zero ? undefined : result;
  };

const text = unlessDefault((value) => value, '');
const flag = unlessDefault((value) => value, false);
const int32 = unlessDefault((value) => Number(value), 0);
const int64 = unlessDefault(presentInt64, '0');
const double = unlessDefault(presentDouble, '0');
const id = unlessDefault((value) => String(value).toLowerCase(), '');

function listOf(element: Canonical): Canonical {
  return (value) => {
    const items = itemsOf(value).map((item) => element(item) ?? {});
    return items.length === 0 ? undefined : items;
  };
}

function messageOf(fields: Message): Canonical {
  return (value) => {
    const result = pick(fields, objectOf(value));
    return Object.keys(result).length === 0 ? undefined : result;
  };
}

/** Only the fields named, in the table's order. */
function pick(fields: Message, value: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const [name, canonical] of Object.entries(fields)) {
    const raw = value[name] ?? null;
    const own = raw === null ? undefined : canonical(raw);
    if (own !== undefined) result[name] = own;
  }
  return result;
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

function itemsOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** Of a repeated key the last entry counts; order means nothing. */
function entriesOf(value: JsonValue | undefined): JsonValue[] {
  const byKey = new Map<string, JsonValue>();
  for (const entry of itemsOf(value).map(objectOf)) {
    byKey.set(String(entry.key ?? ''), anyValue(entry.value ?? {}));
  }
  return [...byKey]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, entry]): JsonValue => ({ key, value: entry }));
}

function anyValue(value: JsonValue): JsonValue {
  const [[kind, held] = ['', null]] = Object.entries(objectOf(value));
  switch (kind) {
    case 'intValue':
      return { intValue: presentInt64(held) ?? '' };
    case 'doubleValue':
      return { doubleValue: presentDouble(held) ?? '' };
    case 'bytesValue':
      return { bytesValue: Buffer.from(String(held), 'base64').toString('base64') };
    case 'arrayValue':
      return { arrayValue: { values: itemsOf(objectOf(held).values).map(anyValue) } };
    case 'kvlistValue':
      return { kvlistValue: { values: entriesOf(objectOf(held).values) } };
    default:
      return value;
  }
}

const attributes: Canonical = (value) => {
  const entries = entriesOf(value);
  return entries.length === 0 ? undefined : entries;
};
const attributed: Message = { attributes, droppedAttributesCount: int32 };

const RESOURCE: Message = attributed;
const SCOPE: Message = { name: text, version: text, ...attributed };

const SPAN: Message = {
  traceId: id,
  spanId: id,
  parentSpanId: id,
  traceState: text,
  flags: int32,
  name: text,
  kind: int32,
  startTimeUnixNano: int64,
  endTimeUnixNano: int64,
  ...attributed,
  events: listOf(messageOf({ timeUnixNano: int64, name: text, ...attributed })),
  droppedEventsCount: int32,
  links: listOf(
    messageOf({ traceId: id, spanId: id, traceState: text, flags: int32, ...attributed }),
  ),
  droppedLinksCount: int32,
  status: messageOf({ code: int32, message: text }),
};

const LOG_RECORD: Message = {
  timeUnixNano: int64,
  observedTimeUnixNano: int64,
  severityNumber: int32,
  severityText: text,
  eventName: text,
  body: anyValue,
  ...attributed,
  flags: int32,
  traceId: id,
  spanId: id,
};

const POINT: Message = {
  attributes,
  startTimeUnixNano: int64,
  timeUnixNano: int64,
  flags: int32,
  asInt: presentInt64,
  asDouble: presentDouble,
  exemplars: listOf(
    messageOf({
      filteredAttributes: attributes,
      timeUnixNano: int64,
      asInt: presentInt64,
      asDouble: presentDouble,
      traceId: id,
      spanId: id,
    }),
  ),
};
const BUCKETS: Message = { offset: int32, bucketCounts: listOf(presentInt64) };
const MOMENTS: Message = { sum: presentDouble, min: presentDouble, max: presentDouble };

/** Points by the member of Metric that lists them. */
const POINTS: Readonly<Record<string, Message>> = {
  gauge: POINT,
  sum: POINT,
  histogram: {
    ...POINT,
    ...MOMENTS,
    count: int64,
    bucketCounts: listOf(presentInt64),
    explicitBounds: listOf(presentDouble),
  },
  exponentialHistogram: {
    ...POINT,
    ...MOMENTS,
    count: int64,
    scale: int32,
    zeroCount: int64,
    zeroThreshold: double,
    positive: messageOf(BUCKETS),
    negative: messageOf(BUCKETS),
  },
  summary: {
    ...POINT,
    count: int64,
    sum: double,
    quantileValues: listOf(messageOf({ quantile: double, value: double })),
  },
};
const METRIC: Message = { name: text, description: text, unit: text, metadata: attributes };
const AGGREGATION: Message = { aggregationTemporality: int32, isMonotonic: flag };

function recordsOf(signal: Signal, item: JsonObject): JsonObject[] {
  if (signal === 'traces') return [pick(SPAN, item)];
  if (signal === 'logs') return [pick(LOG_RECORD, item)];
  const identity = pick(METRIC, item);
  return Object.entries(POINTS).flatMap(([kind, fields]) => {
    const data = objectOf(item[kind]);
    const metric = { kind, ...identity, ...pick(AGGREGATION, data) };
    return itemsOf(data.dataPoints).map((point) => ({
      metric,
      point: pick(fields, objectOf(point)),
    }));
  });
}

/**
 * The canonical form: records in an order that depends on nothing but their content. Resources,
 * scopes and metrics without records leave no trace in it, as OTLP lets receivers ignore them.
 */
export function canonicalRecords(signal: Signal, request: JsonObject): JsonObject[] {
  const [resourceList, scopeList, itemList] = LISTS[signal];
  const records: JsonObject[] = [];
  for (const entry of itemsOf(request[resourceList]).map(objectOf)) {
    const resource = pick(RESOURCE, objectOf(entry.resource));
    for (const scoped of itemsOf(entry[scopeList]).map(objectOf)) {
      const origin = {
        resource,
        schemaUrl: entry.schemaUrl ?? '',
        scope: pick(SCOPE, objectOf(scoped.scope)),
        scopeSchemaUrl: scoped.schemaUrl ?? '',
      };
      for (const item of itemsOf(scoped[itemList]).map(objectOf)) {
        for (const record of recordsOf(signal, item)) records.push({ ...origin, record });
      }
    }
  }
  return records
    .map((record) => ({ record, order: JSON.stringify(record) }))
    .sort((a, b) => (a.order < b.order ? -1 : 1))
    .map(({ record }) => record);
}
