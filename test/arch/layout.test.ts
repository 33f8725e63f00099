/**
 * The folders of `src` and `test`: how many files they have, and that a source and its tests are
 * found from each other by path.
 */
import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';

import { filesIn } from './source-file.ts';

/** A reader finds a file by its name in a folder of this many. */
const FILES_MAX = 25;
/** Folders of tests that belong to no single source file. */
const OTHER_TESTS = /^test\/(arch|bench|chaos|citus|clients|deploy|e2e|mutants|support)\//;

/** `src/a/b.ts` for `test/a/b.test.ts` and `test/a/b-aspect.test.ts`, whichever exists; else null. */
function sourceOf(testPath: string, sources: ReadonlySet<string>): string | null {
  const folder = posix.dirname(testPath).replace(/^test/, 'src');
  const words = posix.basename(testPath, '.test.ts').split('-');
  for (let length = words.length; length > 0; length -= 1) {
    const path = `${folder}/${words.slice(0, length).join('-')}.ts`;
    if (sources.has(path)) return path;
  }
  return null;
}

/**
 * Why a test is hard to find from its source. A test of a whole folder (`round-trip.test.ts`) lies in
 * the folder of the same path; a test of one file lies at that file's path.
 */
function misplacedTests(tests: readonly string[], sources: readonly string[]): string[] {
  const all = new Set(sources);
  const folders = new Set(sources.map((path) => posix.dirname(path)));
  return tests.flatMap((path) => {
    if (sourceOf(path, all) !== null) return [];
    const folder = posix.dirname(path).replace(/^test/, 'src');
    if (!folders.has(folder)) return [`${path}: there is no ${folder}`];
    const room = `${folder.split('/').slice(0, 2).join('/')}/`;
    const name = `/${posix.basename(path, '.test.ts')}.ts`;
    const other = sources.find((source) => source.startsWith(room) && source.endsWith(name));
    return other === undefined ? [] : [`${path}: belongs to ${other}`];
  });
}

function crowded(paths: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const path of paths) {
    const folder = posix.dirname(path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > FILES_MAX)
    .map(([folder, count]) => `${folder}: ${count}`);
}

describe('the checker', () => {
  test('finds the source of a test by its path', () => {
    const sources = new Set(['src/a/b.ts', 'src/a/b-c.ts']);
    expect(sourceOf('test/a/b.test.ts', sources)).toBe('src/a/b.ts');
    expect(sourceOf('test/a/b-c.test.ts', sources)).toBe('src/a/b-c.ts');
    expect(sourceOf('test/a/b-order.test.ts', sources)).toBe('src/a/b.ts');
    expect(sourceOf('test/b.test.ts', sources)).toBeNull();
    expect(sourceOf('test/a/order-b.test.ts', sources)).toBeNull();
  });

  test('finds tests that are not where their source is', () => {
    const sources = ['src/a/b.ts', 'src/a/fast/c.ts', 'src/d/c.ts'];
    expect(misplacedTests(['test/a/b.test.ts', 'test/a/fuzz.test.ts'], sources)).toEqual([]);
    expect(misplacedTests(['test/a/c.test.ts', 'test/e/b.test.ts'], sources)).toEqual([
      'test/a/c.test.ts: belongs to src/a/fast/c.ts',
      'test/e/b.test.ts: there is no src/e',
    ]);
  });

  test('finds folders with too many files', () => {
    const files = Array.from({ length: 26 }, (_, index) => `src/a/${index}.ts`);
    expect(crowded([...files, 'src/b/0.ts'])).toEqual(['src/a: 26']);
    expect(crowded(files.slice(1))).toEqual([]);
  });
});

test('no folder of sources or tests has more files than a reader can survey', () => {
  const tests = filesIn('test').filter((path) => !OTHER_TESTS.test(path));
  // Migrations are a numbered series, which only grows.
  const sources = filesIn('src').filter((path) => !path.startsWith('src/db/migrations/'));
  expect(crowded([...sources, ...tests])).toEqual([]);
});

test('every test lies where its source does', () => {
  const tests = filesIn('test').filter(
    (path) => path.endsWith('.test.ts') && !OTHER_TESTS.test(path),
  );
  expect(misplacedTests(tests, filesIn('src'))).toEqual([]);
});
