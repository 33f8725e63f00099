/** Where the pinned corpus and its manifest are. */
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

import { corpusFiles } from '../engine/corpus/corpus.ts';
import { OperatorError } from '../errors.ts';

export const CORPUS_PACKAGE = 'agent-threat-rules';
export const MANIFEST_PATH = fileURLToPath(new URL('../../corpus/manifest.json', import.meta.url));
export const LOCKFILE_PATH = fileURLToPath(new URL('../../package-lock.json', import.meta.url));
export const COVERAGE_PATH = fileURLToPath(
  new URL('../../docs/rules-coverage.md', import.meta.url),
);

/** @throws {OperatorError} when the rule package is not installed */
export function corpusPackageDir(): string {
  try {
    // Only its main file is exported, and that lies one folder below the package's own.
    return dirname(dirname(fileURLToPath(import.meta.resolve(CORPUS_PACKAGE))));
  } catch (error) {
    throw new OperatorError(`The package ${CORPUS_PACKAGE} is not installed: run npm ci`, {
      cause: error,
    });
  }
}

/** @throws {OperatorError} when the package is not installed */
export function pinnedCorpus(): { readonly packageDir: string; readonly manifestPath: string } {
  return { packageDir: corpusPackageDir(), manifestPath: MANIFEST_PATH };
}

export function pinnedRuleFiles(): (path: string) => Promise<Buffer> {
  const { packageDir, manifestPath } = pinnedCorpus();
  return corpusFiles(packageDir, manifestPath);
}
