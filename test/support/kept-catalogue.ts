/**
 * A data folder that holds the catalogue of this build (docs/decisions/0002-corpus.md): tests that start the
 * server or a command hand it over, and a start takes a second instead of five.
 *
 * Lies in node_modules, so that later runs find it too; the key in the file tells another build.
 * Filled by global-build.ts before any test runs.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deserialize, serialize } from 'node:v8';

import { loadManifest, verifyCorpus } from '../../src/engine/corpus/corpus.ts';
import { type Catalog, createCatalog } from '../../src/engine/rules/catalog.ts';
import { MANIFEST_PATH, pinnedCorpus } from '../../src/main/corpus-location.ts';
import { type MatchingData, matchingKey, readMatching } from '../../src/pool/matching-cache.ts';

/** For DATA_DIR beside a DATABASE_URL. */
export const CATALOGUE_FOLDER = fileURLToPath(
  new URL('../../node_modules/.cache/sluice/', import.meta.url),
);

/** The corpus's catalogue and tables, as every server of this build has them. */
export function keptMatching(): MatchingData {
  const kept = readMatching(CATALOGUE_FOLDER, matchingKey(MANIFEST_PATH));
  if (kept === null) throw new Error(`${CATALOGUE_FOLDER} holds no catalogue of this build`);
  return kept;
}

/**
 * The corpus's catalogue as the engine decides it, without the decisions that are kept: seven seconds
 * of CPU time, and the same for the same build, corpus and Node.js, so it is kept too.
 */
export function decidedCatalog(): Catalog {
  const digest = createHash('sha256').update(matchingKey(MANIFEST_PATH)).update('decided');
  const path = join(CATALOGUE_FOLDER, `decided-${digest.digest('hex').slice(0, 16)}.cache`);
  if (existsSync(path)) return deserialize(readFileSync(path)) as Catalog;
  const { packageDir, manifestPath } = pinnedCorpus();
  const catalog = createCatalog(verifyCorpus(packageDir, loadManifest(manifestPath)));
  for (const name of readdirSync(CATALOGUE_FOLDER)) {
    if (name.startsWith('decided-')) rmSync(join(CATALOGUE_FOLDER, name));
  }
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, serialize(catalog));
  renameSync(draft, path);
  return catalog;
}

/** Puts the catalogue into a data folder that a server is going to use. */
export async function handCatalogueTo(dataDir: string): Promise<void> {
  await copyFile(join(CATALOGUE_FOLDER, 'matching.cache'), join(dataDir, 'matching.cache'));
}
