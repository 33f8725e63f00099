/** The bytes of all bodies in memory: taken and refused chunk by chunk, given back once. */
import { expect, test } from 'vitest';
import { ByteBudget } from '../../src/http/byte-budget.ts';

test('accounts share the budget; what does not fit is not taken', () => {
  const budget = new ByteBudget(10);
  const [first, second] = [budget.open(), budget.open()];
  expect(first.reserve(6)).toBe(true);
  expect(second.reserve(5)).toBe(false);
  expect(budget.used).toBe(6);
  expect(second.reserve(4)).toBe(true);
  expect(budget.used).toBe(10);
  expect(first.reserve(1)).toBe(false);
  expect(first.reserve(0)).toBe(true);
});

test('a release gives back what this account holds, once', () => {
  const budget = new ByteBudget(10);
  const [first, second] = [budget.open(), budget.open()];
  first.reserve(3);
  first.reserve(3);
  second.reserve(2);
  first.release();
  first.release();
  expect(budget.used).toBe(2);
  expect(first.reserve(8)).toBe(true);
  first.release();
  second.release();
  expect(budget.used).toBe(0);
});

test('an account that was refused gives back only what it had', () => {
  const budget = new ByteBudget(10);
  const account = budget.open();
  account.reserve(8);
  account.reserve(8);
  account.release();
  expect(budget.used).toBe(0);
});
