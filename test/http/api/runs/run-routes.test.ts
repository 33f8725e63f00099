/** What a run's times look like, and what the list's query takes. Answers: test/e2e/runs.test.ts. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runFilterOf, runsQuery } from '../../../../src/http/api/runs/run-routes.ts';
import { isoOfNanos } from '../../../../src/http/api/runs/run-schema.ts';
import { logFilterOf, logsQuery } from '../../../../src/http/api/telemetry/log-routes.ts';
import { InvalidInput, parseQuery } from '../../../../src/http/transport/input.ts';

test.each([
  ['0', '1970-01-01T00:00:00.000000000Z'],
  ['1763640000123456789', '2025-11-20T12:00:00.123456789Z'],
  ['-1', '1969-12-31T23:59:59.999999999Z'],
  ['9223372036854775807', '2262-04-11T23:47:16.854775807Z'],
  ['-9223372036854775808', '1677-09-21T00:12:43.145224192Z'],
])('%s ns is %s', (nanos, iso) => {
  expect(isoOfNanos(nanos)).toBe(iso);
});

test('every time that can be stored has one, in the order of the times', () => {
  const nanos = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  fc.assert(
    fc.property(nanos, nanos, (a, b) => {
      const [first, second] = a < b ? [a, b] : [b, a];
      expect(isoOfNanos(`${first}`) <= isoOfNanos(`${second}`)).toBe(true);
    }),
  );
});

test('a page of the list has 50 runs, or from 1 to 500', () => {
  expect(parseQuery(runsQuery, '').limit).toBe(50);
  for (const limit of [1, 500]) expect(parseQuery(runsQuery, `limit=${limit}`).limit).toBe(limit);
  for (const limit of [0, 501]) {
    expect(() => parseQuery(runsQuery, `limit=${limit}`)).toThrow(InvalidInput);
  }
});

test('times of runs and log records are moments, or times before now', () => {
  const now = Date.parse('2025-11-20T12:00:00Z');
  const query = 'since=24h&until=2025-11-20';
  const range = {
    since: new Date('2025-11-19T12:00:00Z'),
    until: new Date('2025-11-20T00:00:00Z'),
  };
  expect(runFilterOf(parseQuery(runsQuery, query), now)).toMatchObject(range);
  expect(logFilterOf(parseQuery(logsQuery, query), now)).toMatchObject(range);
  for (const since of ['0h', '-1h', '24', '1w', 'yesterday', '99999d']) {
    expect(() => parseQuery(runsQuery, `since=${since}`), since).toThrow(InvalidInput);
  }
});

test.each(['service', 'agent', 'model', 'session_id', 'user_id'] as const)(
  'the filter %s has 256 characters at most',
  (name) => {
    const longest = 'x'.repeat(256);
    expect(parseQuery(runsQuery, `${name}=${longest}`)[name]).toBe(longest);
    expect(() => parseQuery(runsQuery, `${name}=${longest}x`)).toThrow(InvalidInput);
  },
);
