/**
 * A child process that builds the catalogue and, on request, the tables for matching, sends them to
 * its parent and ends. A process and not a thread: trying every rule on its own examples takes some
 * 200 MB, which a thread would leave in this process's heap (470 MB resident after the start, 246
 * without; 2026-11). The patterns are parsed once, for both.
 *
 * Started by `workers.ts`. It ends with its parent and ignores signals, which are the parent's.
 */

import { loadManifest, verifyCorpus } from '../engine/corpus/corpus.ts';
import { tablesOf } from '../engine/prefilter/fast-matcher.ts';
import type { PrefilterTables } from '../engine/prefilter/prefilter-tables.ts';
import { createRequirementsReader } from '../engine/prefilter/requirements.ts';
import { type Catalog, createCatalog } from '../engine/rules/catalog.ts';
import { runnableRules } from '../engine/rules/effective-set.ts';
import { keepMatching, matchingKey } from './matching-cache.ts';
import type { CatalogTask } from './tasks.ts';

export interface CatalogRequest extends CatalogTask {
  /** the folder where the catalogue and its tables are kept; null: no tables are made */
  readonly keepIn: string | null;
}

/** The one answer: the catalogue, or the error that prevented it. */
export type CatalogAnswer =
  | {
      readonly ok: true;
      readonly catalog: Catalog;
      /** of the runnable rules; null without `keepIn` */
      readonly tables: PrefilterTables | null;
    }
  | { readonly ok: false; readonly error: unknown };

function answerTo({ packageDir, manifestPath, keepIn }: CatalogRequest): CatalogAnswer {
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

// A terminal or service manager signals every process of the group; the parent handles it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
process.on('disconnect', () => process.exit());
process.once('message', (request: CatalogRequest) => {
  process.send?.(answerTo(request), () => process.disconnect());
});
