/** The records of a body, as stored ones are compared with them. */
import { expect, test } from 'vitest';

import { bodyOf, ROW_NUMBERS, ROWS_PER_BODY, TIME_BASE } from './bodies.ts';
import { placeOf, recordsOf } from './sent-records.ts';

const timeOf = (body: number, row: number): string =>
  String(TIME_BASE + BigInt(body * ROW_NUMBERS + row));

test.each([
  [0, 0],
  [0, ROW_NUMBERS - 1],
  [1, 0],
  [70_000, ROWS_PER_BODY],
  [-1, ROW_NUMBERS - 1],
])('body %s, row %s is found by its time', (body, row) => {
  expect(placeOf(timeOf(body, row))).toEqual({ body, row });
});

const contentsOf = (number: number): string[] => {
  const { signal, bytes } = bodyOf(number);
  return recordsOf(signal, bytes.toString()).map(({ content }) => JSON.stringify(content));
};

test('every record of the first hundred bodies differs from every other, also without its time', () => {
  const contents = Array.from({ length: 100 }, (_, number) => contentsOf(number)).flat();
  const texts = contents.map((content) => content.replace(/"179\d{16}"/g, ''));
  expect(new Set(texts).size).toBe(100 * ROWS_PER_BODY);
});

test('records are those of the request, escaped or not', () => {
  const [plain, inAscii] = [contentsOf(2), contentsOf(4)];
  expect(bodyOf(2).bytes.toString()).toMatch(/[^\0-\x7f]/);
  expect(bodyOf(4).bytes.toString()).not.toMatch(/[^\0-\x7f]/);
  for (const contents of [plain, inAscii]) {
    expect(contents).toHaveLength(ROWS_PER_BODY);
    expect(contents.join('')).toContain('Zürich');
  }
});

test('a span has its run, and the time at which it started', () => {
  const { signal, bytes, runId } = bodyOf(2);
  const records = recordsOf(signal, bytes.toString());
  expect(new Set(records.map((record) => record.runId))).toEqual(new Set([runId]));
  expect(records.map(({ time }) => placeOf(time).row)).toEqual(records.map((_, row) => row));
});

test('a data point has everything that encloses it, and its numbers as they were written', () => {
  const request = (point: string): string =>
    `{"resourceMetrics":[{"schemaUrl":"r","scopeMetrics":[{"scope":{"name":"s"},"metrics":[
      {"name":"empty"},{"name":"m","sum":{"isMonotonic":true,"dataPoints":[${point}]}}]}]}]}`;
  expect(recordsOf('metrics', request('{"timeUnixNano":"5","asDouble":1.50}'))).toEqual([
    {
      time: '5',
      runId: null,
      content: {
        rest: {},
        resource: { schemaUrl: 'r' },
        scope: { scope: { name: 's' } },
        identity: { name: 'm' },
        kind: 'sum',
        aggregation: { isMonotonic: true },
        record: { timeUnixNano: '5', asDouble: { number: '1.50' } },
      },
    },
  ]);
  expect(recordsOf('metrics', request(''))).toEqual([]);
});
