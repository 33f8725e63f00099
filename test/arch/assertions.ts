/** Tests that cannot fail: each asserts something whatever its lists hold, and `each` has a case. */
import { describe, expect, test } from 'vitest';

import { parseSource, readSources } from './source-file.ts';

describe('the checker of loops', () => {
  const linesOf = (body: string): readonly number[] =>
    parseSource('test/x.test.ts', `const some = [1]; const none = f();\n${body}`).bareLoops;
  const inTest = (body: string) => linesOf(`test('x', async () => { ${body} });`);

  test.each([
    'for (const one of none) expect(one).toBe(1);',
    'for (const one of await g()) { h(); expect(one).toBe(1); }',
    'for (const one of none) for (const other of some) expect(one).toBe(other);',
    'for (const one of []) expect(one).toBe(1);',
    'for (const [key] of none.entries()) expect(key).toBe(1);',
    'const { drawn } = f(); for (const one of drawn) expect(one).toBe(1);',
  ])('finds %s', (body) => {
    expect(inTest(body)).toEqual([2]);
    expect(linesOf(`it.each([1])('x', async () => { ${body} });`)).toEqual([2]);
  });

  test.each([
    'for (const one of none) expect(one).toBe(1); expect(none).toHaveLength(2);',
    'for (const one of some) expect(one).toBe(1);',
    'for (const one of [1]) expect(one).toBe(1);',
    'for (const one of [...some, ...none]) expect(one).toBe(1);',
    'for (const one of someOf(none)) expect(one).toBe(1);',
    'for (const one of CASES) expect(one).toBe(1);',
    'for (const [key] of Object.entries(CASES)) expect(key).toBe(1);',
    'for (const one of new Set(some)) expect(one).toBe(1);',
    'fc.assert(fc.property(list, (drawn) => { for (const one of drawn) expect(one).toBe(1); }));',
    'for (const one of none) f(one);',
    'for (const one of parameter) expect(one).toBe(1);',
  ])('leaves %s alone', (body) => {
    expect(inTest(body)).toEqual([]);
  });
});

test('no test asserts only in loops over what may be empty', () => {
  const faults = readSources('test').flatMap(({ path, bareLoops }) =>
    bareLoops.map((line) => `${path}:${line}`),
  );
  expect(faults).toEqual([]);
});

test.each([test.each, describe.each])('a list of cases that is empty fails', (each) => {
  expect(() => each([])).toThrow('empty list');
});
