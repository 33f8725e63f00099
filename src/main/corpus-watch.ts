/**
 * Checks that the corpus on disk is still the pinned one: at start and every few minutes, file by
 * file, in this thread and not in the match threads. The rules in memory were verified and stay in
 * use, but a process that could not start again is not ready.
 *
 * Only files that differ make the probe fail. A check that fails to run is reported and soon
 * repeated; the last result is kept.
 */
import { setTimeout as delay } from 'node:timers/promises';

import { CorpusError, checkCorpus } from '../engine/corpus/corpus.ts';
import type { Probe } from '../http/api/open/probe-routes.ts';
import type { Events } from '../observe/events.ts';
import type { CatalogTask } from '../pool/tasks.ts';
import type { StopOrder } from './stop-order.ts';

export interface CorpusWatchTiming {
  readonly intervalMs: number;
  /** time until the next check after one that failed to run */
  readonly retryMs: number;
}

const TIMING: CorpusWatchTiming = { intervalMs: 5 * 60_000, retryMs: 10_000 };

/**
 * Stopping does not wait for a check.
 *
 * @returns the `corpus` probe: rejects while the corpus differs, naming the differences
 */
export function watchCorpus(
  { packageDir, manifestPath }: CatalogTask,
  events: Pick<Events, 'corpusDiffers' | 'corpusUnchecked'>,
  stops: Pick<StopOrder, 'add'>,
  { intervalMs, retryMs }: CorpusWatchTiming = TIMING,
): Probe {
  let difference: CorpusError | null = null;
  const stopping = new AbortController();
  const { signal } = stopping;
  /** @returns time until the next check, in milliseconds */
  const check = async (): Promise<number> => {
    try {
      await checkCorpus(packageDir, manifestPath);
      difference = null;
    } catch (error) {
      if (signal.aborted) return 0;
      if (!(error instanceof CorpusError)) {
        events.corpusUnchecked(error);
        return retryMs;
      }
      difference = error;
      events.corpusDiffers(error);
    }
    return intervalMs;
  };
  const watch = async (): Promise<void> => {
    // The start has verified it.
    let waitMs = intervalMs;
    while (!signal.aborted) {
      await delay(waitMs, undefined, { signal, ref: false }).catch(() => {});
      if (!signal.aborted) waitMs = await check();
    }
  };
  void watch();
  stops.add('corpus watch', () => stopping.abort());
  return async () => {
    if (difference !== null) throw difference;
  };
}
