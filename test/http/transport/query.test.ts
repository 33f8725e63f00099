/** Query strings: defaults, limits, and all faults of one query in one 400. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { problem } from '../../../src/http/transport/answers.ts';
import {
  checkControls,
  InvalidInput,
  moment,
  momentOrAgo,
  NAME_CHARS_MAX,
  parsePageQuery,
  parseQuery,
  toDate,
  wholeNumber,
} from '../../../src/http/transport/input.ts';

const schema = z.object({
  page: wholeNumber(1, 100, 1),
  color: z.enum(['red', 'blue']).optional(),
  since: moment.optional(),
});

function faultsOf(query: string): string[] {
  try {
    parseQuery(schema, query);
  } catch (error) {
    if (error instanceof InvalidInput) return error.faults.map(({ path }) => path);
    throw error;
  }
  return [];
}

test.each<[string, unknown]>([
  ['', { page: 1 }],
  ['page=7&color=red', { page: 7, color: 'red' }],
  ['page=100', { page: 100 }],
  ['page=&color=', { page: 1 }],
  ['unknown=&page=&page=4', { page: 4 }],
  ['since=2026-11-20', { page: 1, since: new Date('2026-11-20T00:00:00Z') }],
  ['since=2026-11-20T10:00:00Z', { page: 1, since: new Date('2026-11-20T10:00:00Z') }],
  ['since=2026-11-20T10:00:00.5%2B02:00', { page: 1, since: new Date('2026-11-20T08:00:00.5Z') }],
])('"%s" is understood', (query, expected) => {
  expect(parseQuery(schema, query)).toEqual(expected);
});

test.each([
  ['2026-11-20', '2026-11-20T00:00:00.000Z'],
  ['30m', '2026-11-21T11:30:00.000Z'],
  ['24h', '2026-11-20T12:00:00.000Z'],
  ['7d', '2026-11-14T12:00:00.000Z'],
  ['9999d', '1999-07-07T12:00:00.000Z'],
])('%s is a moment or a time before now', (text, expected) => {
  const nowMs = Date.parse('2026-11-21T12:00:00Z');
  expect(toDate(momentOrAgo.parse(text), nowMs)?.toISOString()).toBe(expected);
});

test.each(['', '0d', '7', 'd', '-1d', '7 d', '10000d', '7D', '1d1h', 'now'])(
  '"%s" is no time before now',
  (text) => {
    expect(momentOrAgo.safeParse(text).success).toBe(false);
  },
);

test.each([
  ['page=2&page=3', ['page']],
  ['page=2&page=2', ['page']],
  ['unknown=1&page=4', ['unknown']],
  ['__proto__=x&constructor=1', ['__proto__', 'constructor']],
  ['page=1e3', ['page']],
  ['page=0x10', ['page']],
  ['page=+7', ['page']],
  ['page=%207', ['page']],
  ['page=7.0', ['page']],
  ['page=9999999999999999999', ['page']],
  ['severty=x&color=red&color=blue&page=0', ['severty', 'color', 'page']],
  ['page=0', ['page']],
  ['page=101', ['page']],
  ['page=1.5', ['page']],
  ['page=-1', ['page']],
  ['page=x', ['page']],
  ['page=%zz', ['page']],
  ['color=green', ['color']],
  ['since=yesterday', ['since']],
  ['since=2026-02-30', ['since']],
  ['since=2026-11-20T10:00:00', ['since']],
  ['page=0&color=green&since=never', ['page', 'color', 'since']],
])('"%s" is refused for %j', (query, paths) => {
  expect(faultsOf(query)).toEqual(paths);
});

test.each([
  ['service=%00', {}, ['service']],
  ['a=1&b=%1F&c=x%7fy', {}, ['b', 'c']],
  ['a=\x7f', {}, ['a']],
  ['q=line%0Abreak&tab=%09', {}, ['q', 'tab']],
  ['n%00me=1', {}, ['n\0me']],
  ['', { runId: 'a\0b' }, ['runId']],
  ['service=%00', { runId: '\n' }, ['runId']],
])('"%s" with %j holds control characters', (query, parameters, paths) => {
  let faults: readonly { path: string }[] = [];
  try {
    checkControls(query, parameters);
  } catch (error) {
    faults = error instanceof InvalidInput ? error.faults : [];
  }
  expect(faults.map(({ path }) => path)).toEqual(paths);
});

test('an unknown parameter is answered with the known ones, a control in a path as its fault', () => {
  expect(() => parseQuery(schema, 'severty=critical')).toThrow(
    expect.objectContaining({
      code: 'bad_query',
      faults: [{ path: 'severty', message: 'is unknown; known are page, color, since' }],
    }),
  );
  expect(() => parseQuery(z.object({}), 'a=1')).toThrow(
    expect.objectContaining({
      faults: [{ path: 'a', message: 'is unknown; there are none here' }],
    }),
  );
  expect(() => checkControls('', { runId: '\0' })).toThrow(
    expect.objectContaining({ code: 'bad_path', message: 'The path is invalid.' }),
  );
});

test('the query of a page may name its workspace; other unknown parameters are refused, and repeated ones', () => {
  expect(parsePageQuery(schema, 'workspace=a&page=7')).toEqual({ page: 7 });
  expect(() => parsePageQuery(schema, 'page=7&page=8')).toThrow(InvalidInput);
  expect(() => parsePageQuery(schema, 'pages=7')).toThrow(InvalidInput);
});

test.each([
  ['q=%C3%A9%E2%80%AE+%2500&since=2026-11-20T10%3A00%3A00%2B02%3A00', { id: 'a b/é%00' }],
  ['q=%&x=%zz', {}],
])('"%s" with %j holds none', (query, parameters) => {
  expect(() => checkControls(query, parameters)).not.toThrow();
});

test('the answer lists path and message of every fault', () => {
  const answer = problem(new InvalidInput('bad_query', [{ path: 'page', message: 'too large' }]));
  expect(answer.status).toBe(400);
  expect(JSON.parse(String(answer.body))).toEqual({
    type: '/docs/errors#bad_query',
    title: 'Bad query parameter',
    status: 400,
    detail: 'One or more query parameters are invalid.',
    reason: 'bad_query',
    errors: [{ path: 'page', message: 'too large' }],
  });
});

test('a moment that is none says what one looks like', () => {
  const { error } = moment.safeParse('soon');
  expect(error?.issues.map(({ message }) => message)).toEqual([
    'must be an ISO 8601 date, or date and time with offset',
  ]);
});

test.each([
  [NAME_CHARS_MAX, NAME_CHARS_MAX],
  [NAME_CHARS_MAX + 1, NAME_CHARS_MAX],
])('of an unknown name of %i characters, %i are repeated', (length, repeated) => {
  const name = 'n'.repeat(length);
  const shown = name.slice(0, repeated);
  expect(faultsOf(`${name}=1`)).toEqual([shown]);
  expect(faultsOf(`${name}=1&${name}=2`)).toEqual([shown, shown]);
});
