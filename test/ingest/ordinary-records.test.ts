/**
 * The part of a list of spans, log records or data points that WebAssembly takes. That its runs are those of
 * the plain way is compared in `test/otlp/fast-decode.test.ts`; here, that it takes what is ordinary, and
 * where it stops.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';

import { traceBody } from '../../bench/bodies.ts';
import { logBody, metricBody } from '../../bench/signal-bodies.ts';
import {
  HISTOGRAM_POINTS,
  LOG_RECORDS,
  NUMBER_POINTS,
  SPANS,
} from '../../src/ingest/assembly/codes.ts';
import { OrdinaryRecords, ordinaryProgram } from '../../src/ingest/ordinary-records.ts';
import { RequestChecker } from '../../src/ingest/request-checker.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { compiled } from '../../src/web-assembly/programs.ts';
import { SPAN_ID, TRACE_ID } from '../otlp/bodies.ts';
import { isTakenAlike, scanned } from '../otlp/both-ways.ts';
import { casesOf } from '../support/cases.ts';
import { bundle } from '../support/checkout.ts';

const program = ordinaryProgram();

function scannerOf(signal: Signal, windowBytes?: number): OrdinaryRecords {
  if (program === null) throw new Error('no SIMD');
  return new OrdinaryRecords(program, signal, windowBytes);
}
const spans = scannerOf('traces');
const logs = scannerOf('logs');
const points = scannerOf('metrics');

/** Everything that is taken of a list, call by call. */
function takenOf(scanner: OrdinaryRecords, list: Buffer, end = list.length, kind = SPANS) {
  const request = scanner.nextRequest();
  const calls: number[] = [];
  let records = 0;
  let at = 1;
  while (scanner.take(request, list, at, end, end, kind)) {
    calls.push(scanner.records);
    records += scanner.records;
    at = scanner.at;
    if (list[at] !== ','.charCodeAt(0)) break;
    at += 1;
  }
  return { calls, records, at };
}

/** The list of records in a body. */
function listOf(body: Buffer, member: string): Buffer {
  const from = body.indexOf(`"${member}":[`) + member.length + 3;
  return body.subarray(
    from,
    body.lastIndexOf(']', body.lastIndexOf(']', body.lastIndexOf(']') - 1) - 1) + 1,
  );
}

const IDS = `"traceId":"${TRACE_ID}","spanId":"${SPAN_ID}"`;
const spanList = (members: string): Buffer => Buffer.from(`[{${IDS},${members}}]`);
const spanBody = (members: string): Buffer =>
  Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":[{${IDS},${members}}]}]}]}`);
const attribute = (value: string): string => `"attributes":[{"key":"k","value":${value}}]`;

test('what the benchmarks send is taken whole, in one call each', () => {
  expect(takenOf(spans, listOf(traceBody(1, 80), 'spans')).calls).toEqual([80]);
  const list = listOf(logBody(1, 80), 'logRecords');
  expect(takenOf(logs, list, list.length, LOG_RECORDS).calls).toEqual([80]);
});

