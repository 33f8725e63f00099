/**
 * When keys were last used: noted as requests come, written down now and then and at the stop. Knows
 * ids only; a failed write keeps them for the next turn.
 */
import { errorFacts } from '../observe/error-facts.ts';
import type { Events } from '../observe/events.ts';
import { withinLimit } from '../time-limit.ts';
import type { StopOrder } from './stop-order.ts';
import { repeat } from './upkeep.ts';

const INTERVAL_MS = 30_000;
/** Nobody is to wait long for a nicety. */
const LAST_WRITE_LIMIT_MS = 5000;

/**
 * Begins keeping the use of keys; at the stop what is left is written. A last write that fails is
 * told and costs a time of day, so it does not make the stop a failed one.
 *
 * @param record writes the ids down as used now
 * @param intervalMs between two writes
 * @returns notes that a key was used
 */
export function keepKeyUse(
  record: (ids: readonly number[]) => Promise<void>,
  events: Pick<Events, 'keyUseUnrecorded' | 'warned'>,
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
  const upkeep = repeat(flush, intervalMs, events.keyUseUnrecorded);
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
