/**
 * A process of its own that builds the catalogue and, when asked, the tables that matching needs, tells
 * them, and ends: trying every rule on its own examples takes some 200 MB, which a thread would leave
 * behind in this process's heap for good (470 MB resident after the start, 246 without; 2026-11). The
 * patterns are read once, for both.
 *
 * Started by `workers.ts`. It lives no longer than who started it, and leaves signals to it.
 */

import { loadManifest, verifyCorpus } from '../engine/corpus/corpus.ts';
import { tablesOf } from '../engine/prefilter/fast-matcher.ts';
import type { PrefilterTables } from '../engine/prefilter/prefilter-tables.ts';
import { createRequirementsReader } from '../engine/prefilter/requirements.ts';
import { type Catalog, createCatalog } from '../engine/rules/catalog.ts';
import { runnableRules } from '../engine/rules/effective-set.ts';
import { keepMatching, matchingKey } from './matching-cache.ts';
import type { CatalogTask } from './tasks.ts';

export interface CatalogQuestion extends CatalogTask {
  /** the folder where the catalogue and its tables are kept; null: no tables are made */
  readonly keepIn: string | null;
}

/** What is told, once: the catalogue, or why there is none. */
export type CatalogAnswer =
  | {
      readonly ok: true;
      readonly catalog: Catalog;
      /** of the runnable rules; null when not asked for */
      readonly tables: PrefilterTables | null;
    }
  | { readonly ok: false; readonly error: unknown };

function answerTo({ packageDir, manifestPath, keepIn }: CatalogQuestion): CatalogAnswer {
  try {
    const key = keepIn === null ? null : matchingKey(manifestPath);
    const corpus = verifyCorpus(packageDir, loadManifest(manifestPath));
    const read = createRequirementsReader();
    const catalog = createCatalog(corpus, read);
    if (keepIn === null || key === null) return { ok: true, catalog, tables: null };
    const tables = tablesOf(runnableRules(catalog.rules), read);
    // Not when the program or the manifest was replaced meanwhile.
    if (key.equals(matchingKey(manifestPath))) keepMatching(keepIn, key, { catalog, tables });
    return { ok: true, catalog, tables };
  } catch (error) {
    return { ok: false, error };
  }
}

// These may reach every process of a terminal or service; who started this decides what they mean.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
process.on('disconnect', () => process.exit());
process.once('message', (question: CatalogQuestion) => {
  process.send?.(answerTo(question), () => process.disconnect());
});
