/** The forms of answers: JSON, and errors as RFC 9457 asks for them. */
import { expect, test } from 'vitest';
import { ERRORS, type ErrorCode, SluiceError } from '../../../src/errors.ts';
import { json, problem, toSluiceError } from '../../../src/http/transport/problem.ts';

const CODES = Object.keys(ERRORS) as ErrorCode[];

/** What is missing is a session, not a key. */
const SESSION: readonly ErrorCode[] = ['not_signed_in', 'sign_in_failed'];

test.each(CODES)('%s has type, title, status and detail', (code) => {
  const { status, title, retryable } = ERRORS[code];
  const answer = problem(new SluiceError(code, 'What went wrong.'));
  expect(answer.status).toBe(status);
  expect(answer.contentType).toBe('application/problem+json');
  expect(JSON.parse(String(answer.body))).toEqual({
    type: `/docs/errors#${code}`,
    title,
    status,
    detail: 'What went wrong.',
    ...(status === 401 || status === 403 || code === 'other_workspace' ? { reason: code } : {}),
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

test('what was thrown becomes a line of the table; the unforeseen says nothing', () => {
  const known = new SluiceError('not_found', 'No.');
  expect(toSluiceError(known)).toBe(known);
  for (const thrown of [new Error('secret'), 'secret', undefined]) {
    const error = toSluiceError(thrown);
    expect(error.code).toBe('store_unavailable');
    expect(error.cause).toBe(thrown);
    expect(error.message).not.toContain('secret');
  }
});

test('json is 200 unless said otherwise', () => {
  expect(json({ a: 1 })).toEqual({
    status: 200,
    contentType: 'application/json',
    body: '{"a":1}',
  });
  expect(json([], 201).status).toBe(201);
});
