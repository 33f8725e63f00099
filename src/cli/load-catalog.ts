/** The catalogue for commands: built on a thread, with a line of progress where a person waits. */
import type { Catalog } from '../engine/catalog.ts';
import { loadManifest, verifyCorpus } from '../engine/corpus.ts';
import { corpusPackageDir, MANIFEST_PATH } from '../main/corpus-location.ts';
import { buildCatalog } from '../pool/workers.ts';

const CLEAR_LINE = '\r\u001b[K';

/**
 * Verifies the corpus and classifies its rules.
 *
 * @throws CorpusError when a file is missing, extra or altered
 */
export async function loadCatalog(): Promise<Catalog> {
  const packageDir = corpusPackageDir();
  verifyCorpus(packageDir, loadManifest(MANIFEST_PATH));
  const shown = process.stderr.isTTY === true;
  if (shown) process.stderr.write('Verifying and trying the rules on their own examples …');
  try {
    return await buildCatalog({ packageDir, manifestPath: MANIFEST_PATH });
  } finally {
    if (shown) process.stderr.write(CLEAR_LINE);
  }
}
