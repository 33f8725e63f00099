/**
 * A data folder that holds the catalogue of this build (docs/decisions/0015): tests that start the
 * server or a command hand it over, and a start takes a second instead of five.
 *
 * Lies in node_modules, so that later runs find it too; the key in the file tells another build.
 * Filled by global-catalogue.ts before any test runs.
 */
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { MANIFEST_PATH } from '../../src/main/corpus-location.ts';
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

/** Puts the catalogue into a data folder that a server is going to use. */
export async function handCatalogueTo(dataDir: string): Promise<void> {
  await copyFile(join(CATALOGUE_FOLDER, 'matching.cache'), join(dataDir, 'matching.cache'));
}
