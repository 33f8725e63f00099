/** Reasons are stored and logged: what they must not hold is the point. */
import { expect, test } from 'vitest';

import { isOutage } from '../../src/db/outage.ts';
import { reasonOf, shortReason } from '../../src/pool/reason.ts';

const databaseError = (code: string, message: string): Error =>
  Object.assign(new Error(message), { name: 'error', code });

test.each([
  [
    databaseError('57014', 'canceling statement due to statement timeout'),
    'error 57014 canceling statement due to statement timeout',
  ],
  [databaseError('22P02', 'invalid input syntax: "secret"'), 'error 22P02'],
  [new RangeError('Invalid string length'), 'RangeError Invalid string length'],
  ['secret', 'string'],
])('%s', (error, reason) => {
  expect(reasonOf(error)).toBe(reason);
});

test('text that could not be parsed is not quoted', () => {
  let thrown: unknown;
  try {
    JSON.parse('secret');
  } catch (error) {
    thrown = error;
  }
  expect(String(thrown)).toContain('secret');
  expect(reasonOf(thrown)).toBe('SyntaxError');
});

test('a reason is short', () => {
  expect(shortReason('x'.repeat(1000))).toHaveLength(300);
});

test.each(['08006', '25006', '28P01', '3D000', '53100', '53300', '57P01', '57P03'])(
  '%s is an outage',
  (code) => expect(isOutage(databaseError(code, ''))).toBe(true),
);

test.each(['57014', '57P02', '53200', '22021', 'ECONNRESET'])('%s is not', (code) =>
  expect(isOutage(databaseError(code, ''))).toBe(false),
);

test('what is no error is no outage', () => expect(isOutage({ code: '08006' })).toBe(false));
