/** The catalogue, built in a process of its own: what it answers, and how it fails. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { tablesOf } from '../../src/engine/prefilter/fast-matcher.ts';
import { runnableRules } from '../../src/engine/rules/effective-set.ts';
import { corpusPackageDir, MANIFEST_PATH } from '../../src/main/corpus-location.ts';
import { buildCatalog, prepareMatching } from '../../src/pool/workers.ts';

const CORPUS = { packageDir: corpusPackageDir(), manifestPath: MANIFEST_PATH };

test('tells every rule of the corpus with what it can do here', async () => {
  const catalog = await buildCatalog(CORPUS);
  expect(catalog.snapshot.version).toBe('4.0.0');
  expect(catalog.rules.length).toBeGreaterThan(700);
});

test('the tables made beside it are those of its runnable rules, in memory that threads share', async () => {
  const { catalog, tables } = await prepareMatching(CORPUS);
  expect(tables).toEqual(tablesOf(runnableRules(catalog.rules)));
  expect(tables.ascii.next.buffer).toBeInstanceOf(SharedArrayBuffer);
});

test('a corpus whose files are missing is refused, in the words of the engine', async () => {
  const packageDir = mkdtempSync(join(tmpdir(), 'sluice-corpus-'));
  onTestFinished(() => rmSync(packageDir, { recursive: true }));
  await expect(buildCatalog({ packageDir, manifestPath: MANIFEST_PATH })).rejects.toThrow(
    /cannot be trusted/,
  );
});
