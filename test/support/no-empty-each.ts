/**
 * Set-up of every test file: `test.each` and `describe.each` of an empty list fail. Vitest makes no test of
 * it and passes, so a list that is read from sources or documents may become empty unnoticed.
 */
import { describe, it, test } from 'vitest';

for (const tests of [test, it, describe]) {
  const { each } = tests;
  if (each.name === 'eachOfSome') continue;
  const eachOfSome = function (this: unknown, cases: readonly unknown[], ...more: unknown[]) {
    if (cases.length === 0) throw new Error('each() has an empty list: no test would run');
    return Reflect.apply(each, this, [cases, ...more]);
  };
  Object.defineProperty(tests, 'each', { value: eachOfSome });
}
