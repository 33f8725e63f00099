/** Which SQLSTATEs refuse a request for good: every row of the table in batch-store.ts. */
import { expect, test } from 'vitest';

import { isRowFault, mayMissPartition } from '../../../src/db/telemetry/batch-store.ts';

const errorOf = (code: string, constraint?: string): Error =>
  Object.assign(new Error('x'), constraint === undefined ? { code } : { code, constraint });

test.each([
  ['22P02', 'bad JSON'],
  ['22021', 'bad UTF-8'],
  ['22003', 'a value out of range'],
  ['22P04', 'a malformed COPY row'],
  ['23502', 'a missing value'],
  ['23503', 'a missing workspace'],
  ['23505', 'a duplicate key'],
  ['54001', 'JSON nested too deeply'],
])('%s (%s) is the fault of the rows', (code) => {
  expect(isRowFault(errorOf(code))).toBe(true);
});

test.each([
  ['08006', 'connection failure'],
  ['25006', 'a standby'],
  ['28P01', 'wrong password'],
  ['40001', 'serialization failure'],
  ['40P01', 'deadlock'],
  ['42703', 'no such column'],
  ['42P01', 'no such table'],
  ['53100', 'disk full'],
  ['53200', 'out of memory'],
  ['55P03', 'a lock that is taken'],
  ['57014', 'statement timeout'],
  ['57P01', 'shutting down'],
  ['58030', 'I/O error'],
  ['XX000', 'internal error'],
  ['XX001', 'corrupted data'],
])('%s (%s) is not: the request is sent again', (code) => {
  expect(isRowFault(errorOf(code))).toBe(false);
});

test('a check violation is the fault of the rows only if a constraint refused them', () => {
  expect(isRowFault(errorOf('23514', 'runs_state_check'))).toBe(true);
  expect(isRowFault(errorOf('23514'))).toBe(false);
  expect(mayMissPartition(errorOf('23514'), 'local')).toBe(true);
  expect(mayMissPartition(errorOf('23514', 'runs_state_check'), 'local')).toBe(false);
  expect(mayMissPartition(errorOf('XX000'), 'local')).toBe(false);
  expect(mayMissPartition(errorOf('XX000'), 'distributed')).toBe(true);
  expect(mayMissPartition(errorOf('57P01'), 'distributed')).toBe(false);
});

test('an error without a SQLSTATE is not the fault of the rows', () => {
  expect([new Error('socket'), 'text', null].map(isRowFault)).toEqual([false, false, false]);
});
