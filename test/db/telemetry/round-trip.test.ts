/**
 * Nothing is lost: a request goes through the decoder and COPY into a real PostgreSQL, is read back from
 * the lines of the blocks, and means what it meant. Once with a request that holds everything there
 * is, by hand; then with generated ones.
 */

import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CopyWriter } from '../../../src/db/telemetry/copy-writer.ts';
import { LogRuns } from '../../../src/db/telemetry/log-runs.ts';
import { ByteBudget } from '../../../src/http/ingest/byte-budget.ts';
import { decodePlainly } from '../../../src/ingest/plain-decoder.ts';
import type { JsonObject, JsonValue } from '../../../src/model/json.ts';
import type { Signal } from '../../../src/model/telemetry.ts';
import { casesOf } from '../../support/cases.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { canonicalRecords } from '../../support/otlp-canonical.ts';
import { exportRequest } from '../../support/otlp-requests.ts';
import { NOON_MS } from '../../support/rows.ts';
import { storedLines } from '../../support/stored-blocks.ts';
import { silentEvents } from '../../support/stored-runs.ts';

const WORKSPACE = 1;
const LISTS = {
  traces: 'resourceSpans',
  logs: 'resourceLogs',
  metrics: 'resourceMetrics',
} as const;
/** Generated requests per signal; each is a transaction and a TRUNCATE. */
const RUNS = casesOf(200, 4);

let scratch: MigratedDatabase;
let writer: CopyWriter;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
  writer = new CopyWriter(scratch.database, { budget: new ByteBudget(1 << 28) }, silentEvents);
});
afterAll(async () => {
  await writer.close();
  await scratch.close();
});

/** Stores a request in empty tables; @returns the number of its records */
async function store(signal: Signal, request: JsonObject): Promise<number> {
  await scratch.database.query(
    'DELETE FROM hot_places; DELETE FROM hot_blocks; DELETE FROM blocks; DELETE FROM runs',
  );
  const body = Buffer.from(JSON.stringify(request));
  const context = { workspaceId: WORKSPACE, arrivedAtMs: NOON_MS, logRuns: new LogRuns() };
  const decoded = decodePlainly(signal, body, context);
  if (!decoded.ok) throw new Error(`undecodable at "${decoded.path}": ${decoded.message}`);
  const { rejections, encoded } = decoded.request;
  expect(rejections).toEqual([]);
  await writer.offer(encoded);
  return encoded.records;
}

async function rebuiltRecords(signal: Signal): Promise<JsonValue[]> {
  const lines = await storedLines(scratch.database, signal);
  const list = LISTS[signal];
  return canonicalRecords(signal, { [list]: lines.flatMap(({ text }) => JSON.parse(text)[list]) });
}

async function comesBack(signal: Signal, request: JsonObject): Promise<void> {
  const records = await store(signal, request);
  const rebuilt = await rebuiltRecords(signal);
  expect(rebuilt).toHaveLength(records);
  expect(rebuilt).toStrictEqual(canonicalRecords(signal, request));
}

// ── One of everything ────────────────────────────────────────────────────────────────────────

const TRACE_ID = '5B8EFFF798038103D269B633813FC60C';
const SPAN_ID = 'eee19b7ec3c1b174';
const TIME = '1763640000123456789';
const INT64_MIN = '-9223372036854775808';
const INT64_MAX = '9223372036854775807';

