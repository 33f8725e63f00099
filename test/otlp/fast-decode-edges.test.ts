/**
 * The fast way at its edges: every field with every value that a sender may think of, bodies cut off
 * at every byte, values put where others belong, and one request after the other.
 */
import { describe, expect, test } from 'vitest';
import { traceBody } from '../../bench/bodies.ts';
import { logBody, metricBody } from '../../bench/signal-bodies.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { casesOf, isExhaustive } from '../support/cases.ts';
import { SPAN_ID, TRACE_ID } from './bodies.ts';
import { isTakenAlike, scanned } from './both-ways.ts';
import { pick, seeded } from './json-writer.ts';

const TIMEOUT_MS = 120_000;
const MUTATIONS = casesOf(1000);
/** In each place every so manyeth value; places take turns, so that each value is in many. */
const VALUES_STEP = isExhaustive ? 1 : 3;

const NUMBERS = [
  ...['0', '-0', '1', '-1', '01', '-', '1.', '.5', '+1', '1e3', '1E+2', '1e400', '-1e400', '0e5'],
  ...['5.0', '0.1', '0.30000000000000004', '123456.789012345', '5e-324', '1.0e-320', '1e20'],
  ...['999999999999999', '1000000000000000', '9007199254740991', '9007199254740993'],
  ...['4294967295', '4294967296', '12345678901234567890'],
];
const STRINGS = [
  ...['', '0', '-0', '1', '-1', '+1', ' 1', '1 ', '007', '1.5', '1e3', 'NaN', 'Infinity', 'a'],
  ...['9223372036854775807', '9223372036854775808', '-9223372036854775808'],
  ...['-9223372036854775809', '9999999999999999999', '8999999999999999999'],
  ...['0123456789abcdef0123456789ABCDEF', '0123456789ABCDEF', '0'.repeat(16), '0'.repeat(32)],
  ...['0123456789abcde', '0123456789abcdeg', 'ASNFZ4mrze8BI0VniavN7w==', 'AQI=', '_-8'],
  ...['\u2028\u2029\u007f\ufeff', '😀', 'ż'.repeat(50), 'x'.repeat(200)],
].map((text) => JSON.stringify(text));
const ESCAPES = [
  ...['\\"\\\\\\b\\f\\n\\r\\t', '\\/', '\\u0041', '\\u0030123456789abcde', '\\u0001', '\\u001F'],
  ...['\\ud83d\\ude00', '\\ud800', '\\uDC00', '\\ud83d\\u0041', '\\u0000', '\\\\u0000', '\\x'],
  ...['\\u12', '\\u12G4', 'a\nb', 'a\tb', 'a\0b'],
].map((text) => `"${text}"`);
const VALUES = [
  ...['{"stringValue":null,"stringValue":"y"}', '{"stringValue":"y","stringValue":null}'],
  ...['{"intValue":"3","stringValue":"x"}', '{"intValue":1e300}', '{"doubleValue":"NaN"}'],
  ...['{"doubleValue":-0}', '{"doubleValue":1e21}', '{"boolValue":1}', '{"bytesValue":"AQI"}'],
  ...['{"bytesValue":"A"}', '{"arrayValue":[]}', '{"arrayValue":{"values":[null,{}]}}'],
  '{"arrayValue":{"values":[{"arrayValue":{"values":[{"intValue":1}]}}],"values":null}}',
  '{"kvlistValue":{"values":[{"key":"$a"},{"key":"","value":{}},{"key":"__proto__"}]}}',
  '{"kvlistValue":{"values":[{"key":"a"},{"key":"a","value":{"intValue":2}}]}}',
];
const LISTS = [
  ...['[]', '[[]]', '[{}]', '[null]', '[1,2.5]', '[2,1]', '["1"]', '{}', '{"values":[{}]}'],
  ...['[{"key":"k"},{"key":"k"}]', '[{"key":null}]', '[{"key":5}]', '[{"value":{},"key":"z"}]'],
  '[{"key":"a","value":{"stringValue":"1"}},{"key":"\\u0061","value":{"stringValue":"2"}}]',
  '[{"key":"k","value":{"stringValue":"2"},"value":{"stringValue":"3"}}]',
  '[{"key":"k","value":{"stringValue":"2","x":1},"x":[true]}]',
  '[{"key":"__proto__","value":{"stringValue":"1"}},{"value":{"stringValue":"2"}}]',
];
const ANY = [...NUMBERS, ...STRINGS, ...ESCAPES, ...VALUES, ...LISTS, 'null', 'true', 'false'];

