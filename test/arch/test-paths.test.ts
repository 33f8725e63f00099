/**
 * Sources and their tests are found from each other: `test/` mirrors `src/` by path. A test that is
 * about no single file lies in the folder it is about.
 */
import { readdirSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Folders of tests that mirror no source. */
const OTHERS = /^(e2e|arch|chaos|mutants|support|bench)(\/|$)/;

/** Paths of files below `folder`, without their ending. */
function filesIn(folder: string, ending: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(join(ROOT, folder), join(entry.parentPath, entry.name)))
    .map((path) => path.replaceAll('\\', '/').slice(0, -ending.length));
}

const sources = filesIn('src', '.ts');
const tests = filesIn('test', '.test.ts').filter((path) => !OTHERS.test(path));

test('a test that has the name of one source of its room lies at its path, or above', () => {
  const roomOf = (path: string): string => path.split('/')[0] ?? '';
  const wrong = tests.filter((path) => {
    const [source, ...others] = sources.filter(
      (one) => roomOf(one) === roomOf(path) && basename(one) === basename(path),
    );
    const isAtOrBelow = source?.startsWith(dirname(path) === '.' ? '' : `${dirname(path)}/`);
    return others.length === 0 && isAtOrBelow === false;
  });
  expect(wrong).toEqual([]);
});

test('every folder of tests is a folder of sources', () => {
  const folders = new Set(sources.map((path) => dirname(path)));
  expect(tests.filter((path) => !folders.has(dirname(path)))).toEqual([]);
});
