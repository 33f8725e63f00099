/** Each way in which a connection fails has its own advice, which names the setting. */
import { expect, test } from 'vitest';
import { connectionAdvice } from '../../../src/cli/doctor/check.ts';
import { OperatorError } from '../../../src/errors.ts';

const failure = (code: string): Error => Object.assign(new Error('of the driver'), { code });

test.each([
  [failure('ECONNREFUSED'), /^Start PostgreSQL, or correct host and port in DATABASE_URL/],
  [failure('ENOTFOUND'), /^Correct the host in DATABASE_URL/],
  [failure('28P01'), /^Correct user and password in DATABASE_URL/],
  [failure('28000'), /pg_hba\.conf/],
  [failure('3D000'), /^CREATE DATABASE/],
  [failure('53300'), /max_connections/],
  [failure('57P03'), /^Wait/],
  [new AggregateError([failure('ECONNREFUSED')]), /^Start PostgreSQL/],
  [new OperatorError('of Sluice', { cause: failure('3D000') }), /^CREATE DATABASE/],
  [new Error('timeout expired'), /^Correct DATABASE_URL\. .*firewall/],
])('%o', (error, advice) => {
  expect(connectionAdvice(error, 'DATABASE_URL')).toMatch(advice);
});
