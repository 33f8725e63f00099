/**
 * Loads the catalogue from the pinned corpus and the decisions that are kept beside its manifest
 * (docs/decisions/0002-corpus.md).
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { CorpusError, loadManifest, verifyCorpus } from '../engine/corpus/corpus.ts';
import type { Catalog } from '../engine/rules/catalog.ts';
import {
  type Classification,
  type KeptRule,
  keptCatalog,
  parseClassification,
} from '../engine/rules/classification.ts';
import type { CatalogTask } from './tasks.ts';

/** The file beside the manifest that keeps what classification decided. */
export function classificationPathOf(manifestPath: string): string {
  return join(dirname(manifestPath), 'classification.json');
}

/**
 * Reads what classification decided.
 *
 * @throws CorpusError when the file is missing or not one
 */
export function loadClassification(manifestPath: string): Classification {
  return parseClassification(readClassification(manifestPath));
}

/**
 * The text of that file.
 *
 * @throws CorpusError when it is missing
 */
export function readClassification(manifestPath: string): string {
  const path = classificationPathOf(manifestPath);
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const isAbsent = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (!isAbsent) throw error;
    throw new CorpusError([
      { kind: 'file_missing', subject: `${path}: run sluice corpus refresh` },
    ]);
  }
}

/** Chooses rules by what was decided about them. */
export type RuleChoice = (kept: KeptRule & { readonly id: string }) => boolean;

/**
 * Verifies the corpus and returns its classified rules. Parsing takes 0.3 s for all of them, and next
 * to nothing for a few.
 *
 * @param choice which rules are needed; all by default
 * @throws CorpusError when a file is missing, extra or altered, or the decisions do not fit the corpus
 */
export function loadKeptCatalog(
  { packageDir, manifestPath }: CatalogTask,
  choice?: RuleChoice,
): Catalog {
  const corpus = verifyCorpus(packageDir, loadManifest(manifestPath));
  const classification = loadClassification(manifestPath);
  if (choice === undefined) return keptCatalog(corpus, classification);
  const chosen = Object.entries(classification.rules).filter(([id, kept]) =>
    choice({ ...kept, id }),
  );
  return keptCatalog(corpus, classification, new Set(chosen.map(([id]) => id)));
}
