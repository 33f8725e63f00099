/**
 * Set-up of every test file: `test.each` and `describe.each` of an empty list fail (Vitest makes no test of it and
 * passes), passwords are hashed at the least cost, also after a file that called `useRealScrypt`, and fast-check tries
 * the same cases at every run, unless it is exhaustive.
 */
import fc from 'fast-check';
import { describe, it, test } from 'vitest';
import { isExhaustive } from './cases.ts';
import { useQuickScrypt } from './child-settings.ts';

for (const tests of [test, it, describe]) {
  const { each } = tests;
  if (each.name === 'eachOfSome') continue;
  const eachOfSome = function (this: unknown, cases: readonly unknown[], ...more: unknown[]) {
    if (cases.length === 0) throw new Error('each() has an empty list: no test would run');
    return Reflect.apply(each, this, [cases, ...more]);
  };
  Object.defineProperty(tests, 'each', { value: eachOfSome });
}

useQuickScrypt();

if (!isExhaustive) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20_261_122 });
