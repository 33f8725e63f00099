/**
 * Global set-up of the projects that start the program, its threads or its processes: they run `dist/` with the kept
 * catalogue, and both are built here if they are out of date. Takes some tenths of a second if they are not.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { MANIFEST_PATH } from '../../src/main/corpus-location.ts';
import { prepareMatching } from '../../src/pool/workers.ts';
import { CATALOGUE_FOLDER } from './kept-catalogue.ts';

const BUILD = fileURLToPath(new URL('../../bin/build.js', import.meta.url));

const RULES = fileURLToPath(new URL('../../node_modules/agent-threat-rules', import.meta.url));

/** @throws when it cannot be built */
export default async function setUp(): Promise<void> {
  // First: the process that builds the catalogue is one of `dist/`.
  execFileSync(process.execPath, [BUILD], { stdio: 'inherit' });
  // A folder that others may write to is not used.
  mkdirSync(CATALOGUE_FOLDER, { recursive: true, mode: 0o700 });
  const corpus = { packageDir: RULES, manifestPath: MANIFEST_PATH };
  await prepareMatching(corpus, CATALOGUE_FOLDER);
}
