/** Records when keys were last used: collected per request, by id, and written every 30 seconds and at the stop. */
import type { Events } from '../observe/events.ts';
import type { StopOrder } from './stop-order.ts';
import { flushUntilStop } from './upkeep.ts';

const INTERVAL_MS = 30_000;

/**
 * @param record stores that the keys were used now
 * @param intervalMs between two writes
 * @returns to be called when a key is used
 */
export function keepKeyUse(
  record: (ids: readonly number[]) => Promise<void>,
  {
    keyUseUnrecorded: failed,
    keyUseRecorded: worked,
  }: Pick<Events, 'keyUseUnrecorded' | 'keyUseRecorded'>,
  stops: Pick<StopOrder, 'add'>,
  intervalMs: number = INTERVAL_MS,
): (id: number) => void {
  const used = new Set<number>();
  const flush = async (): Promise<void> => {
    const ids = [...used];
    used.clear();
    try {
      await record(ids);
    } catch (error) {
      for (const id of ids) used.add(id);
      throw error;
    }
  };
  flushUntilStop('key use', flush, intervalMs, { failed, worked }, stops);
  return (id) => used.add(id);
}
