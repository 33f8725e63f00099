/**
 * The fast way from bytes to lines and runs gives what the plain way gives, or leaves the body to
 * it. Random exports in every way of writing JSON, tidy ones, broken ones.
 */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { traceBody } from '../../bench/bodies.ts';
import { logBody, metricBody } from '../../bench/signal-bodies.ts';
import { RequestChecker } from '../../src/ingest/request-checker.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { PIECE_BYTES, toEnd } from '../../src/otlp/pieces.ts';
import { casesOf } from '../support/cases.ts';
import { lineBytes, scanOrNull } from '../support/decoding.ts';
import { NOON_MS } from '../support/rows.ts';
import { SPAN_ID, TRACE_ID } from './bodies.ts';
import { isTakenAlike as compare, freshContext, scanned, WORKSPACE } from './both-ways.ts';
import { dice, exportTree } from './export-trees.ts';
import { type Habits, pick, TIDY, writeJson } from './json-writer.ts';

const RUNS = casesOf(500, 20);
/** Properties take a second or two, and many times that where machines are shared. */
const TIMEOUT_MS = 120_000;
const SIGNALS: readonly Signal[] = ['traces', 'logs', 'metrics'];

const share: fc.Arbitrary<number> = fc.constantFrom(0, 0, 0.02, 0.3);
const habits: fc.Arbitrary<Habits> = fc.record({
  spaces: share,
  escapes: share,
  nameEscapes: fc.constantFrom(0, 0, 0, 0.01),
  shuffles: share,
  strangers: share,
  repeats: fc.constantFrom(0, 0, 0, 0.01),
  unstorable: fc.constantFrom(0, 0, 0, 0.005),
});
const seed = fc.integer();
const faults = fc.constantFrom(0, 0, 0, 0.002, 0.05);

/** The body with some bytes changed, removed, doubled or cut off. */
function damaged(body: Buffer, random: () => number): Buffer {
  let bytes = Buffer.from(body);
  for (let count = 0; count < 3; count += 1) {
    const at = Math.floor(random() * bytes.length);
    const to = Math.min(bytes.length, at + Math.floor(random() * 8));
    const kind = random();
    if (kind < 0.5)
      bytes[at] = pick(random, [...Buffer.from('"\\{}[]:, 0-.eu\0\u00ff'), 0xff, 0x80]);
    else if (kind < 0.7) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(to)]);
    else if (kind < 0.9) bytes = Buffer.concat([bytes.subarray(0, to), bytes.subarray(at)]);
    else bytes = bytes.subarray(0, at);
    if (random() < 0.6 || bytes.length === 0) break;
  }
  return bytes;
}

describe('however far ahead it may look', { timeout: TIMEOUT_MS }, () => {
  const checker = new RequestChecker();

  test.each(SIGNALS)('a body of %s gives the same, or is left to the plain way', (signal) => {
    fc.assert(
      fc.property(seed, fc.nat(), (start, far) => {
        const random = dice(start, 0);
        const body = Buffer.from(writeJson(exportTree(random, signal), TIDY, random));
        const whole = scanOrNull(signal, body, freshContext());
        const ahead = far % (body.length + 16);
        const taken = toEnd(checker.scan(signal, body, WORKSPACE, NOON_MS, ahead - PIECE_BYTES));
        if (taken === null) return;
        expect(whole).toEqual({ ok: true, request: taken });
      }),
      { numRuns: RUNS },
    );
  });
});

describe('the fast way gives what the plain way gives', { timeout: TIMEOUT_MS }, () => {
  test.each(SIGNALS)('%s, written in all kinds of ways', (signal) => {
    fc.assert(
      fc.property(seed, faults, habits, (start, wrong, how) => {
        const random = dice(start, wrong);
        compare(signal, Buffer.from(writeJson(exportTree(random, signal), how, random)));
      }),
      { numRuns: RUNS },
    );
  });

  test.each(SIGNALS)('%s with damaged bytes', (signal) => {
    fc.assert(
      fc.property(seed, faults, habits, (start, wrong, how) => {
        const random = dice(start, wrong);
        const body = Buffer.from(writeJson(exportTree(random, signal), how, random));
        compare(signal, damaged(body, random));
      }),
      { numRuns: RUNS },
    );
  });

  test('another signal’s body, and bytes before and behind the body in its buffer', () => {
    fc.assert(
      fc.property(seed, (start) => {
        const random = dice(start, 0);
        const text = writeJson(exportTree(random, 'traces'), TIDY, random);
        const room = Buffer.from(`{"a":${text}"}]`);
        compare('traces', room.subarray(5, 5 + Buffer.byteLength(text)));
        compare('logs', Buffer.from(text));
      }),
      { numRuns: Math.ceil(RUNS / 4) },
    );
  });
});