describe('a span is ordinary', () => {
  test.each([
    ['with white space', '"name" : "a" ,\n\t"kind" : 3 , "attributes" : [ { "key" : "k" } ]'],
    [
      'with escapes',
      `"name":"\\u00e9\\/\\n",${attribute('{"stringValue":"\\ud83d\\ude00\\u001f"}')}`,
    ],
    ['with numbers', attribute('{"intValue":"-12"}')],
    ['with a double', attribute('{"doubleValue":0.12345678901234567}')],
    [
      'with a list',
      attribute('{"arrayValue":{"values":[{"stringValue":"a"},{"boolValue":true}]}}'),
    ],
    ['with a nested object', attribute('{"kvlistValue":{"values":[{"key":"a","value":{}}]}}')],
    ['with a status', '"status":{"code":2,"message":"no"}'],
    ['with events', '"events":[{"timeUnixNano":"1","name":"e","attributes":[{"key":"k"}]}]'],
    ['without a parent', '"parentSpanId":""'],
    ['with a parent of zeros', `"parentSpanId":"${'0'.repeat(16)}"`],
    ['with links', `"links":[{${IDS}},{"traceId":"","spanId":null,"attributes":[]}]`],
    ['with a member that OTLP does not know', '"x":[1,{"y":"\\n","z":[]},-2.5e-3,true,false,null]'],
    ['with bytes', attribute('{"bytesValue":"AQI="}')],
    ['with a key twice', '"attributes":[{"key":"k"},{"key":"k"}]'],
    ['with U+0000', '"name":"\\u0000"'],
    ['with a lone surrogate', '"name":"\\ud800"'],
    ['with minus zero', attribute('{"intValue":-0}')],
    ['with minus zero as a string', attribute('{"intValue":"-0"}')],
    ['with two values', attribute('{"intValue":1,"stringValue":"a"}')],
    ['with a value before its key', '"attributes":[{"value":{"boolValue":false},"key":"k"}]'],
  ])('%s', (_, members) => {
    const list = spanList(members);
    expect(takenOf(spans, list).records).toBe(1);
    // Objects and lists of the record, against the limit on those of a body.
    expect(spans.structures).toBe(list.toString().split(/[{[]/).length - 2);
    expect(isTakenAlike('traces', spanBody(members))).toBe(true);
  });
});

describe('a span is not ordinary', () => {
  test.each([
    ['with a member twice', '"name":"a","name":"b"'],
    ['with a name of a member that is escaped', '"n\\u0061me":"a"'],
    ['with an escape that JSON does not have', '"name":"\\x"'],
    ['with an escape that is cut short', '"name":"\\u00e"'],
    ['with a line break', '"name":"a\nb"'],
    ['with bytes that are no base64', attribute('{"bytesValue":"AQI==="}')],
    ['with bytes of five digits', attribute('{"bytesValue":"AQIDB"}')],
    ['with an infinite number', attribute('{"doubleValue":1e999}')],
    ['with a time too large', '"endTimeUnixNano":"9223372036854775808"'],
    ['with a kind that is too large', '"kind":32768'],
    ['with a parent that is no id', '"parentSpanId":"1"'],
    ['with a link that is no object', '"links":[null]'],
    ['with a link whose id is no string', '"links":[{"traceId":1}]'],
    ['with a comma too many', '"kind":1,'],
    ['with a list that ends with a comma', '"attributes":[{"key":"k"},]'],
    ['with a deep stranger', `"x":${'['.repeat(62)}${']'.repeat(62)}`],
    ['with a stranger that is no JSON', '"x":{"y":01}'],
    ['with a stranger without a value', '"x":{"y"}'],
  ])('%s', (_, members) => {
    expect(takenOf(spans, spanList(members)).records).toBe(0);
    isTakenAlike('traces', spanBody(members));
  });

  test('without its ids', () => {
    expect(takenOf(spans, Buffer.from(`[{"traceId":"${TRACE_ID}"}]`)).records).toBe(0);
    expect(takenOf(spans, Buffer.from('[{}]')).records).toBe(0);
    expect(takenOf(spans, Buffer.from('[]')).records).toBe(0);
  });
});

test.each([
  ['a', 2, 'b', 0],
  ['b', 0, 'a', 2],
  ['a', 0, 'b', 2],
  ['b', 2, 'a', 0],
])('a run of two roots, %s with status %i and %s with status %i, is counted alike', (...roots) => {
  const [one, oneStatus, other, otherStatus] = roots;
  const root = (id: string, name: string, code: number): string =>
    `{"traceId":"${TRACE_ID}","spanId":"${id}","name":"${name}","status":{"code":${code}}}`;
  const list = `[${root('1'.repeat(16), one, oneStatus)},${root('2'.repeat(16), other, otherStatus)}]`;
  expect(takenOf(spans, Buffer.from(list)).records).toBe(2);
  const body = Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":${list}}]}]}`);
  expect(isTakenAlike('traces', body)).toBe(true);
  expect(scanned('traces', body).encoded.runs).toMatchObject([{ name: 'a', failed: true }]);
});

test.each([
  ['when it was', '"timeUnixNano":"1795000000000000001","observedTimeUnixNano":"5"'],
  ['or else when it was observed', '"observedTimeUnixNano":"1795000000000000001"'],
  ['or at no time', '"severityNumber":9'],
])('a log record counts to its run %s', (_, members) => {
  const list = `[{"traceId":"${TRACE_ID}",${members}}]`;
  expect(takenOf(logs, Buffer.from(list), list.length, LOG_RECORDS).records).toBe(1);
  const body = Buffer.from(`{"resourceLogs":[{"scopeLogs":[{"logRecords":${list}}]}]}`);
  expect(isTakenAlike('logs', body)).toBe(true);
  const { runs } = scanned('logs', body).encoded;
  const [time = null] = /1795\d+/.exec(members) ?? [];
  expect(runs).toMatchObject([{ startUnixNano: time, endUnixNano: time }]);
});

const KINDS = { sum: NUMBER_POINTS, histogram: HISTOGRAM_POINTS };
type PointKind = keyof typeof KINDS;
const POINT = '"timeUnixNano":"1795000000000000000"';
const takenPoints = (kind: PointKind, members: string): number => {
  const list = Buffer.from(`[{${POINT},${members}}]`);
  return takenOf(points, list, list.length, KINDS[kind]).records;
};
const pointsBody = (kind: PointKind, ...records: string[]): Buffer =>
  Buffer.from(
    '{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m",' +
      `"${kind}":{"aggregationTemporality":2,"dataPoints":[${records}]}}]}]}]}`,
  );
const pointBody = (kind: PointKind, members: string): Buffer =>
  pointsBody(kind, `{${POINT},${members}}`);
const EXEMPLAR =
  '{"filteredAttributes":[{"key":"k","value":{"stringValue":"v"}}],"timeUnixNano" : "1",' +
  `"asDouble":1.5,"asInt":null,"spanId":"x","traceId":"${'a'.repeat(32)}"}`;
const buckets = (counts: string, bounds: string): string =>
  `"bucketCounts":[${counts}],"explicitBounds":[${bounds}]`;

describe('a data point is ordinary', () => {
  test('those that the benchmarks send, each metric in one call', () => {
    const offered = vi.spyOn(RequestChecker.prototype, 'takeOrdinary');
    try {
      expect(isTakenAlike('metrics', metricBody(1, 100))).toBe(true);
      expect(offered).toHaveBeenCalledTimes(10);
    } finally {
      offered.mockRestore();
    }
  });

  test.each<[string, PointKind, string]>([
    ['an integer', 'sum', '"asInt":"-9223372036854775807"'],
    ['the largest integer', 'sum', '"asInt":"9223372036854775807"'],
    ['an integer as a number', 'sum', '"asInt":-12'],
    ['zero', 'sum', '"asInt":0'],
    ['minus zero', 'sum', '"asInt":"-0"'],
    ['a long integer as a number', 'sum', '"asInt":-1795000000123456789'],
    ['an unknown member', 'sum', '"asInt":1,"exemplars":[{"traceIds":"1"}],"x":{}'],
    ['one beside null', 'sum', '"asInt":null,"asDouble":1.5'],
    ['minus zero, as a double', 'sum', '"asDouble":-0'],
    ['a double with an exponent', 'sum', '"asDouble":1.5e-7'],
    ['a double of many digits', 'sum', '"asDouble":53781.123456789012'],
    ['NaN', 'sum', '"asDouble":"NaN"'],
    ['infinity', 'sum', '"asDouble":"Infinity","exemplars":[{"asDouble":"NaN"}]'],
    ['infinity below zero', 'sum', '"asDouble": "-Infinity" '],
    ['no recorded value', 'sum', '"flags":1'],
    ['no recorded value, but with one', 'sum', '"flags":3,"asInt":1'],
    ['no recorded values', 'histogram', '"flags":1'],
    ['counts that need not agree', 'histogram', `"flags":1,"count":5,${buckets('1', '1,2')}`],
    [
      'doubles that are none',
      'histogram',
      '"count":1,"sum":"NaN","min":"Infinity","max":"-Infinity"',
    ],
    ['an infinite bound', 'histogram', `"count":1,${buckets('0,0,1', '1,"Infinity"')}`],
    ['no start', 'sum', '"startTimeUnixNano":"0","asInt":1'],
    ['a start', 'sum', '"startTimeUnixNano":"1795000000000000000","asInt":1'],
    ['no exemplars', 'sum', '"asInt":1,"exemplars":[ ],"flags":2'],
    ['exemplars', 'sum', `"asInt":1,"exemplars":[ ${EXEMPLAR} , {} ]`],
    ['attributes', 'sum', `"asInt":1,${attribute('{"doubleValue":2}')}`],
    ['a histogram without buckets', 'histogram', '"count":3,"sum":2.5,"min":null,"max":7'],
    ['a histogram without a count', 'histogram', '"sum":0'],
    ['buckets', 'histogram', `"count":"3",${buckets('1,2', '0.5')}`],
    ['buckets as texts, with spaces', 'histogram', `"count":3,${buckets(' "1" , 2 ', ' 1e20 ')}`],
    ['buckets without bounds', 'histogram', `"count":7,${buckets('7', '')}`],
    ['bounds before counts', 'histogram', '"explicitBounds":[1],"bucketCounts":[0,0],"count":0'],
    ['lists that are null', 'histogram', '"count":1,"bucketCounts":null,"explicitBounds":null'],
  ])('with %s', (_, kind, members) => {
    expect(takenPoints(kind, members)).toBe(1);
    expect(isTakenAlike('metrics', pointBody(kind, members))).toBe(true);
  });
});

describe('a data point is not ordinary', () => {
  test.each<[string, PointKind, string]>([
    ['with two values', 'sum', '"asInt":1,"asDouble":1'],
    ['without a value', 'sum', '"flags":0'],
    ['without a recorded value, with two', 'sum', '"flags":1,"asInt":1,"asDouble":1'],
    ['without a recorded value, with a bad list', 'histogram', `"flags":1,${buckets('', '1,1')}`],
    ['with the smallest integer', 'sum', '"asInt":"-9223372036854775808"'],
    ['with an integer too large', 'sum', '"asInt":"9223372036854775808"'],
    ['with leading zeros', 'sum', '"asInt":"-012"'],
    ['with an integer too large as a number', 'sum', '"asInt":9223372036854775808'],
    ['with a number in quotes', 'sum', '"asDouble":"1.5"'],
    ['with another text', 'sum', '"asDouble":"Nan"'],
    ['with a text that begins alike', 'sum', '"asDouble":"NaN1"'],
    ['with a text that begins alike, of infinity', 'sum', '"asDouble":"Infinity1"'],
    ['with a text that begins alike, below zero', 'sum', '"asDouble":"-Infinity1"'],
    ['with plus infinity', 'sum', '"asDouble":"+Infinity"'],
    ['with an infinite double', 'sum', '"asDouble":1e999'],
    ['with a member of histograms', 'sum', '"asInt":1,"count":1'],
    ['with a bad exemplar', 'sum', '"asInt":1,"exemplars":[{"timeUnixNano":"-1"}]'],
    ['with an exemplar that is no object', 'sum', '"asInt":1,"exemplars":[1]'],
    ['with an id that is no text', 'sum', '"asInt":1,"exemplars":[{"spanId":1}]'],
    ['with a member twice', 'sum', '"asInt":1,"exemplars":[{"asInt":1,"asInt":2}]'],
    ['with a member of numbers', 'histogram', '"count":1,"asInt":1'],
    ['with too few buckets', 'histogram', `"count":1,${buckets('1', '1')}`],
    ['with another count', 'histogram', `"count":2,${buckets('1,2', '1')}`],
    ['with bounds that do not rise', 'histogram', `"count":0,${buckets('0,0,0', '1,1')}`],
    ['with NaN as a bound', 'histogram', `"count":0,${buckets('0,0', '"NaN"')}`],
    ['with NaN between bounds', 'histogram', `"count":0,${buckets('0,0,0,0', '1,"NaN",0')}`],
    ['with counts of sixteen digits', 'histogram', `"count":0,${buckets('1000000000000000', '')}`],
    [
      'with a sum that is no double',
      'histogram',
      `"count":0,${buckets(`${'9'.repeat(15)},`.repeat(12).slice(0, -1), '')}`,
    ],
    ['with null among counts', 'histogram', `"count":0,${buckets('null,0', '1')}`],
    ['with a comma too many', 'histogram', `"count":0,${buckets('0,0,', '1')}`],
  ])('%s', (_, kind, members) => {
    expect(takenPoints(kind, members)).toBe(0);
    isTakenAlike('metrics', pointBody(kind, members));
  });

  test('without its time', () => {
    for (const members of ['"asInt":1', '"asInt":1,"timeUnixNano":"0"']) {
      const list = Buffer.from(`[{${members}}]`);
      expect(takenOf(points, list, list.length, NUMBER_POINTS).records).toBe(0);
    }
  });
});

test('the bounds of a point are its own, whichever the one before had', () => {
  const bounds = fc.constantFrom('', '1', '1,2', '1.0,2', '1,20', '0.5,1e300', '-1,0', '10');
  fc.assert(
    fc.property(fc.array(bounds, { minLength: 1, maxLength: 8 }), (lists) => {
      const records = lists.map((list) => {
        const counts =
          list === ''
            ? ''
            : Array(list.split(',').length + 1)
                .fill(0)
                .join();
        return `{${POINT},"count":0,${buckets(counts, list)}}`;
      });
      expect(isTakenAlike('metrics', pointsBody('histogram', ...records))).toBe(true);
    }),
    { numRuns: casesOf(50) },
  );
});

describe('where it stops', () => {
  test('before a record that is not ordinary, with those before it', () => {
    const list = Buffer.from(`[{${IDS}},{${IDS},"kind":-1},{${IDS}}]`);
    const { records, at } = takenOf(spans, list);
    expect(records).toBe(1);
    expect(list.subarray(at).toString()).toMatch(/^\{"traceId".*"kind":-1/);
  });

  test('after the record that ends at the given place or behind it', () => {
    const one = `{${IDS}}`;
    const list = Buffer.from(`[${one},${one},${one}]`);
    for (const [until, records] of [
      [0, 1],
      [one.length, 1],
      [one.length + 2, 2],
      [list.length, 3],
    ] as const) {
      spans.take(spans.nextRequest(), list, 1, until, list.length, SPANS);
      expect(spans.records).toBe(records);
    }
  });

  test('at the end that it was given, although there are bytes of an earlier body behind it', () => {
    const list = listOf(traceBody(2, 3), 'spans');
    const whole = takenOf(spans, list);
    expect(whole.records).toBe(3);
    let before = 0;
    for (let end = 1; end < list.length; end += 1) {
      const { records } = takenOf(spans, list, end);
      expect(records).toBeGreaterThanOrEqual(before);
      before = records;
    }
  });

  test('when its memory for runs may be full; the next call takes more', () => {
    const list = Buffer.from(`[${Array(20_000).fill('{}')}]`);
    const { records, calls } = takenOf(logs, list, list.length, LOG_RECORDS);
    expect(records).toBe(20_000);
    expect(calls.length).toBeGreaterThan(4);
  });

  test('windows that end anywhere give the same spans', () => {
    const list = listOf(traceBody(3, 30), 'spans');
    fc.assert(
      fc.property(fc.integer({ min: 3000, max: 12_000 }), (windowBytes) => {
        const cut = takenOf(scannerOf('traces', windowBytes), list);
        expect(cut.records).toBe(30);
        expect(cut.calls.length).toBeGreaterThan(1);
      }),
      { numRuns: casesOf(25) },
    );
  });

  test('windows that end anywhere give the same data points', () => {
    const records = Array.from({ length: 60 }, (_, at) => {
      const counts = Array.from({ length: 12 }, (__, bucket) => at * bucket);
      const count = counts.reduce((sum, one) => sum + one, 0);
      const bounds = Array.from({ length: 11 }, (__, bound) => (bound + 1) / (at + 3));
      const lists = buckets(counts.join(), bounds.join());
      return `{${POINT},"sum":${at / 7},"count":${count},${lists}}`;
    });
    const list = Buffer.from(`[${records}]`);
    expect(takenOf(points, list, list.length, HISTOGRAM_POINTS).calls).toEqual([60]);
    expect(isTakenAlike('metrics', pointsBody('histogram', ...records))).toBe(true);
    for (let windowBytes = 700; windowBytes < 1400; windowBytes += 29) {
      const cut = takenOf(scannerOf('metrics', windowBytes), list, list.length, HISTOGRAM_POINTS);
      expect(cut.records).toBe(60);
      expect(cut.calls.length).toBeGreaterThan(10);
    }
  });

  test('before a record longer than its window', () => {
    const list = Buffer.from(`[{${IDS}},{${IDS},"name":"${'n'.repeat(400 * 1024)}"}]`);
    expect(takenOf(spans, list).records).toBe(1);
  });
});

test('long lists', () => {
  const bounds = Array.from({ length: 450 }, (_, at) => `${(1000 + at) / 1000}e20`);
  const counts = Array(bounds.length + 1).fill(1);
  const lists = buckets(counts.join(), bounds.join());
  expect(takenPoints('histogram', `"count":${counts.length},${lists}`)).toBe(1);
  for (const count of [1, 1000, 9000, 40_000]) {
    const objects = Array(count).fill('{}').join();
    for (const members of [
      `"events":[${objects}]`,
      `"links":[${objects}]`,
      `"attributes":[${objects}]`,
      attribute(`{"arrayValue":{"values":[${objects}]}}`),
    ]) {
      expect(takenOf(spans, spanList(members)).records).toBe(1);
    }
  }
});

/** Values in values take time in proportion to their bytes, wherever they end. */
test.each(['}', ' }', ',"x":1}', ',"key":"b"}', '!'])(
  'values in values that end with %s',
  (end) => {
    const open = '{"key":"a","value":{"kvlistValue":{"values":[';
    for (const depth of [1, 30, 58]) {
      const nested = `"attributes":[${open.repeat(depth)}${`]}}${end}`.repeat(depth)}]`;
      const isOrdinary = end !== '!' && end !== ',"key":"b"}';
      expect(takenOf(spans, spanList(nested)).records).toBe(isOrdinary ? 1 : 0);
      isTakenAlike('traces', spanBody(nested));
    }
  },
);

