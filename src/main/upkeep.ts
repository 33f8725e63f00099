/**
 * Repeats background work at intervals; a failed turn is reported, and the next one tries again.
 */

/** A clock that drifts by 100 ppm is 6 ms off after a minute. */
export const CLOCK_READ_EVERY_MS = 60_000;

/** Often enough for an alert and for autoscaling. */
export const BACKLOG_COUNT_EVERY_MS = 15_000;

export interface Upkeep {
  /** Resolves after the turn under way. */
  readonly stop: () => Promise<void>;
}

/**
 * Repeats `turn` until stopped; turns never overlap and do not keep the process alive.
 *
 * @param onFailure called for every failed turn
 * @param options.onSuccess called for every other one
 * @param options.atOnce the first turn begins now instead of after the first interval
 */
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
