/**
 * What must hold for every body: nothing throws, and neighbours of a bad record are kept.
 */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import type { DecodedRequest } from '../../src/model/telemetry.ts';
import type { DecodeResult } from '../../src/otlp/envelope.ts';
import { linesOf } from '../../src/otlp/lines/lines.ts';
import { decodeLogs } from '../../src/otlp/logs.ts';
import { decodeMetrics } from '../../src/otlp/metrics.ts';
import { toEnd } from '../../src/otlp/pieces.ts';
import { encodeExportResponse } from '../../src/otlp/responses.ts';
import { decodeTraces } from '../../src/otlp/traces.ts';
import { anyCharacter, casesOf } from '../support/cases.ts';
import { lineBytes } from '../support/decoding.ts';
import {
  accepted,
  attributes,
  logsBody,
  metricsBody,
  SPAN_ID,
  span,
  TRACE_ID,
  toBody,
  tracesBody,
} from './bodies.ts';

const RUNS = casesOf(500);

const DECODERS = [decodeTraces, decodeLogs, decodeMetrics] as const;

function decodeAll(body: Buffer): void {
  for (const decode of DECODERS) {
    const result: DecodeResult = decode(body);
    if (result.ok) JSON.parse(encodeExportResponse(result.request).toString());
  }
}

/** Every OTLP field name, so that random objects reach every parser. */
const FIELDS = (
  'resourceSpans scopeSpans spans resourceLogs scopeLogs logRecords resourceMetrics scopeMetrics ' +
  'metrics resource scope schemaUrl name version attributes droppedAttributesCount key value ' +
  'stringValue boolValue intValue doubleValue bytesValue arrayValue kvlistValue values traceId ' +
  'spanId parentSpanId traceState flags kind startTimeUnixNano endTimeUnixNano events links ' +
  'status code message timeUnixNano observedTimeUnixNano severityNumber severityText body ' +
  'eventName gauge sum histogram exponentialHistogram summary dataPoints aggregationTemporality ' +
  'isMonotonic asInt asDouble count bucketCounts explicitBounds min max scale zeroCount ' +
  'zeroThreshold positive negative offset quantileValues quantile exemplars filteredAttributes'
).split(' ');

const leaf: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue[]>(null, true, 0, 1, 2, -1, 1e19, '0', '1', '5', 'NaN', '', 'AQI='),
  fc.constantFrom<JsonValue[]>(TRACE_ID, SPAN_ID, '1726000000000000001', 1.726e18),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string({ unit: anyCharacter }),
);

const { otlpLike } = fc.letrec<{ otlpLike: JsonValue }>((tie) => ({
  otlpLike: fc.oneof(
    { maxDepth: 8, depthSize: 'large' },
    leaf,
    fc.array(tie('otlpLike'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...FIELDS), tie('otlpLike'), { maxKeys: 6 }),
  ),
}));

const anyJson: fc.Arbitrary<JsonValue> = fc.oneof(
  otlpLike,
  fc.jsonValue().map((value) => value as JsonValue),
);

describe('nothing throws', () => {
  test('on arbitrary bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => decodeAll(Buffer.from(bytes))),
      { numRuns: RUNS },
    );
  });

  test('on arbitrary JSON', () => {
    fc.assert(
      fc.property(anyJson, (value) => decodeAll(toBody(value))),
      { numRuns: RUNS },
    );
  });

  test('on arbitrary records in a valid frame', () => {
    fc.assert(
      fc.property(fc.array(anyJson, { maxLength: 4 }), (records) => {
        for (const body of [tracesBody(records), logsBody(records), metricsBody(records)]) {
          decodeAll(body);
        }
      }),
      { numRuns: RUNS },
    );
  });

  test('on a valid body cut anywhere or with one byte changed', () => {
    const body = tracesBody([FULL_SPAN]);
    const position = fc.nat({ max: body.length - 1 });
    fc.assert(
      fc.property(position, fc.nat({ max: 255 }), (at, byte) => {
        decodeAll(body.subarray(0, at));
        const changed = Buffer.from(body);
        changed[at] = byte;
        decodeAll(changed);
      }),
      { numRuns: RUNS },
    );
  });
});

const VALUES = { arrayValue: { values: [{ stringValue: 'a' }, { intValue: '5' }] } };