const IDS = `"traceId":"${TRACE_ID}","spanId":"${SPAN_ID}"`;
const inSpan = (members: string): string =>
  `{"resourceSpans":[{"scopeSpans":[{"spans":[{${members}}]}]}]}`;
const inLog = (members: string): string =>
  `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{${members}}]}]}]}`;
const inMetric = (members: string): string =>
  `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{${members}}]}]}]}`;
const gauge = (members: string): string => inMetric(`"gauge":{"dataPoints":[{${members}}]}`);
const histogram = (members: string): string =>
  inMetric(
    `"histogram":{"aggregationTemporality":2,"dataPoints":[{"timeUnixNano":"1",${members}}]}`,
  );
const attribute = (value: string): string => `"attributes":[{"key":"k","value":{${value}}}]`;

/** Every value is tried in place of `%`; a field that is there twice is one of them. */
const PLACES: readonly [Signal, string][] = [
  ...['traceId', 'spanId'].map((name): [Signal, string] => [
    'traces',
    inSpan(`${IDS},"${name}":%`),
  ]),
  ['traces', inSpan(`"spanId":"${SPAN_ID}","traceId":%`)],
  ['traces', inSpan(`"traceId":"${TRACE_ID}","spanId":%`)],
  ...[
    ...['parentSpanId', 'traceState', 'flags', 'name', 'kind', 'startTimeUnixNano'],
    ...['endTimeUnixNano', 'status', 'droppedAttributesCount', 'droppedEventsCount'],
    ...['droppedLinksCount', 'attributes', 'events', 'links', '__proto__', 'x'],
  ].map((name): [Signal, string] => ['traces', inSpan(`${IDS},"${name}":%`)]),
  ['traces', inSpan(`${IDS},"status":{"code":%}`)],
  ['traces', inSpan(`${IDS},"status":{"message":%,"code":2}`)],
  ...['name', 'timeUnixNano', 'attributes', 'droppedAttributesCount'].map(
    (name): [Signal, string] => ['traces', inSpan(`${IDS},"events":[{"${name}":%},{}]`)],
  ),
  ...[
    ...['stringValue', 'boolValue', 'intValue', 'doubleValue', 'bytesValue', 'arrayValue'],
    ...['kvlistValue', 'x'],
  ].map((name): [Signal, string] => ['traces', inSpan(`${IDS},${attribute(`"${name}":%`)}`)]),
  ['traces', inSpan(`${IDS},"attributes":[{"key":%,"value":{"intValue":"1"}}]`)],
  [
    'traces',
    `{"resourceSpans":[{"resource":{"attributes":%},"scopeSpans":[{"spans":[{${IDS}}]}]}]}`,
  ],
  ['traces', `{"resourceSpans":[{"schemaUrl":%,"scopeSpans":[{"spans":[{${IDS}}],"scope":%}]}]}`],
  ['traces', '{"resourceSpans":[{"resource":%,"scopeSpans":[{"scope":%,"spans":[]}]}]}'],
  ['traces', '{"resourceSpans":[{"scopeSpans":%}]}'],
  ['traces', '{"resourceSpans":%}'],
  ['traces', '%'],
  ...[
    ...['timeUnixNano', 'observedTimeUnixNano', 'severityNumber', 'severityText', 'eventName'],
    ...['flags', 'droppedAttributesCount', 'attributes', 'body', 'traceId', 'spanId'],
  ].map((name): [Signal, string] => ['logs', inLog(`"${name}":%`)]),
  ...['startTimeUnixNano', 'flags', 'attributes', 'exemplars', 'asDouble'].map(
    (name): [Signal, string] => ['metrics', gauge(`"timeUnixNano":"1","asInt":"5","${name}":%`)],
  ),
  ...['asInt', 'asDouble'].map((name): [Signal, string] => [
    'metrics',
    gauge(`"timeUnixNano":"1","${name}":%`),
  ]),
  ['metrics', gauge('"asInt":"5","timeUnixNano":%')],
  ...['count', 'sum', 'min', 'max', 'bucketCounts', 'explicitBounds'].map(
    (name): [Signal, string] => ['metrics', histogram(`"${name}":%`)],
  ),
  ['metrics', histogram('"count":3,"bucketCounts":[1,%],"explicitBounds":[%]')],
  ...['name', 'description', 'unit', 'metadata', 'sum', 'histogram', 'summary'].map(
    (name): [Signal, string] => [
      'metrics',
      inMetric(`"${name}":%,"gauge":{"dataPoints":[{"timeUnixNano":"1","asInt":1}]}`),
    ],
  ),
  ...['aggregationTemporality', 'isMonotonic'].map((name): [Signal, string] => [
    'metrics',
    inMetric(`"sum":{"dataPoints":[{"timeUnixNano":"1","asInt":1}],"${name}":%}`),
  ]),
];

