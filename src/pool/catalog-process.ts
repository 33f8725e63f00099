/**
 * A process of its own that builds the catalogue, tells it, and ends: trying every rule on its own
 * examples takes some 200 MB, which a thread would leave behind in this process's heap for good
 * (470 MB resident after the start, 246 without; 2026-11).
 *
 * Started by `workers.ts`. It lives no longer than who started it, and leaves signals to it.
 */
import { createCatalog } from '../engine/catalog.ts';
import { loadManifest, verifyCorpus } from '../engine/corpus.ts';
import type { CatalogTask } from './tasks.ts';

/** What is told, once: the catalogue, or why there is none. */
export type CatalogAnswer =
  | { readonly ok: true; readonly catalog: ReturnType<typeof createCatalog> }
  | { readonly ok: false; readonly error: unknown };

function answerTo({ packageDir, manifestPath }: CatalogTask): CatalogAnswer {
  try {
    const corpus = verifyCorpus(packageDir, loadManifest(manifestPath));
    return { ok: true, catalog: createCatalog(corpus) };
  } catch (error) {
    return { ok: false, error };
  }
}

// These may reach every process of a terminal or service; who started this decides what they mean.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
process.on('disconnect', () => process.exit());
process.once('message', (task: CatalogTask) => {
  process.send?.(answerTo(task), () => process.disconnect());
});
