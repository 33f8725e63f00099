/** Which pattern marks a finding's excerpt: its own condition's, of the rule as it was then. */
import { expect, test } from 'vitest';

import { marker } from '../../../src/http/dashboard/finding-mark.ts';
import { finding, rule } from '../../web/app/fixtures.ts';

const calls: unknown[] = [];
const markOf = marker([rule({ version: '1.0.0' })], (pattern, excerpt) => {
  calls.push([pattern, excerpt]);
  return { start: 1, end: 2 };
});

test('the condition that hit is sought in the excerpt', () => {
  expect(markOf(finding({ excerpt: 'the text' }))).toEqual({ start: 1, end: 2 });
  expect(calls).toEqual([['ignore all', 'the text']]);
});

test.each([
  ['no excerpt', finding({ excerpt: null })],
  ['a rule that is gone', finding({ ruleId: 'ATR-2026-99999' })],
  ['another version of the rule', finding({ ruleVersion: '0.9.0' })],
  ['a condition that is gone', finding({ conditionIndex: 5 })],
])('%s: nothing is sought', (_what, one) => {
  calls.length = 0;
  expect(markOf(one)).toBeNull();
  expect(calls).toEqual([]);
});
