/** The catalogue for commands: built in a process of its own, with a line of progress where a person waits. */

import { loadManifest, verifyCorpus } from '../engine/corpus/corpus.ts';
import type { Catalog } from '../engine/rules/catalog.ts';
import { corpusPackageDir, MANIFEST_PATH } from '../main/corpus-location.ts';
import type { CatalogTask } from '../pool/tasks.ts';
import { buildCatalog, type Matching, prepareMatching } from '../pool/workers.ts';

const CLEAR_LINE = '\r\u001b[K';

/**
 * Verifies the corpus and classifies its rules.
 *
 * @throws CorpusError when a file is missing, extra or altered
 */
export async function loadCatalog(): Promise<Catalog> {
  return await load(buildCatalog);
}

/** The same, with what the pass matches by. */
export async function loadMatching(): Promise<Matching> {
  return await load(prepareMatching);
}

async function load<T>(build: (task: CatalogTask) => Promise<T>): Promise<T> {
  const packageDir = corpusPackageDir();
  verifyCorpus(packageDir, loadManifest(MANIFEST_PATH));
  const shown = process.stderr.isTTY === true;
  if (shown) process.stderr.write('Verifying and trying the rules on their own examples …');
  try {
    return await build({ packageDir, manifestPath: MANIFEST_PATH });
  } finally {
    if (shown) process.stderr.write(CLEAR_LINE);
  }
}
