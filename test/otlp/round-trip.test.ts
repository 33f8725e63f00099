/**
 * Values come back as they were sent: any AnyValue, and 64-bit integers however they are written.
 */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/model/json.ts';
import { parseAnyValue } from '../../src/otlp/any-value.ts';
import { Fault } from '../../src/otlp/fault.ts';
import { decodeTraces } from '../../src/otlp/traces.ts';
import { casesOf } from '../support/exhaustive.ts';
import { accepted, SPAN_ID, TRACE_ID } from './bodies.ts';

/** An AnyValue, and the value that `JSON.parse` should give for its stored form. */
interface Sample {
  readonly sent: JsonValue;
  readonly stored: JsonValue;
}

const key = fc.oneof(fc.constantFrom('a', '$', '$bytes', '', '__proto__'), fc.string());

const { sample } = fc.letrec<{ sample: Sample }>((tie) => ({
  sample: fc.oneof(
    { maxDepth: 6, depthSize: 'large' },
    fc.string({ unit: 'grapheme' }).map((text) => ({ sent: { stringValue: text }, stored: text })),
    fc.boolean().map((flag) => ({ sent: { boolValue: flag }, stored: flag })),
    fc.maxSafeInteger().map((int) => ({ sent: { intValue: String(int) }, stored: int })),
    fc
      .double({ noNaN: true, noDefaultInfinity: true })
      .map((double) => ({ sent: { doubleValue: String(double) }, stored: double + 0 })),
    fc.uint8Array().map((bytes) => {
      const $bytes = Buffer.from(bytes).toString('base64');
      return { sent: { bytesValue: $bytes }, stored: { $bytes } };
    }),
    fc.array(tie('sample'), { maxLength: 4 }).map((samples) => ({
      sent: { arrayValue: { values: samples.map(({ sent }) => sent) } },
      stored: samples.map(({ stored }) => stored),
    })),
    fc.array(fc.tuple(key, tie('sample')), { maxLength: 4 }).map((entries) => ({
      sent: { kvlistValue: { values: entries.map(([k, { sent }]) => ({ key: k, value: sent })) } },
      // Object.fromEntries lets the last of a repeated key win, too.
      stored: Object.fromEntries(
        entries.map(([k, { stored }]) => [k.startsWith('$') ? `$${k}` : k, stored]),
      ),
    })),
  ),
}));

const RUNS = casesOf(500);

describe('values come back as they were sent', () => {
  test('any AnyValue', () => {
    fc.assert(
      fc.property(sample, ({ sent, stored }) => {
        const fault = new Fault();
        const back = JSON.parse(parseAnyValue(sent, 1, fault));
        expect(fault.refused).toBe(false);
        expect(JSON.stringify(sorted(back))).toBe(JSON.stringify(sorted(stored)));
      }),
      { numRuns: RUNS },
    );
  });

  test('64-bit integers with all their digits, as strings and as bare numbers', () => {
    const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    const time = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(int64, time, fc.constantFrom('', '"'), (int, nanos, quote) => {
        const body =
          `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"${TRACE_ID}",` +
          `"spanId":"${SPAN_ID}","startTimeUnixNano": ${quote}${nanos}${quote},` +
          `"attributes":[{"key":"k","value":{"intValue":${quote}${int}${quote}}}]}]}]}]}`;
        const request = accepted(decodeTraces(Buffer.from(body)));
        expect(request.rejections).toEqual([]);
        expect(request.spans).toMatchObject([
          { startUnixNano: String(nanos), attributes: `{"k":${int}}` },
        ]);
      }),
      { numRuns: RUNS },
    );
  });
});

/**
 * The same value with its keys in order, since the place of a repeated key is not what is compared.
 */
function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, item]) => [k, sorted(item)]),
  );
}
