/** Shows the progress of a long command on standard error. */

/** How often progress is shown, in a terminal and elsewhere. */
const PROGRESS_MS = 500;
const PROGRESS_LINE_MS = 10_000;

/** Shows a line again and again: rewritten in a terminal, else one below the other. @returns ends it */
export function showProgress(line: () => string): () => void {
  const isTerminal = process.stderr.isTTY === true;
  const show = (): void => {
    process.stderr.write(isTerminal ? `\r\x1b[K${line()}` : `${line()}\n`);
  };
  const timer = setInterval(show, isTerminal ? PROGRESS_MS : PROGRESS_LINE_MS);
  return () => {
    clearInterval(timer);
    if (isTerminal) process.stderr.write('\r\x1b[K');
  };
}
