/** Global set-up of the projects that need the kept catalogue: builds it, unless this build has. */
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { MANIFEST_PATH } from '../../src/main/corpus-location.ts';
import { prepareMatching } from '../../src/pool/workers.ts';
import { CATALOGUE_FOLDER } from './kept-catalogue.ts';

const RULES = fileURLToPath(new URL('../../node_modules/agent-threat-rules', import.meta.url));

/** Runs after global-build.ts: the process that builds the catalogue is one of `dist/`. */
export default async function setUp(): Promise<void> {
  // A folder that others may write to is not used.
  mkdirSync(CATALOGUE_FOLDER, { recursive: true, mode: 0o700 });
  const corpus = { packageDir: RULES, manifestPath: MANIFEST_PATH };
  await prepareMatching(corpus, CATALOGUE_FOLDER);
}