describe('every value in every place', { timeout: TIMEOUT_MS }, () => {
  test.each(PLACES.map((place, index) => [...place, index] as const))(
    '%s %s',
    (signal, body, at) => {
      for (const [index, value] of ANY.entries()) {
        if ((index + at) % VALUES_STEP !== 0) continue;
        isTakenAlike(signal, Buffer.from(body.replaceAll('%', () => value)));
      }
    },
  );
});

const SMALL: readonly [Signal, Buffer][] = [
  ['traces', traceBody(1, 2)],
  ['logs', logBody(1, 2)],
  ['metrics', metricBody(1, 6)],
];

test.each(SMALL)('a body of %s cut off at every byte', { timeout: TIMEOUT_MS }, (signal, body) => {
  for (let end = 0; end < body.length; end += isExhaustive ? 1 : 3) {
    expect(isTakenAlike(signal, body.subarray(0, end))).toBe(false);
  }
  expect(isTakenAlike(signal, body)).toBe(true);
});

test.each(SMALL)('%s with every kind of white space around every token', (signal, body) => {
  const tokens = tokensOf(body);
  for (const space of [' ', '\n', '\r\n', '\t \t']) {
    expect(isTakenAlike(signal, Buffer.from(`${space}${tokens.join(space)}${space}`))).toBe(true);
  }
  for (const space of ['\u00a0', '\u000b', '\f', '\ufeff', '\0', '/**/']) {
    expect(isTakenAlike(signal, Buffer.from(tokens.join(space)))).toBe(false);
  }
});

function tokensOf(body: Buffer): string[] {
  return body.toString().match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s"[\]{},:]+/g) ?? [];
}

/** Where a value begins, in a list of tokens. */
function isValue(tokens: readonly string[], index: number): boolean {
  const [before, token, after] = tokens.slice(index - 1);
  if (token === undefined || /^[\]},:]$/.test(token)) return false;
  return before === ':' || before === '[' || (before === ',' && after !== ':');
}

function endOfValue(tokens: readonly string[], start: number): number {
  let depth = 0;
  for (let index = start; index < tokens.length; index += 1) {
    const token = tokens[index] ?? '';
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    if (depth <= 0) return index + 1;
  }
  return tokens.length;
}