const FULL_SPAN: JsonObject = {
  ...span({ kind: 2, name: 'n', flags: 1, startTimeUnixNano: '5', endTimeUnixNano: 6 }),
  status: { code: 1, message: 'ok' },
  attributes: attributes({ kvlistValue: { values: [{ key: 'x', value: VALUES }] } }),
  events: [{ name: 'e', timeUnixNano: '1', attributes: attributes({ doubleValue: 0.5 }) }],
  links: [{ traceId: TRACE_ID, spanId: SPAN_ID, attributes: attributes({ boolValue: true }) }],
};

const FULL_LOG: JsonObject = {
  timeUnixNano: '1',
  observedTimeUnixNano: '2',
  severityNumber: 9,
  severityText: 'INFO',
  body: VALUES,
  attributes: attributes({ bytesValue: 'AQI=' }),
  traceId: TRACE_ID,
  spanId: SPAN_ID,
};

const FULL_POINT: JsonObject = {
  timeUnixNano: '1',
  count: '3',
  sum: 4,
  bucketCounts: ['1', '2'],
  explicitBounds: [0.5],
  attributes: attributes(VALUES),
  exemplars: [{ timeUnixNano: '1', asInt: '5', traceId: TRACE_ID, spanId: SPAN_ID }],
};

/** The value with the part that `path` points at (modulo what is there) put in place of `by`. */
function corrupt(value: JsonValue, path: readonly number[], by: JsonValue): JsonValue {
  const [step, ...rest] = path;
  if (step === undefined || typeof value !== 'object' || value === null) return by;
  const keys = Object.keys(value);
  const key = keys[step % keys.length];
  if (key === undefined) return by;
  if (Array.isArray(value)) {
    return value.map((item, index) => (String(index) === key ? corrupt(item, rest, by) : item));
  }
  return { ...value, [key]: corrupt(value[key] ?? null, rest, by) };
}

describe('one corrupted record keeps all others', () => {
  const damage = fc.tuple(fc.array(fc.nat({ max: 20 }), { maxLength: 8 }), anyJson);
  const place = fc.nat({ max: 4 });

  /** Decodes five equal records, one of them corrupted, and compares with four that are not. */
  function check(
    record: JsonObject,
    at: number,
    [path, by]: [number[], JsonValue],
    decode: (records: JsonValue[]) => { rows: readonly object[]; rejected: number },
  ): void {
    const { rows: intact } = decode([record, record, record, record]);
    const bad = corrupt(record, path, by);
    const { rows, rejected } = decode([
      ...Array(at).fill(record),
      bad,
      ...Array(4 - at).fill(record),
    ]);
    expect(rows.length + rejected).toBe(5);
    expect(intact).toHaveLength(4);
    const kept = rows.length === 5 ? rows.toSpliced(at, 1) : rows;
    expect(kept).toEqual(intact);
  }

  const rejectedIn = ({ rejections }: DecodedRequest): number =>
    rejections.reduce((sum, { count }) => sum + count, 0);

  /** The points of the lines that are stored. */
  function keptPoints(body: Buffer): object[] {
    const result = decodeMetrics(body);
    if (!result.ok) throw new Error(result.message);
    const lines = toEnd(linesOf('metrics', body, result.request.points, result.accepted));
    return lines.flatMap((line) => {
      const { resourceMetrics } = JSON.parse(lineBytes(line).toString());
      return resourceMetrics[0].scopeMetrics[0].metrics[0].histogram.dataPoints;
    });
  }

  test('spans', () => {
    fc.assert(
      fc.property(place, damage, (at, how) =>
        check(FULL_SPAN, at, how, (records) => {
          const request = accepted(decodeTraces(tracesBody(records)));
          return { rows: request.spans, rejected: rejectedIn(request) };
        }),
      ),
      { numRuns: RUNS },
    );
  });

  test('log records', () => {
    fc.assert(
      fc.property(place, damage, (at, how) =>
        check(FULL_LOG, at, how, (records) => {
          const request = accepted(decodeLogs(logsBody(records)));
          return { rows: request.logs, rejected: rejectedIn(request) };
        }),
      ),
      { numRuns: RUNS },
    );
  });

  test('points', () => {
    fc.assert(
      fc.property(place, damage, (at, how) =>
        check(FULL_POINT, at, how, (dataPoints) => {
          const histogram = { aggregationTemporality: 1, dataPoints };
          const body = metricsBody([{ name: 'm', histogram }]);
          const request = accepted(decodeMetrics(body));
          return { rows: keptPoints(body), rejected: rejectedIn(request) };
        }),
      ),
      { numRuns: RUNS },
    );
  });
});
