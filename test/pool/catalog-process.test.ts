/** The catalogue and its tables, made in a process of its own or read from the data folder: what comes, and how it fails. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tablesOf } from '../../src/engine/prefilter/fast-matcher.ts';
import { runnableRules } from '../../src/engine/rules/effective-set.ts';
import { MANIFEST_PATH, pinnedCorpus } from '../../src/main/corpus-location.ts';
import { loadKeptCatalog } from '../../src/pool/kept-catalog.ts';
import { matchingKey, readMatching } from '../../src/pool/matching-cache.ts';
import { prepareMatching } from '../../src/pool/workers.ts';
import { inFull } from '../support/cases.ts';
import { handCatalogueTo } from '../support/kept-catalogue.ts';

const CORPUS = pinnedCorpus();

/** Tables of megabytes: `toEqual` takes seconds for them. */
function expectSame(actual: unknown, expected: unknown): void {
  expect(isDeepStrictEqual(actual, expected)).toBe(true);
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-corpus-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('gives every rule, and the tables of those that can run, in memory that threads share', async () => {
  // What the process gave when this build was new (global-build.ts).
  await handCatalogueTo(folder);
  const { catalog, tables } = await prepareMatching(CORPUS, folder);
  expect(catalog.rules.length).toBeGreaterThan(700);
  expectSame(catalog, loadKeptCatalog(CORPUS));
  expectSame(tables, tablesOf(runnableRules(catalog.rules)));
  expect(tables.ascii.bitmaps.buffer).toBeInstanceOf(SharedArrayBuffer);
});

inFull('a process started for it gives the same', async () => {
  const none = join(folder, 'new');
  mkdirSync(none, { mode: 0o700 });
  const { catalog, tables } = await prepareMatching(CORPUS, none);
  expectSame(catalog, loadKeptCatalog(CORPUS));
  expectSame(tables, tablesOf(runnableRules(catalog.rules)));
  expectSame(readMatching(none, matchingKey(MANIFEST_PATH)), { catalog, tables });
});

test('both are kept in the data folder, and a later start takes them from there', async () => {
  await handCatalogueTo(folder);
  const built = await prepareMatching(CORPUS, folder);
  expectSame(readMatching(folder, matchingKey(MANIFEST_PATH)), built);
  const later = await prepareMatching(CORPUS, folder);
  expectSame(later, built);
  expect(later.tables.ascii.bitmaps.buffer).toBeInstanceOf(SharedArrayBuffer);
});

test.each(['none', '.'])(
  'a corpus whose files are missing is refused, in the words of the engine, whatever is kept: %s',
  async (kept) => {
    await handCatalogueTo(folder);
    const withoutRules = { ...CORPUS, packageDir: folder };
    await expect(prepareMatching(withoutRules, join(folder, kept))).rejects.toThrow(
      /cannot be trusted/,
    );
  },
);