describe('ordinary bodies are not left to the plain way', { timeout: TIMEOUT_MS }, () => {
  const WAYS: readonly [string, Habits][] = [
    ['without white space', TIDY],
    ['with white space', { ...TIDY, spaces: 0.5 }],
    ['with members in other orders', { ...TIDY, shuffles: 0.3 }],
    ['with members that OTLP does not know', { ...TIDY, strangers: 0.3 }],
  ];

  test.each(WAYS)('valid traces and logs %s', (_, how) => {
    fc.assert(
      fc.property(seed, fc.constantFrom<Signal>('traces', 'logs'), (start, signal) => {
        const random = dice(start, 0);
        const body = Buffer.from(writeJson(exportTree(random, signal), how, random));
        expect(compare(signal, body)).toBe(true);
      }),
      { numRuns: Math.ceil(RUNS / 5) },
    );
  });

  test('what the benchmarks send', () => {
    for (const rows of [1, 10, 1000]) {
      expect(compare('traces', traceBody(1, rows))).toBe(true);
      expect(compare('logs', logBody(1, rows))).toBe(true);
      expect(compare('metrics', metricBody(1, rows))).toBe(true);
    }
  });
});

describe('one span of a body', () => {
  const IDS = `"traceId":"${TRACE_ID}","spanId":"${SPAN_ID}"`;
  const frame = (members: string): Buffer =>
    Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":[{${IDS},${members}}]}]}]}`);
  const attribute = (value: string): string => `"attributes":[{"key":"k","value":${value}}]`;

  test.each([
    ['an escaped slash', '"name":"a\\/b"'],
    ['a control character', '"name":"\\u001b[1m"'],
    ['a pair of surrogates', attribute('{"stringValue":"\\ud83d\\ude00"}')],
    ['a kind that OTLP does not know', '"kind":6,"status":{"code":9}'],
    ['a parent of zeros', `"parentSpanId":"${'0'.repeat(16)}"`],
    ['a link without ids', '"links":[{},{"traceId":"","spanId":"x"},{"spanId":null}]'],
    ['the largest time', '"startTimeUnixNano":"9223372036854775807"'],
    ['a key twice', '"attributes":[{"key":"k"},{"key":"k","value":{"intValue":"1"}}]'],
    ['a nested key with a dollar', attribute('{"kvlistValue":{"values":[{"key":"$bytes"}]}}')],
    ['U+0000', '"name":"a\\u0000"'],
    ['a lone surrogate', attribute('{"stringValue":"\\ud83d"}')],
    ['a rounded integer', '"startTimeUnixNano":1795000000123456789'],
    ['a rounded integer of an attribute', attribute('{"intValue":-1795000000123456789}')],
    [
      'whole doubles',
      attribute(
        '{"arrayValue":{"values":[{"intValue":-1e+21},{"intValue":12345678901234567890}]}}',
      ),
    ],
    ['values that are null', attribute('{"intValue":null,"boolValue":true,"stringValue":null}')],
    ['a value before its key', '"attributes":[{"value":{"x":1,"intValue":1},"y":[{}],"key":"k"}]'],
    ['an entry without a key', '"attributes":[{},{"key":null}]'],
    ['two values', attribute('{"intValue":"1","stringValue":"a"}')],
    ['bytes', attribute('{"bytesValue":"_-8"}')],
    ['minus zero', attribute('{"doubleValue":-0}')],
    ['a long double', attribute('{"doubleValue":0.12345678901234567}')],
    ['a key of 200 bytes', `"attributes":[{"key":"${'k'.repeat(200)}","value":{"intValue":"1"}}]`],
    ['a list of 2000 keys', `"attributes":[${Array(2000).fill('{"key":"k"}').join()}]`],
    ['values 59 deep', attribute(`${'{"arrayValue":{"values":['.repeat(58)}${']}}'.repeat(58)}`)],
  ])('%s is taken', (_, members) => {
    expect(compare('traces', frame(members))).toBe(true);
  });

  test.each([
    ['an integer with an exponent', attribute('{"intValue":"10E+2"}')],
    ['an integer with a fraction', attribute('{"intValue":1.0}')],
    ['a rounded integer with an exponent', attribute('{"intValue":1.7e18}')],
    ['an infinite integer', attribute('{"intValue":1e999}')],
    ['an integer with leading zeros', attribute('{"intValue":"007"}')],
    ['the smallest integer', attribute('{"intValue":"-9223372036854775808"}')],
    [
      'one of two values that is not valid',
      attribute('{"intValue":1,"stringValue":"a","boolValue":0}'),
    ],
    ['a member twice', '"name":"a","name":"b"'],
    ['an escaped member', '"n\\u0061me":"a"'],
    ['a time too large', '"endTimeUnixNano":"9223372036854775808"'],
    ['a kind that cannot be stored', '"kind":32768'],
    ['a time with an exponent', '"startTimeUnixNano":"1e9"'],
    ['a number with an exponent', '"flags":1e2'],
    ['a line break in a string', '"name":"a\nb"'],
    ['a number with leading zeros', '"x":01'],
    ['values 64 deep', attribute(`${'{"arrayValue":{"values":['.repeat(63)}${']}}'.repeat(63)}`)],
    ['values too deep', attribute(`${'{"arrayValue":{"values":['.repeat(70)}${']}}'.repeat(70)}`)],
    ['a deep stranger', `"x":${'['.repeat(100)}${']'.repeat(100)}`],
  ])('%s is left to the plain way', (_, members) => {
    expect(compare('traces', frame(members))).toBe(false);
  });

  test('bytes that are not UTF-8, and a byte order mark, are left to the plain way', () => {
    const body = frame('"name":"ab"');
    expect(compare('traces', Buffer.concat([Buffer.from('\ufeff'), body]))).toBe(false);
    body[body.length - 12] = 0xff;
    expect(compare('traces', body)).toBe(false);
  });
});

