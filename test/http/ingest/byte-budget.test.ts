/** The bytes of all bodies in memory: taken and refused chunk by chunk, given back once. */
import { expect, test } from 'vitest';
import { ByteBudget } from '../../../src/http/ingest/byte-budget.ts';

test('accounts share the budget; what does not fit is not taken', () => {
  const budget = new ByteBudget(10);
  const [first, second] = [budget.open(1), budget.open(2)];
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
  const [first, second] = [budget.open(1), budget.open(2)];
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
  const account = budget.open(1);
  account.reserve(8);
  account.reserve(8);
  account.release();
  expect(budget.used).toBe(0);
});

test('a workspace alone may use eight ninths, and its only request all of it', () => {
  const budget = new ByteBudget(900);
  const only = budget.open(1);
  expect(only.reserve(900)).toBe(true);
  only.release();
  const accounts = Array.from({ length: 10 }, () => budget.open(1));
  expect(accounts.filter((account) => account.reserve(100))).toHaveLength(8);
  expect(budget.used).toBe(800);
});

test('a workspace that holds much leaves room for one that holds nothing', () => {
  const budget = new ByteBudget(900);
  const flood = Array.from({ length: 900 }, () => budget.open(1));
  for (const account of flood) account.reserve(1);
  expect(budget.used).toBe(800);
  expect(budget.hasRoom(1, 1)).toBe(false);
  expect(budget.hasRoom(2, 100)).toBe(true);
  expect(budget.used).toBe(800);
  const quiet = budget.open(2);
  expect(quiet.reserve(60)).toBe(true);
  expect(budget.open(2).reserve(20)).toBe(true);
  // What others hold is missing to it: it gives back before it may take more.
  for (const account of flood.slice(0, 50)) account.release();
  expect(budget.hasRoom(1, 1)).toBe(false);
});

test('workspaces that want all of it end with equal parts, and leave room for one more', () => {
  const budget = new ByteBudget(10_000);
  for (let round = 0; round < 10_000; round += 1) {
    for (const workspaceId of [1, 2, 3, 4]) budget.open(workspaceId).reserve(1);
  }
  expect(budget.used).toBeLessThan(9700);
  expect(budget.hasRoom(5, 300)).toBe(true);
});

test('what is larger than the whole room gets it when nothing else is there', () => {
  const budget = new ByteBudget(10);
  const large = budget.open(1);
  expect(large.reserve(11)).toBe(true);
  expect(budget.open(2).reserve(1)).toBe(false);
  large.release();
  expect(budget.open(2).reserve(1)).toBe(true);
  expect(budget.open(1).reserve(11)).toBe(false);
});
