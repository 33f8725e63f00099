/**
 * Loads the catalogue for commands: from the data folder, if a server has stored it there, otherwise
 * built in a child process. Shows progress on a terminal.
 */
import { readDataDir } from '../config.ts';
import { loadManifest, verifyCorpus } from '../engine/corpus/corpus.ts';
import type { Catalog } from '../engine/rules/catalog.ts';
import { corpusPackageDir, MANIFEST_PATH } from '../main/corpus-location.ts';
import type { MatchingData } from '../pool/matching-cache.ts';
import type { CatalogTask } from '../pool/tasks.ts';
import { prepareCatalog, prepareMatching } from '../pool/workers.ts';

const CLEAR_LINE = '\r\u001b[K';

/**
 * Verifies the corpus and returns its classified rules.
 *
 * @throws CorpusError when a file is missing, extra or altered
 */
export async function loadCatalog(): Promise<Catalog> {
  return await load(prepareCatalog);
}

/** The same, with the tables that a pass needs. */
export async function loadMatching(): Promise<MatchingData> {
  return await load(prepareMatching);
}

async function load<T>(prepare: (task: CatalogTask, dataDir: string) => Promise<T>): Promise<T> {
  const packageDir = corpusPackageDir();
  verifyCorpus(packageDir, loadManifest(MANIFEST_PATH));
  const shown = process.stderr.isTTY === true;
  if (shown) process.stderr.write('Verifying and trying the rules on their own examples …');
  try {
    const task = { packageDir, manifestPath: MANIFEST_PATH };
    return await prepare(task, readDataDir(process.env));
  } finally {
    if (shown) process.stderr.write(CLEAR_LINE);
  }
}
