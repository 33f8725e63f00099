/** The records of a body, as stored ones are compared with them. */
import { expect, test } from 'vitest';

import { bodyOf, ROW_NUMBERS, ROWS_PER_BODY, TIME_BASE } from './bodies.ts';
import { placeOf, pointsOf, type RowSignal, sentRows } from './sent-records.ts';

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

const rowsOf = (number: number): string[] => {
  const body = bodyOf(number);
  return sentRows(body as typeof body & { signal: RowSignal });
};

test('every record of the first hundred bodies differs from every other, also without its time', () => {
  const contents = Array.from({ length: 100 }, (_, number) => bodyOf(number)).flatMap((body) =>
    body.signal === 'metrics'
      ? pointsOf(body.bytes.toString()).map(({ content }) => JSON.stringify(content))
      : rowsOf(body.number),
  );
  const texts = contents.map((content) => content.replace(/"179\d{16}"/g, ''));
  expect(new Set(texts).size).toBe(100 * ROWS_PER_BODY);
});

test('rows of spans and log records are JSON of their columns, escaped or not', () => {
  const [plain, inAscii] = [rowsOf(2), rowsOf(4)];
  expect(bodyOf(2).bytes.toString()).toMatch(/[^\0-\x7f]/);
  expect(bodyOf(4).bytes.toString()).not.toMatch(/[^\0-\x7f]/);
  for (const rows of [plain, inAscii]) {
    expect(rows).toHaveLength(ROWS_PER_BODY);
    expect(rows.join('')).toContain('Zürich');
    for (const row of rows) expect(JSON.parse(row)).toEqual(expect.arrayContaining(['chaos']));
  }
});

test('a data point has everything that encloses it, and its numbers as they were written', () => {
  const request = (point: string): string =>
    `{"resourceMetrics":[{"schemaUrl":"r","scopeMetrics":[{"scope":{"name":"s"},"metrics":[
      {"name":"empty"},{"name":"m","sum":{"isMonotonic":true,"dataPoints":[${point}]}}]}]}]}`;
  expect(pointsOf(request('{"timeUnixNano":"5","asDouble":1.50}'))).toEqual([
    {
      time: '5',
      content: {
        rest: {},
        resource: { schemaUrl: 'r' },
        scope: { scope: { name: 's' } },
        identity: { name: 'm' },
        kind: 'sum',
        aggregation: { isMonotonic: true },
        point: { timeUnixNano: '5', asDouble: { number: '1.50' } },
      },
    },
  ]);
  expect(pointsOf(request(''))).toEqual([]);
});
