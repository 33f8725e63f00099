/** Repeats background work at intervals; a failed turn is reported, and the next one tries again. */
import { withinLimit } from '../time-limit.ts';
import type { StopOrder } from './stop-order.ts';

/** A clock that drifts by 100 ppm is 6 ms off after a minute. */
export const CLOCK_READ_EVERY_MS = 60_000;

/** Often enough for an alert and for autoscaling. */
export const BACKLOG_COUNT_EVERY_MS = 15_000;

const LAST_FLUSH_LIMIT_MS = 5000;

interface Upkeep {
  /** Resolves after the turn under way. */
  readonly stop: () => Promise<void>;
}

/** Turns never overlap and do not keep the process alive. @param options.onSuccess called for every other one */
export function repeat(
  turn: () => Promise<void>,
  intervalMs: number,
  onFailure: (error: unknown) => void,
  options: { readonly atOnce?: boolean; readonly onSuccess?: () => void } = {},
): Upkeep {
  let running: Promise<void> | null = null;
  const begin = (): void => {
    running ??= turn()
      .then(options.onSuccess, onFailure)
      .finally(() => {
        running = null;
      });
  };
  const timer = setInterval(begin, intervalMs);
  timer.unref();
  if (options.atOnce === true) begin();
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}

/**
 * Writes regularly what is collected in memory, and the rest at the stop. A failure does not make the stop fail.
 *
 * @param flush keeps for the next time what it could not write
 */
export function flushUntilStop(
  name: string,
  flush: () => Promise<void>,
  intervalMs: number,
  ended: { readonly failed: (error: unknown) => void; readonly worked: () => void },
  stops: Pick<StopOrder, 'add'>,
  atOnce = false,
): void {
  const upkeep = repeat(flush, intervalMs, ended.failed, { atOnce, onSuccess: ended.worked });
  const last = async (): Promise<void> => {
    await upkeep.stop();
    await flush();
  };
  stops.add(name, () => withinLimit(last(), LAST_FLUSH_LIMIT_MS).catch(ended.failed));
}
