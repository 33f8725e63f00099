/**
 * Records when keys were last used: collected per request, written every 30 seconds and at the stop.
 * Has ids only; ids of a failed write are kept for the next one.
 */
import { errorFacts } from '../observe/error-facts.ts';
import type { Events } from '../observe/events.ts';
import { withinLimit } from '../time-limit.ts';
import type { StopOrder } from './stop-order.ts';
import { repeat } from './upkeep.ts';

const INTERVAL_MS = 30_000;
/** The stop does not wait longer for a time of last use. */
const LAST_WRITE_LIMIT_MS = 5000;

/**
 * Starts recording; the stop writes the rest. If this last write fails it is logged, and does not make
 * the stop fail.
 *
 * @param record stores that the keys were used now
 * @param intervalMs between two writes
 * @returns to be called when a key is used
 */
export function keepKeyUse(
  record: (ids: readonly number[]) => Promise<void>,
  events: Pick<Events, 'keyUseUnrecorded' | 'keyUseRecorded' | 'warned'>,
  stops: Pick<StopOrder, 'add'>,
  intervalMs: number = INTERVAL_MS,
): (id: number) => void {
  let used = new Set<number>();
  const flush = async (): Promise<void> => {
    const ids = [...used];
    used = new Set();
    try {
      await record(ids);
    } catch (error) {
      for (const id of ids) used.add(id);
      throw error;
    }
  };
  const upkeep = repeat(flush, intervalMs, events.keyUseUnrecorded, {
    onSuccess: events.keyUseRecorded,
  });
  const finish = async (): Promise<void> => {
    await upkeep.stop();
    await flush();
  };
  stops.add('key use', async () => {
    try {
      await withinLimit(finish(), LAST_WRITE_LIMIT_MS);
    } catch (error) {
      const { error: name, code = '' } = errorFacts(error);
      events.warned(
        `the last use of keys was not recorded before the stop: ${name} ${code}`.trim(),
      );
    }
  });
  return (id) => used.add(id);
}
