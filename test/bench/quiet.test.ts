/** What is done with the result of a measurement. */
import { expect, test } from 'vitest';
import { useOf } from '../../bench/quiet.ts';

test('a result is written only without a reason against it, and never with --force', () => {
  expect(useOf([], false)).toBe('write');
  expect(useOf(['busy'], false)).toBeNull();
  expect(useOf([], true)).toBe('print');
  expect(useOf(['busy'], true)).toBe('print');
});
