/**
 * What a command does when the program that reads its output has ended, as in `sluice rules list | head`:
 * it finishes its work and ends quietly. Node.js would report the error EPIPE with a stack.
 */
import { reportFailure } from './failure.ts';

let isClosed = false;

/** Whether standard output is closed. A long command may stop early then. */
export function isOutputClosed(): boolean {
  return isClosed;
}

/** Starts handling errors of standard output and standard error; call it once, before any output. */
export function handleClosedOutput(): void {
  const onError = (error: Error): void => {
    if ('code' in error && error.code === 'EPIPE') {
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
