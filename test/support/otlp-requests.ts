/**
 * Generates valid OTLP/JSON export requests of all three signals, with everything a sender may
 * write: every field set or left out, every kind of value, 64-bit integers as text and as numbers.
 *
 * Must never make what the server has to refuse: a test may ask for all of it back.
 */
import fc from 'fast-check';

import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import type { Signal } from '../../src/model/telemetry.ts';

type Fields = Record<string, fc.Arbitrary<JsonValue>>;

/** A message with all of `required` and any of `optional`. */
function message(required: Fields, optional: Fields = {}): fc.Arbitrary<JsonObject> {
  const fields: Fields = { ...required, ...optional };
  return fc.record(fields, { requiredKeys: Object.keys(required), noNullPrototype: true });
}

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom('', '$', '"\\\n\u0001\u007f', '日本語 🚀', '\u{10ffff}', '\\u0000', 'null'),
);
const int64 = fc.oneof(
  fc.bigInt({ min: INT64_MIN, max: INT64_MAX }).map(String),
  fc.constantFrom('0', String(INT64_MIN), String(INT64_MAX), '9007199254740993'),
  fc.maxSafeInteger().map((value) => value + 0),
);
const uint63 = fc.oneof(
  fc.bigInt({ min: 0n, max: INT64_MAX }).map(String),
  fc.maxSafeNat(),
  fc.constantFrom('0', '1763640000123456789', String(INT64_MAX)),
);
/** A data point has no business at time 0. */
const pointTime = uint63.map((time) => (Number(time) === 0 ? '1' : time));
const uint32 = fc.oneof(fc.nat({ max: 0xff_ff_ff_ff }), fc.constantFrom(0, 0xff_ff_ff_ff));
/** Minus zero travels as text: `JSON.stringify` would drop its sign. */
const finite = fc
  .double({ noNaN: true, noDefaultInfinity: true })
  .map((value) => (Object.is(value, -0) ? '-0' : value));
const double = fc.oneof(
  finite,
  fc.constantFrom<JsonValue[]>('NaN', 'Infinity', '-Infinity', '-0', '5.0', 5, 0, 5e-324, '1e300'),
);

function hex(bytes: number): fc.Arbitrary<string> {
  return fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .filter((id) => id.some((byte) => byte !== 0))
    .chain((id) => {
      const digits = Buffer.from(id).toString('hex');
      return fc.constantFrom(digits, digits.toUpperCase());
    });
}
const traceId = hex(16);
const spanId = hex(8);

const bytes = fc
  .tuple(fc.uint8Array({ maxLength: 9 }), fc.constantFrom<BufferEncoding[]>('base64', 'base64url'))
  .map(([value, alphabet]) => Buffer.from(value).toString(alphabet));
const key = fc.oneof(text, fc.constantFrom('a', '$bytes', '$double', '$$', '__proto__', '10', '9'));

function entries(value: fc.Arbitrary<JsonValue>): fc.Arbitrary<JsonObject[]> {
  const entry = fc.oneof({ weight: 9, arbitrary: message({ key, value }) }, message({ key }));
  return fc.uniqueArray(entry, { maxLength: 4, selector: (item) => item.key });
}

const { anyValue } = fc.letrec<{ anyValue: JsonObject }>((tie) => ({
  anyValue: fc.oneof(
    { maxDepth: 5, depthSize: 'medium' },
    message({ stringValue: text }),
    message({ boolValue: fc.boolean() }),
    message({ intValue: int64 }),
    message({ doubleValue: double }),
    message({ bytesValue: bytes }),
    fc.constant({}),
    message({ arrayValue: message({ values: fc.array(tie('anyValue'), { maxLength: 4 }) }) }),
    message({ kvlistValue: message({ values: entries(tie('anyValue')) }) }),
    fc.constantFrom<JsonObject[]>({ arrayValue: {} }, { kvlistValue: { values: null } }),
  ),
}));

const attributes = entries(anyValue);
const attributed: Fields = { attributes, droppedAttributesCount: uint32 };

const event = message({}, { timeUnixNano: uint63, name: text, ...attributed });
const link = message({ traceId, spanId }, { traceState: text, flags: uint32, ...attributed });
const status = message({}, { code: fc.nat({ max: 2 }), message: text });
const span = message(
  { traceId, spanId },
  {
    ...attributed,
    parentSpanId: fc.oneof(spanId, fc.constant('')),
    traceState: text,
    flags: uint32,
    name: text,
    kind: fc.nat({ max: 5 }),
    startTimeUnixNano: uint63,
    endTimeUnixNano: uint63,
    events: fc.array(event, { maxLength: 3 }),
    droppedEventsCount: uint32,
    links: fc.array(link, { maxLength: 3 }),
    droppedLinksCount: uint32,
    status,
  },
);

const logRecord = message(
  {},
  {
    ...attributed,
    timeUnixNano: uint63,
    observedTimeUnixNano: uint63,
    severityNumber: fc.nat({ max: 24 }),
    severityText: text,
    eventName: text,
    body: anyValue,
    flags: uint32,
    traceId,
    spanId,
  },
);

