/**
 * A child process that loads the catalogue, builds the tables for matching, keeps both in the data
 * folder, sends them to its parent and ends. A process and not a thread: parsing the rules and their
 * patterns takes 100 MB, which a thread would leave in the parent's heap.
 *
 * Started by `workers.ts`. It ends with its parent and ignores signals, which are the parent's.
 */

import '../stack-traces.ts';

import { tablesOf } from '../engine/prefilter/fast-matcher.ts';
import { runnableRules } from '../engine/rules/effective-set.ts';
import { loadKeptCatalog } from './kept-catalog.ts';
import { keepMatching, type MatchingData, matchingKey } from './matching-cache.ts';
import type { CatalogTask } from './tasks.ts';

export interface CatalogRequest extends CatalogTask {
  /** the folder where the catalogue and its tables are kept */
  readonly keepIn: string;
}

/** The one answer: the catalogue with its tables, or the error that prevented it. */
export type CatalogAnswer =
  | { readonly ok: true; readonly matching: MatchingData }
  | { readonly ok: false; readonly error: unknown };

function answerTo({ keepIn, ...task }: CatalogRequest): CatalogAnswer {
  try {
    const key = matchingKey(task.manifestPath);
    const catalog = loadKeptCatalog(task);
    const matching = { catalog, tables: tablesOf(runnableRules(catalog.rules)) };
    // Not when the program or the manifest was replaced meanwhile.
    if (key.equals(matchingKey(task.manifestPath))) keepMatching(keepIn, key, matching);
    return { ok: true, matching };
  } catch (error) {
    return { ok: false, error };
  }
}

// A terminal or service manager signals every process of the group; the parent handles it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.on('disconnect', () => process.exit());
process.once('message', (request: CatalogRequest) => {
  process.send?.(answerTo(request), () => process.disconnect());
});
