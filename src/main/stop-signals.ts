/**
 * SIGINT and SIGTERM: the first one asks for a clean stop, a second one ends the process at once.
 */

export type StopSignal = 'SIGINT' | 'SIGTERM';

/** What a shell calls the end by a signal: 128 and the signal's number. */
export const SIGNAL_EXIT_CODES: Readonly<Record<StopSignal, number>> = {
  SIGINT: 130,
  SIGTERM: 143,
};

/**
 * One Ctrl-C under `npm start` or `npx` arrives twice: from the terminal, and again from npm, which
 * forwards it. Only a signal that comes later than this after the first is a person's second.
 */
const SAME_SIGNAL_MS = 1000;

/**
 * Listens from now on.
 *
 * @param onFirst begins the clean stop; called once
 * @returns stops listening, so that signals end the process again
 */
export function onStopSignal(onFirst: (signal: StopSignal) => void): () => void {
  let firstAtMs: number | null = null;
  const onSignal = (signal: StopSignal): void => {
    if (firstAtMs === null) {
      firstAtMs = performance.now();
      onFirst(signal);
    } else if (performance.now() - firstAtMs > SAME_SIGNAL_MS) {
      process.exit(SIGNAL_EXIT_CODES[signal]);
    }
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return () => {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  };
}