const number = fc.oneof(message({ asInt: int64 }), message({ asDouble: double }));
const exemplar = fc
  .tuple(
    message({}, { timeUnixNano: uint63, filteredAttributes: attributes, traceId, spanId }),
    fc.oneof(number, fc.constant({})),
  )
  .map(([fields, value]) => ({ ...fields, ...value }));

/** Bit 0 is left alone: with it set, the values need not be there. */
const recordedFlags = uint32.map((flags) => flags - (flags % 2));

function point(values: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> {
  const optional = {
    attributes,
    startTimeUnixNano: uint63,
    flags: recordedFlags,
    exemplars: fc.array(exemplar, { maxLength: 3 }),
  };
  const recorded = fc
    .tuple(message({ timeUnixNano: pointTime }, optional), values)
    .map(([common, own]) => ({ ...common, ...own }));
  const notRecorded = message({ timeUnixNano: pointTime, flags: fc.constant(1) }, { attributes });
  return fc.oneof({ weight: 9, arbitrary: recorded }, notRecorded);
}

const bucketCount = fc.oneof(fc.nat(), fc.bigInt({ min: 0n, max: 2n ** 58n }).map(String));
const bucketCounts = fc.array(bucketCount, { maxLength: 5 });
const sumOf = (counts: readonly JsonValue[]): string =>
  String(counts.reduce<bigint>((sum, count) => sum + BigInt(String(count)), 0n));
const moments: Fields = { sum: double, min: double, max: double };

const bounds = fc
  .uniqueArray(
    // Adding zero makes minus zero plain zero, which it must not stand beside.
    fc.double({ noNaN: true }).map((bound) => bound + 0),
    { minLength: 1, maxLength: 5 },
  )
  .map((list) => list.sort((a, b) => a - b));
const bucketed = bounds.chain((list) =>
  fc
    .array(bucketCount, { minLength: list.length + 1, maxLength: list.length + 1 })
    .map((counts) => ({
      explicitBounds: list.map((bound) => (Number.isFinite(bound) ? bound : String(bound))),
      bucketCounts: counts,
      count: sumOf(counts),
    })),
);
const histogram = fc
  .tuple(fc.oneof(bucketed, message({ count: uint63 })), message({}, moments))
  .map(([counted, measured]) => ({ ...counted, ...measured }));

const buckets = message({ bucketCounts }, { offset: fc.integer() });
const exponentialHistogram = fc
  .tuple(
    message({ zeroCount: bucketCount, positive: buckets, negative: buckets }),
    message({}, { ...moments, scale: fc.integer(), zeroThreshold: double }),
  )
  .map(([counted, measured]) => {
    const sides = [counted.positive, counted.negative] as { bucketCounts: JsonValue[] }[];
    const counts = sides.flatMap((side) => side.bucketCounts);
    return { ...counted, ...measured, count: sumOf([counted.zeroCount ?? 0, ...counts]) };
  });

const quantile = message(
  {},
  { quantile: fc.double({ min: 0, max: 1, noNaN: true }).map((at) => at + 0), value: double },
);
const summary = message(
  {},
  { count: uint63, sum: double, quantileValues: fc.array(quantile, { maxLength: 4 }) },
);

const aggregationTemporality = fc.constantFrom(1, 2);

function points(values: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject[]> {
  return fc.array(point(values), { maxLength: 3 });
}
const metric = fc
  .tuple(
    message({}, { name: text, description: text, unit: text, metadata: attributes }),
    fc.oneof(
      message({ gauge: message({ dataPoints: points(number) }) }),
      message({
        sum: message(
          { aggregationTemporality, dataPoints: points(number) },
          { isMonotonic: fc.boolean() },
        ),
      }),
      message({ histogram: message({ aggregationTemporality, dataPoints: points(histogram) }) }),
      message({
        exponentialHistogram: message({
          aggregationTemporality,
          dataPoints: points(exponentialHistogram),
        }),
      }),
      message({ summary: message({ dataPoints: points(summary) }) }),
    ),
  )
  .map(([identity, data]) => ({ ...identity, ...data }));

const resource = message({}, attributed);
const scope = message({}, { ...attributed, name: text, version: text });

/** Names of the lists of a request, outermost first. */
export const LISTS = {
  traces: ['resourceSpans', 'scopeSpans', 'spans'],
  logs: ['resourceLogs', 'scopeLogs', 'logRecords'],
  metrics: ['resourceMetrics', 'scopeMetrics', 'metrics'],
} as const satisfies Record<Signal, readonly [string, string, string]>;

const ITEMS: Readonly<Record<Signal, fc.Arbitrary<JsonObject>>> = {
  traces: span,
  logs: logRecord,
  metrics: metric,
};

/** A valid export request of the signal: up to two resources, scopes each, and items in those. */
export function exportRequest(signal: Signal): fc.Arbitrary<JsonObject> {
  const [resources, scopes, items] = LISTS[signal];
  const list = fc.array(ITEMS[signal], { maxLength: 4 });
  const scopeEntry = message({ [items]: list }, { scope, schemaUrl: text });
  const scopeList = fc.array(scopeEntry, { maxLength: 2 });
  const resourceEntry = message({ [scopes]: scopeList }, { resource, schemaUrl: text });
  return message({ [resources]: fc.array(resourceEntry, { minLength: 1, maxLength: 2 }) });
}