describe('without the program', () => {
  test('a damaged one and a processor without SIMD are different errors', () => {
    expect(() => compiled(Buffer.from('damaged'), 'a.wasm')).toThrow('run `npm run build`');
    const validate = vi
      .spyOn(Reflect.get(globalThis, 'WebAssembly'), 'validate')
      .mockReturnValue(false);
    expect(() => compiled(Buffer.from('a program'), 'a.wasm')).toThrow('a processor with SIMD');
    validate.mockRestore();
  });

  test('a process whose address space is limited decodes the plain way, and says so once', async () => {
    const path = await bundle(new URL('./scan-program.ts', import.meta.url));
    // 16 GiB: V8 reserves more for one instance.
    const limited = `ulimit -v ${16 * 1024 * 1024}; exec "$0" "$1"`;
    const args = ['-c', limited, process.execPath, path];
    const { stdout } = await promisify(execFile)('/bin/sh', args);
    const { records, failures } = JSON.parse(stdout);
    // The first scanner fits, for spans; that of log records does not.
    expect(records).toEqual([5, 5, null]);
    expect(failures).toEqual([expect.stringMatching(/^RangeError: .*Out of memory/)]);
  });
});

test('doubles are checked as JavaScript reads them', () => {
  const texts = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    fc
      .tuple(fc.constantFrom('', '-'), fc.stringMatching(/^(0|[1-9]\d{0,17})(\.\d{1,18})?$/))
      .map((parts) => parts.join('')),
    fc
      .tuple(fc.stringMatching(/^[0-9](\.\d{1,4})?$/), fc.integer({ min: -330, max: 310 }))
      .map((parts) => parts.join('e')),
    fc.constantFrom('0.00001', '0.000010', '0.0001', '-0', '0', '0.0', '-0.0', '5.0', '10', '1.50'),
  );
  fc.assert(
    fc.property(fc.array(texts, { minLength: 1, maxLength: 8 }), (doubles) => {
      const values = doubles.map((text) => `{"doubleValue":${text}}`);
      isTakenAlike('traces', spanBody(attribute(`{"arrayValue":{"values":[${values}]}}`)));
    }),
    { numRuns: casesOf(500) },
  );
});
