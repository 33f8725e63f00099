/** The forms of answers: JSON, and errors as RFC 9457 asks for them. */
import { expect, test } from 'vitest';
import { ERRORS, type ErrorCode, SluiceError, UnavailableError } from '../../../src/errors.ts';
import {
  answeredError,
  json,
  problem,
  toSluiceError,
  type UnexpectedError,
} from '../../../src/http/transport/answers.ts';

const CODES = Object.keys(ERRORS) as ErrorCode[];

/** What is missing is a session, not a key. */
const SESSION: readonly ErrorCode[] = ['not_signed_in', 'sign_in_failed'];

test.each(CODES)('%s has type, title, status, detail and reason', (code) => {
  const { status, title, retryable } = ERRORS[code];
  const answer = problem(new SluiceError(code, 'What went wrong.'));
  expect(answer.status).toBe(status);
  expect(answer.contentType).toBe('application/problem+json');
  expect(JSON.parse(String(answer.body))).toEqual({
    type: `/docs/errors#${code}`,
    title,
    status,
    detail: 'What went wrong.',
    reason: code,
  });
  expect(answer.headers).toEqual([
    ...(status === 401
      ? [['www-authenticate', SESSION.includes(code) ? 'Session' : 'Bearer']]
      : []),
    ...(retryable ? [['retry-after', '1']] : []),
  ]);
});

test('members and headers come beside', () => {
  const error = new SluiceError('rate_limited', 'Slow down.', { retryAfterSeconds: 42 });
  const answer = problem(error, { limit: 3 }, [['x-scope', 'user']]);
  expect(answer.headers).toEqual([
    ['retry-after', '42'],
    ['x-scope', 'user'],
  ]);
  expect(JSON.parse(String(answer.body))).toMatchObject({ limit: 3, status: 429 });
});

const sqlError = (code: string) => Object.assign(new Error('secret'), { code });

test('an error of the table stays what it is', () => {
  const known = new SluiceError('not_found', 'No.');
  expect(toSluiceError(known, 'read')).toBe(known);
});

test.each([
  new Error('secret'),
  new TypeError('secret is not a function'),
  sqlError('42703'),
  sqlError('22P02'),
  'secret',
  undefined,
])('an unexpected exception is an internal error with an id, and not shown: %o', (thrown) => {
  const error = toSluiceError(thrown, 'read');
  expect(error).toMatchObject({ code: 'internal_error', retryAfterSeconds: null });
  expect(error.cause).toBe(thrown);
  const body = JSON.parse(String(problem(error).body));
  expect(body).toMatchObject({ status: 500, id: expect.stringMatching(/^[0-9a-f]{16}$/) });
  expect(body.detail).toContain(body.id);
  expect(JSON.stringify(body)).not.toContain('secret');
});

test('on ingest it may be sent again', () => {
  const error = toSluiceError(new TypeError('x'), 'ingest');
  expect(error).toMatchObject({ code: 'not_stored', retryAfterSeconds: 1 });
});

test.each([
  sqlError('ECONNREFUSED'),
  sqlError('08006'),
  sqlError('25006'),
  sqlError('40001'),
  sqlError('40P01'),
  sqlError('53100'),
  sqlError('55P03'),
  sqlError('57014'),
  sqlError('57P01'),
  sqlError('58030'),
  new Error('Query read timeout'),
  new Error('timeout exceeded when trying to connect'),
  new UnavailableError('The database took longer than 60000 ms.'),
])('a database that is away, overloaded or slow: %o', (thrown) => {
  for (const place of ['read', 'ingest'] as const) {
    expect(toSluiceError(thrown, place)).toMatchObject({
      code: 'store_unavailable',
      retryAfterSeconds: 1,
      cause: thrown,
    });
  }
});

test('an exception is reported with its route, and each 503 is counted', () => {
  const reported: unknown[] = [];
  const events = {
    requestFailed: (...facts: unknown[]) => void reported.push(facts),
    requestUnavailable: (...facts: unknown[]) => void reported.push(facts),
  };
  const request = { method: 'GET', route: '/things/{id}' };
  const bug = new TypeError('x');
  const { id } = answeredError(bug, 'read', request, events) as UnexpectedError;
  answeredError(sqlError('57P03'), 'read', request, events);
  answeredError(new SluiceError('not_found', 'No.'), 'read', request, events);
  expect(reported).toEqual([
    ['read', bug, { ...request, id }],
    ['read', expect.objectContaining({ code: '57P03' }), { ...request, id: null }],
    ['read', 'store_unavailable'],
  ]);
});

test('json is 200 unless said otherwise', () => {
  expect(json({ a: 1 })).toEqual({
    status: 200,
    contentType: 'application/json',
    body: '{"a":1}',
  });
  expect(json([], 201).status).toBe(201);
});