/** Every kind of value, by a name for it. */
const VALUES: Readonly<Record<string, JsonObject>> = {
  text: { stringValue: 'line\n"quoted" \\ 日本語 🚀 \u0001' },
  emptyText: { stringValue: '' },
  true: { boolValue: true },
  false: { boolValue: false },
  five: { intValue: 5 },
  zero: { intValue: '0' },
  largest: { intValue: INT64_MAX },
  smallest: { intValue: INT64_MIN },
  beyondDoubles: { intValue: '9007199254740993' },
  wholeDouble: { doubleValue: '5.0' },
  zeroDouble: { doubleValue: 0 },
  minusZero: { doubleValue: '-0' },
  tiny: { doubleValue: 5e-324 },
  huge: { doubleValue: 1.7976931348623157e308 },
  exact: { doubleValue: 0.1 },
  nan: { doubleValue: 'NaN' },
  infinity: { doubleValue: 'Infinity' },
  minusInfinity: { doubleValue: '-Infinity' },
  bytes: { bytesValue: '-_8' },
  noBytes: { bytesValue: '' },
  empty: {},
  emptyList: { arrayValue: { values: [] } },
  emptyMap: { kvlistValue: {} },
  list: { arrayValue: { values: [{ stringValue: 'a' }, {}, { doubleValue: '2.0' }] } },
  map: {
    kvlistValue: {
      values: ['$', '$bytes', '$$double', '', '10', '9', '__proto__'].map((key) => ({
        key,
        value: { stringValue: key },
      })),
    },
  },
  // What the stored form writes for bytes and for NaN, sent as a map: not to be taken for them.
  likeBytes: { kvlistValue: { values: [{ key: '$bytes', value: { stringValue: 'AQI=' } }] } },
  likeNan: { kvlistValue: { values: [{ key: '$double', value: { stringValue: 'NaN' } }] } },
  deep: nested(60),
};

/** Lists within lists, `levels` of them. */
function nested(levels: number): JsonObject {
  let value: JsonObject = { intValue: 1 };
  for (let level = 0; level < levels; level += 1) value = { arrayValue: { values: [value] } };
  return value;
}

const ATTRIBUTES: JsonValue = [
  ...Object.entries(VALUES).map(([key, value]) => ({ key, value })),
  { key: '$top', value: { stringValue: 'not doubled' } },
  { key: 'noValue' },
];

const RESOURCE = { attributes: ATTRIBUTES, droppedAttributesCount: 4294967295 };
const SCOPE = { name: 'agent-lib', version: '4.2', ...RESOURCE };
const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.40.0';

/** Under a resource with everything, under one with nothing, and twice under the same one. */
function request(resources: string, scopes: string, items: string, list: JsonValue): JsonObject {
  const scoped = { scope: SCOPE, schemaUrl: `${SCHEMA_URL}#scope`, [items]: list };
  const full = { resource: RESOURCE, schemaUrl: SCHEMA_URL };
  return {
    [resources]: [
      { ...full, [scopes]: [scoped, { [items]: list }] },
      { [scopes]: [{ [items]: list }] },
      { ...full, [scopes]: [scoped] },
    ],
  };
}

test('spans: every field, every kind of value', async () => {
  const event = { name: 'e', timeUnixNano: TIME, attributes: ATTRIBUTES };
  const link = { traceId: TRACE_ID, spanId: SPAN_ID };
  const full = {
    traceId: TRACE_ID,
    spanId: SPAN_ID,
    parentSpanId: 'EEE19B7EC3C1B175',
    traceState: 'a=1,b=2',
    flags: 4294967295,
    name: 'chat "m"',
    kind: 5,
    startTimeUnixNano: TIME,
    endTimeUnixNano: INT64_MAX,
    attributes: ATTRIBUTES,
    droppedAttributesCount: 1,
    events: [event, { ...event, droppedAttributesCount: 7 }, {}],
    droppedEventsCount: 2,
    links: [
      link,
      { ...link, traceState: 'c=3', flags: 769, droppedAttributesCount: 8, attributes: ATTRIBUTES },
    ],
    droppedLinksCount: 3,
    status: { code: 2, message: 'boom' },
  };
  const bare = { traceId: TRACE_ID, spanId: SPAN_ID };
  await comesBack('traces', request('resourceSpans', 'scopeSpans', 'spans', [full, bare, full]));
});

