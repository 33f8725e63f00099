/** Which changed lines get defects, which of them are taken, and which tests run. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

import { addedLines, sampleOf, testsOf } from './since.ts';

test('the lines that a diff adds are counted in the new file', () => {
  const diff = [
    'diff --git a/src/a.ts b/src/a.ts',
    '--- a/src/a.ts',
    '+++ b/src/a.ts',
    '@@ -3 +3,2 @@ function f() {',
    '-old',
    '+++ new',
    '+new',
    '@@ -9,2 +11,0 @@',
    '-gone',
    '-gone',
    '@@ -20 +20 @@',
    '-old',
    '+new',
    'diff --git a/src/b.ts b/src/b.ts',
    '--- /dev/null',
    '+++ b/src/b.ts',
    '@@ -0,0 +1 @@',
    '+new',
  ].join('\n');
  expect([...addedLines(diff)]).toEqual([
    ['src/a.ts', [3, 4, 20]],
    ['src/b.ts', [1]],
  ]);
});

test('a sample has the order of its lines, and a greater one has the same defects and others', () => {
  const planted = Array.from({ length: 50 }, (_, at) => ({
    file: 'src/a.ts',
    line: at + 1,
    before: `a < ${at};`,
    after: `a <= ${at};`,
  }));
  const linesOf = (limit: number) => sampleOf(planted, limit).map(({ line }) => line);
  const few = linesOf(5);
  expect(few).toHaveLength(5);
  expect(few).toEqual(few.toSorted((a, b) => a - b));
  expect(linesOf(20)).toEqual(expect.arrayContaining(few));
  expect(linesOf(50)).toEqual(planted.map(({ line }) => line));
  expect(linesOf(51)).toHaveLength(50);
});

describe('the tests of a file', () => {
  const module = (path: string, ...specifiers: string[]) => ({ path, specifiers });
  const importers = [1, 2, 3, 4, 5, 6].map((at) => module(`test/x${at}.test.ts`, '../src/many.ts'));
  const sources = [
    module('src/a.ts'),
    module('src/b/b.ts', '../a.ts', './c.ts'),
    module('src/b/c.ts', './b.ts'),
    module('src/alone.ts'),
    module('test/a.test.ts'),
    module('test/e2e/p.test.ts'),
    module('test/e2e/q.test.ts'),
    module('test/x.test.ts', '../src/a.ts'),
    module('test/arch/x.test.ts', '../../src/b/c.ts'),
    module('test/support/rows.ts', '../../src/b/c.ts'),
    module('test/y.test.ts', './support/rows.ts'),
    ...importers,
  ];

  test('are the one at its path, those that changed with it and those that import it', () => {
    expect(testsOf('src/a.ts', sources, ['test/e2e/p.test.ts', 'test/gone.test.ts'])).toEqual([
      'test/a.test.ts',
      'test/e2e/p.test.ts',
      'test/x.test.ts',
    ]);
  });

  test('are those nearest by its importers when none imports it', () => {
    expect(testsOf('src/b/c.ts', sources, [])).toEqual(['test/y.test.ts']);
    expect(testsOf('src/b/b.ts', sources, [])).toEqual(['test/y.test.ts']);
    expect(testsOf('src/alone.ts', sources, [])).toEqual([]);
  });

  test('are six at most, three of them because they changed', () => {
    const changed = ['e2e/p', 'e2e/q', 'y', 'a'].map((name) => `test/${name}.test.ts`);
    const importing = importers.map(({ path }) => path);
    expect(testsOf('src/many.ts', sources, [])).toEqual(importing);
    expect(testsOf('src/many.ts', sources, changed)).toEqual([
      ...changed.slice(0, 3),
      ...importing.slice(0, 3),
    ]);
  });
});

test.each([
  ['--since nothing-like-it', 'mutants: this repository has no revision "nothing-like-it"\n'],
  ['--since HEAD --limit 0', 'mutants: --limit needs a count from 1\n'],
  ['no-such-name', 'mutants: no mutant has such a name\n'],
])('%s is refused with a reason', (args, message) => {
  const main = fileURLToPath(new URL('main.ts', import.meta.url));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', 'tsx', main, ...args.split(' ')],
    { encoding: 'utf8', env: { ...process.env, TSX_DISABLE_CACHE: '1' } },
  );
  expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: '', stderr: message });
});
