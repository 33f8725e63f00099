/**
 * Handles closed output. When the program that reads a command's output has ended, as in
 * `sluice rules list | head`, or the terminal is closed, the command finishes its work and ends quietly.
 * Node.js would report the error EPIPE, or of a terminal EIO, with a stack.
 */
import { reportFailure } from './failure.ts';

let isClosed = false;

/** Checks whether standard output is closed. A long command may stop early then. */
export function isOutputClosed(): boolean {
  return isClosed;
}

/** Starts handling errors of standard output and standard error; call it once, before any output. */
export function handleClosedOutput(): void {
  const onError = (error: Error): void => {
    if ('code' in error && (error.code === 'EPIPE' || error.code === 'EIO')) {
      isClosed = true;
      return;
    }
    // Such as a full disk: what was written is not complete.
    reportFailure(error);
    process.exit(1);
  };
  process.stdout.on('error', onError);
  process.stderr.on('error', () => {});
}