test.each(SMALL)(
  '%s with values in the places of others, twice, or missing',
  (signal, body) => {
    const random = seeded(body.length);
    const tokens = tokensOf(body);
    const values = tokens.flatMap((_, index) => (isValue(tokens, index) ? [index] : []));
    for (let count = 0; count < MUTATIONS; count += 1) {
      const at = pick(random, values);
      const from = pick(random, values);
      const own = tokens.slice(at, endOfValue(tokens, at));
      const other = tokens.slice(from, endOfValue(tokens, from));
      const put = pick(random, [other, other, [pick(random, ANY)], [...own, ',', ...other], []]);
      const changed = tokens.toSpliced(at, own.length, ...put);
      isTakenAlike(signal, Buffer.from(changed.join('')));
    }
  },
  TIMEOUT_MS,
);

describe('attributes', () => {
  const entries = (count: number): string =>
    Array.from({ length: count }, (_, index) => `{"key":"k${index}"}`).join();

  test.each([1, 24, 25, 63, 64, 65, 200, 1024, 1025])('%i of them', (count) => {
    const body = inSpan(`${IDS},"attributes":[${entries(count)}]`);
    expect(isTakenAlike('traces', Buffer.from(body))).toBe(true);
    const twice = inSpan(`${IDS},"attributes":[${entries(count)},{"key":"k0","value":{}}]`);
    expect(isTakenAlike('traces', Buffer.from(twice))).toBe(true);
  });

  test('a list of lists of lists, and of maps', () => {
    const nested = (depth: number): string =>
      depth === 0
        ? '{"stringValue":"ż"}'
        : `{"arrayValue":{"values":[${nested(depth - 1)},{"kvlistValue":{"values":[{"key":"a","value":${nested(depth - 1)}}]}}]}}`;
    const body = inSpan(`${IDS},"attributes":[{"key":"k","value":${nested(6)}}]`);
    expect(isTakenAlike('traces', Buffer.from(body))).toBe(true);
  });
});

describe('what is remembered from before', () => {
  const span = (id: string): string => `{"traceId":"${id}","spanId":"${SPAN_ID}"}`;
  const resource = (service: string, spans: string): string =>
    `{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"${service}"}}]},"scopeSpans":[{"spans":[${spans}]}]}`;
  const other = TRACE_ID.replaceAll('a', 'b').replace(/^./, 'f');
  const body = (...resources: string[]): Buffer => Buffer.from(`{"resourceSpans":[${resources}]}`);

  test('traces and resources that take turns, and come again', () => {
    const turns = body(
      resource('one', `${span(TRACE_ID)},${span(other)},${span(TRACE_ID)}`),
      resource('two', `${span(TRACE_ID)},${span(TRACE_ID.toUpperCase())}`),
      resource('one', `${span(other)},${span(other)}`),
    );
    expect(isTakenAlike('traces', turns)).toBe(true);
    const { runs, records } = scanned('traces', turns).encoded;
    expect([runs.length, records]).toEqual([2, 7]);
  });

  test('the same bytes for another workspace are that one’s', () => {
    for (const workspaceId of [7, 2 ** 31 - 1, 8]) {
      const turns = body(resource('one', span(TRACE_ID)));
      expect(isTakenAlike('traces', turns, workspaceId)).toBe(true);
      const { encoded } = scanned('traces', turns, workspaceId);
      expect(encoded.workspaceId).toBe(workspaceId);
      expect(encoded.runs.map((run) => run.workspaceId)).toEqual([workspaceId]);
    }
  });

  test('what a resource was remembered with, when another one follows without any', () => {
    expect(isTakenAlike('traces', body(resource('one', span(TRACE_ID))))).toBe(true);
    const bare = `{"scopeSpans":[{"spans":[${span(TRACE_ID)}]}]}`;
    expect(isTakenAlike('traces', body(bare, resource('one', span(other)), bare))).toBe(true);
  });

  test('more resources and metrics than are remembered', () => {
    for (let number = 0; number < 1100; number += 1) {
      isTakenAlike('traces', body(resource(`service ${number}`, span(TRACE_ID))));
    }
    expect(isTakenAlike('traces', body(resource('service 0', span(TRACE_ID))))).toBe(true);
  });
});