describe('log records without trace id', () => {
  const body = (service: string): Buffer => {
    const resource = `{"attributes":[{"key":"service.name","value":{"stringValue":"${service}"}}]}`;
    const record = '{"attributes":[{"key":"session.id","value":{"stringValue":"s"}}]}';
    const scopes = `[{"logRecords":[${record},${record}]}]`;
    return Buffer.from(`{"resourceLogs":[{"resource":${resource},"scopeLogs":${scopes}}]}`);
  };

  test('of a product that tells its runs by session are left to the plain way', () => {
    expect(compare('logs', body('claude-code'))).toBe(false);
  });

  test('of anything else are taken', () => {
    expect(compare('logs', body('nginx'))).toBe(true);
  });
});

describe('spans, and log records with a trace id', () => {
  const trace = '"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174"';
  const attribute = (key: string, value: string): string =>
    `{"key":"${key}","value":{"stringValue":"${value}"}}`;
  const body = (service: string, [kind, scopes, items]: readonly string[]): Buffer => {
    const ids = ['session.id', 'gen_ai.conversation.id'].map((key) => attribute(key, 's'));
    const row = `{${trace},"attributes":[${ids}]}`;
    const resource = `{"attributes":[${attribute('service.name', service)}]}`;
    return Buffer.from(
      `{"${kind}":[{"${scopes}":[{"${items}":[${row},${row}]}],"resource":${resource}}]}`,
    );
  };
  const SPANS = ['resourceSpans', 'scopeSpans', 'spans'];
  const LOGS = ['resourceLogs', 'scopeLogs', 'logRecords'];

  test('of a product whose traces are part of a prompt are left to the plain way', () => {
    expect(compare('traces', body('gemini-cli', SPANS))).toBe(false);
    expect(compare('logs', body('gemini-cli', LOGS))).toBe(false);
  });

  test('of anything else are taken', () => {
    expect(compare('traces', body('claude-code', SPANS))).toBe(true);
    expect(compare('logs', body('claude-code', LOGS))).toBe(true);
  });
});

