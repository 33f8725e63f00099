/**
 * SIGINT, SIGTERM, and SIGHUP of a terminal that is closed: the first one starts a clean stop, a second
 * one ends the process at once.
 */

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** The exit codes of shells for a signal: 128 plus its number. */
export const SIGNAL_EXIT_CODES: Readonly<Record<StopSignal, number>> = {
  SIGINT: 130,
  SIGTERM: 143,
  SIGHUP: 129,
};

const STOP_SIGNALS = Object.keys(SIGNAL_EXIT_CODES) as StopSignal[];

/**
 * Under `npm start` or `npx` one Ctrl-C arrives twice: from the terminal, and forwarded by npm. Only a
 * signal later than this counts as a second one.
 */
const SAME_SIGNAL_MS = 1000;

/** @returns stops listening, so that signals end the process again */
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
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
  };
}
