/**
 * How many objects and lists a body may hold, whichever way it is decoded: the fast way counts while it
 * scans, and must not miss any.
 */

import { expect, test, vi } from 'vitest';
import { STRUCTURES_MAX } from '../../src/otlp/structure-count.ts';
import { sampleOf } from '../support/cases.ts';
import { decodeRequest, scanOrNull } from '../support/decoding.ts';
import { freshContext } from './both-ways.ts';

/** Around the records: `{[{[{[`. */
const FRAME = 6;

/** A body of so many objects and lists: records of a kind, then empty ones. */
function bodyOf(record: string, structures: number): Buffer {
  const each = record.split(/[{[]/).length - 1;
  const whole = Math.floor((structures - FRAME) / each);
  const rest = structures - FRAME - whole * each;
  const records = [...Array<string>(whole).fill(record), ...Array<string>(rest).fill('{}')];
  return Buffer.from(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[${records.join(',')}]}]}]}`);
}

const entry = (key: string, value: string): string => `{"key":"${key}","value":${value}}`;
const record = (...entries: string[]): string => `{"attributes":[${entries.join(',')}]}`;
const strings = Array.from({ length: 40 }, (_, key) => entry(`k${key}`, '{"stringValue":"v"}'));

const COUNTED: readonly (readonly [string, string])[] = [
  ['strings', record(...strings)],
  [
    'numbers',
    record(...strings.map((one) => one.replace('{"stringValue":"v"}', '{"intValue":1}'))),
  ],
  ['spaces', record(...strings).replaceAll('{', '{ ')],
  ['lists', record(entry('list', `{"arrayValue":{"values":[${'{"intValue":1},'.repeat(40)}{}]}}`))],
  ['maps', record(entry('map', `{"kvlistValue":{"values":[${strings.join(',')}]}}`))],
  ['a member that nobody knows', `{"other":[${'[{}],'.repeat(40)}{}]}`],
  ['a body', `{"body":{"arrayValue":{"values":[${'{"boolValue":true},'.repeat(40)}{}]}}}`],
];

test.each(sampleOf(COUNTED, 4))('%s count, each of them', (_what, one) => {
  const most = bodyOf(one, STRUCTURES_MAX);
  expect(scanOrNull('logs', most, freshContext())).not.toBeNull();
  const tooMany = bodyOf(one, STRUCTURES_MAX + 1);
  expect(scanOrNull('logs', tooMany, freshContext())).toBeNull();
  expect(() => decodeRequest('logs', tooMany, freshContext())).toThrow(
    expect.objectContaining({ code: 'body_too_large' }),
  );
});

test('what the fast way has to parse is refused before it is built', () => {
  // The same key twice: such a list is parsed, all of it.
  const list = `{"arrayValue":{"values":[${'{},'.repeat(STRUCTURES_MAX)}{}]}}`;
  const body = bodyOf(record(entry('twice', '{}'), entry('twice', list)), STRUCTURES_MAX + 20);
  expect(() => decodeRequest('logs', body, freshContext())).toThrow(
    expect.objectContaining({ code: 'body_too_large' }),
  );
});

const many = (one: string): string => `${`${one},`.repeat(2 * STRUCTURES_MAX)}${one}`;

const REFUSED: readonly (readonly [string, 'logs' | 'metrics', string])[] = [
  ['a scope', 'logs', `{"resourceLogs":[{"scopeLogs":[{"scope":{"x":[${many('{}')}]}}]}]}`],
  ['a resource', 'logs', `{"resourceLogs":[{"resource":{"x":[${many('{}')}]}}]}`],
  ['scopes', 'logs', `{"resourceLogs":[{"scopeLogs":[${many('{}')}]}]}`],
  ['resources', 'logs', `{"resourceLogs":[${many('{}')}]}`],
  [
    'what a metric has beside its points',
    'metrics',
    `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","metadata":[${many('{}')}]}]}]}]}`,
  ],
  [
    'bounds of a histogram',
    'metrics',
    `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","histogram":{"aggregationTemporality":2,"dataPoints":[${many(
      '{"explicitBounds":[]}',
    )}]}}]}]}]}`,
  ],
];

test.each(sampleOf(REFUSED, 4))(
  '%s, by the million, are refused before they are built',
  (_what, signal, text) => {
    const parse = vi.spyOn(JSON, 'parse');
    try {
      expect(() => decodeRequest(signal, Buffer.from(text), freshContext())).toThrow(
        expect.objectContaining({ code: 'body_too_large' }),
      );
      expect(parse.mock.calls.filter(([parsed]) => parsed.length > 1000)).toEqual([]);
    } finally {
      parse.mockRestore();
    }
  },
);