describe('requests one after the other', () => {
  test('lines keep their bytes while others are scanned', () => {
    const bodies = [1, 40, 1, 700, 3, 1, 120].map((spans, index) => traceBody(index, spans));
    const kept = bodies.map((body) => {
      const { lines } = scanned('traces', body).encoded;
      return lines.map((line) => ({ line, copy: lineBytes(line) }));
    });
    for (const { line, copy } of kept.flat()) expect(lineBytes(line).equals(copy)).toBe(true);
    for (const body of bodies) expect(compare('traces', body)).toBe(true);
  });

  test('a body of several megabytes is taken, one with a giant span is left', () => {
    expect(compare('traces', traceBody(1, 4000))).toBe(true);
    const name = 'n'.repeat(400 * 1024);
    const ids = `"traceId":"${TRACE_ID}","spanId":"${SPAN_ID}"`;
    const spans = `[{${ids},"name":"${name}"},{${ids}}]`;
    const giant = Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":${spans}}]}]}`);
    expect(compare('traces', giant)).toBe(false);
    expect(compare('traces', traceBody(1, 2))).toBe(true);
  });

  test('a body with the head and tail of an earlier one may have more lists between them', () => {
    const span = (id: number): string =>
      `{"traceId":"${TRACE_ID}","spanId":"${id.toString(16).padStart(16, '0')}","name":"n${id}"}`;
    const list = (...ids: number[]): string => `{"scope":{"name":"s"},"spans":[${ids.map(span)}]}`;
    const bodyWith = (...lists: string[]): Buffer =>
      Buffer.from(`{"resourceSpans":[{"scopeSpans":[${lists}]}]}`);
    for (let round = 0; round < 3; round += 1) {
      expect(compare('traces', bodyWith(list(1, 2)))).toBe(true);
      expect(compare('traces', bodyWith(list(1), list(2, 3)))).toBe(true);
      expect(compare('traces', bodyWith(list(1).replace('}]}', '} \n]}')))).toBe(true);
      expect(compare('traces', bodyWith(list(1).replace('}]}', '},]}')))).toBe(false);
      expect(compare('traces', bodyWith(list(1).replace('}]}', '}\x01]}')))).toBe(false);
    }
  });

  test('a metric with the head of the one that came next before may continue in another way', () => {
    const point = (value: number): string => `{"timeUnixNano":"1","asDouble":${value}}`;
    const metric = (name: string, data: string, more = ''): string =>
      `{"name":"${name}","gauge":{"dataPoints":[${data}]}${more}}`;
    const bodyWith = (...all: string[]): Buffer =>
      Buffer.from(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[${all}]}]}]}`);
    const usual = bodyWith(metric('a', point(1)), metric('b', point(2)));
    for (const [other, isTaken] of [
      [metric('b', `${point(2)} , ${point(3)}`), true],
      [metric('b', point(2), ',"unit":"ms"'), true],
      [metric('b', point(2), ',"sum":null'), true],
      [metric('b', point(2), ',"gauge":null'), false],
      [metric('b', point(2), ',"gauge":{}'), false],
      [metric('b', point(2), ',"sum":{}'), false],
      [metric('b', `${point(2)},`), false],
      [metric('b', point(2), ',"x":\x01'), false],
    ] as const) {
      expect(compare('metrics', usual)).toBe(true);
      expect(compare('metrics', bodyWith(metric('a', point(1)), other))).toBe(isTaken);
    }
  });

  test('a body that is given up half-way leaves nothing behind', () => {
    const whole = traceBody(1, 20);
    const before = scanned('traces', whole);
    expect(compare('traces', whole.subarray(0, whole.length - 40))).toBe(false);
    expect(scanned('traces', whole)).toEqual(before);
  });
});
