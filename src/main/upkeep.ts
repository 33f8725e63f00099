/**
 * Work at intervals that nobody waits for; a failed turn is reported and tried again at the next.
 */

export interface Upkeep {
  /** Ends after the turn under way. */
  readonly stop: () => Promise<void>;
}

/**
 * Repeats `turn` until stopped; turns never overlap and do not keep the process alive.
 *
 * @param onFailure told of every turn that failed
 */
export function repeat(
  turn: () => Promise<void>,
  intervalMs: number,
  onFailure: (error: unknown) => void,
): Upkeep {
  let running: Promise<void> | null = null;
  const timer = setInterval(() => {
    running ??= turn()
      .catch(onFailure)
      .finally(() => {
        running = null;
      });
  }, intervalMs);
  timer.unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
