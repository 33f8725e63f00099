/**
 * Is the corpus on disk still the pinned one? Checked at start and every few minutes after. The rules in
 * memory stay trusted, they were verified; but a process that would not start again is not ready.
 */
import type { Probe } from '../http/probe-routes.ts';
import type { Events } from '../observe/events.ts';
import type { CatalogTask } from '../pool/tasks.ts';
import type { Workers } from '../pool/workers.ts';
import type { StopOrder } from './stop-order.ts';
import { repeat } from './upkeep.ts';

const INTERVAL_MS = 5 * 60_000;

/**
 * Begins checking; the corpus counts as verified until a check says otherwise.
 *
 * @returns the `corpus` probe: rejects while the last check has failed
 */
export function watchCorpus(
  workers: Pick<Workers, 'checkCorpus'>,
  task: CatalogTask,
  events: Pick<Events, 'corpusDiffers'>,
  stops: StopOrder,
): Probe {
  let failure: unknown = null;
  const check = async (): Promise<void> => {
    await workers.checkCorpus(task);
    failure = null;
  };
  const upkeep = repeat(check, INTERVAL_MS, (error) => {
    failure = error;
    events.corpusDiffers(error);
  });
  stops.add('corpus watch', upkeep.stop);
  return async () => {
    if (failure !== null) throw failure;
  };
}
