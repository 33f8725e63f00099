/**
 * Sources and their tests are found from each other: `test/` mirrors `src/` by path. A test that is
 * about no single file lies in the folder it is about.
 */
import { basename, dirname } from 'node:path';
import { expect, test } from 'vitest';

import { filesIn } from './source-file.ts';

/** Folders of tests that mirror no source. */
const OTHERS = /^(e2e|arch|chaos|citus|clients|deploy|mutants|support|bench)(\/|$)/;

/** Paths of files below `folder`, without their ending. */
function namesIn(folder: string, ending: string): string[] {
  return filesIn(folder)
    .filter((path) => path.endsWith(ending))
    .map((path) => path.slice(folder.length + 1, -ending.length));
}

const sources = namesIn('src', '.ts');
const tests = namesIn('test', '.test.ts').filter((path) => !OTHERS.test(path));

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