test('log records: every field, a body of every kind, and none', async () => {
  const full = {
    timeUnixNano: TIME,
    observedTimeUnixNano: '1763640000123456790',
    severityNumber: 24,
    severityText: 'FATAL4',
    eventName: 'gen_ai.evaluation',
    attributes: ATTRIBUTES,
    droppedAttributesCount: 4294967295,
    flags: 1,
    traceId: TRACE_ID,
    spanId: SPAN_ID,
  };
  const bodies = Object.values(VALUES).map((body) => ({ ...full, body }));
  const records = [...bodies, full, {}, { body: {} }, { observedTimeUnixNano: 1 }];
  await comesBack('logs', request('resourceLogs', 'scopeLogs', 'logRecords', records));
});

test('points of the five kinds: every field, exemplars, values that were not recorded', async () => {
  const exemplars = [
    { timeUnixNano: TIME, asInt: INT64_MIN, traceId: TRACE_ID, spanId: SPAN_ID },
    { timeUnixNano: TIME, asDouble: '-0', filteredAttributes: ATTRIBUTES },
    { asDouble: 'NaN' },
    {},
  ];
  const common = {
    startTimeUnixNano: '1763640000000000001',
    timeUnixNano: TIME,
    attributes: ATTRIBUTES,
    exemplars,
    flags: 4294967294,
  };
  const bare = { timeUnixNano: '1' };
  const unrecorded = { timeUnixNano: TIME, flags: 1 };
  const integers = [INT64_MAX, INT64_MIN, 0, 9007199254740991].map((asInt) => ({ ...bare, asInt }));
  const doubles = ['NaN', 'Infinity', '-Infinity', '-0', 5, 0.1, 5e-324].map((asDouble) => {
    return { ...common, asDouble };
  });
  const numbers = [...integers, ...doubles, unrecorded];
  const moments = { sum: '-0', min: '-Infinity', max: 'NaN' };
  const bucketCounts = ['9007199254740993', 0, 2];
  const counted = { bucketCounts, explicitBounds: [-1.5, 5], count: '9007199254740995' };
  const infinite = { bucketCounts: [1, 2, 3], explicitBounds: ['-Infinity', 0], count: 6 };
  const exponential = {
    scale: -10,
    zeroCount: '9007199254740993',
    zeroThreshold: 1e-9,
    positive: { offset: -2147483648, bucketCounts: [1, 0] },
    negative: { offset: 2147483647, bucketCounts: ['2'] },
    count: '9007199254740996',
  };
  const quantileValues = [{ quantile: 0, value: '-0' }, { quantile: 1, value: 'NaN' }, {}];
  const identity = {
    name: 'gen_ai.client.token.usage',
    description: 'Tokens "used".',
    unit: '{token}',
    metadata: ATTRIBUTES,
  };
  const histograms = [
    { ...common, ...moments, ...counted },
    { ...common, ...infinite },
    { ...bare, count: INT64_MAX, sum: 0 },
    bare,
    unrecorded,
  ];
  const kinds = (aggregationTemporality: number): JsonValue => [
    { ...identity, gauge: { dataPoints: numbers } },
    { ...identity, sum: { aggregationTemporality, isMonotonic: true, dataPoints: numbers } },
    { ...identity, name: 'up', sum: { aggregationTemporality, dataPoints: numbers } },
    { ...identity, histogram: { aggregationTemporality, dataPoints: histograms } },
    {
      ...identity,
      exponentialHistogram: {
        aggregationTemporality,
        dataPoints: [{ ...common, ...moments, ...exponential }, bare, unrecorded],
      },
    },
    {
      ...identity,
      summary: {
        dataPoints: [
          { ...common, count: INT64_MAX, sum: 1.5, quantileValues },
          { ...bare, sum: 'Infinity' },
          unrecorded,
        ],
      },
    },
    { gauge: { dataPoints: numbers } },
  ];
  for (const temporality of [1, 2]) {
    const metrics = kinds(temporality);
    await comesBack('metrics', request('resourceMetrics', 'scopeMetrics', 'metrics', metrics));
  }
});

// ── Generated ────────────────────────────────────────────────────────────────────────────────

test.each(['traces', 'logs', 'metrics'] as const)('any request of %s', async (signal) => {
  await fc.assert(
    fc.asyncProperty(exportRequest(signal), (generated) => comesBack(signal, generated)),
    { numRuns: RUNS },
  );
});
