/**
 * Progress while the demo waits: on a terminal a spinner with the elapsed seconds, elsewhere
 * (pipes, CI) only the lines about changes.
 */
import { terminalWidth } from '../src/cli/answer.ts';
import { paint } from '../src/terminal/output.ts';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 100;
const CLEAR_LINE = '\r\u001b[K';
const MS_PER_SECOND = 1000;

export interface Progress {
  /** Writes one line that stays. */
  readonly log: (line: string) => void;
  /** Removes the spinner. */
  readonly end: () => void;
}

/** @param status the text beside the spinner, computed whenever it is drawn */
export function startProgress(status: () => string): Progress {
  const { stdout } = process;
  if (!stdout.isTTY) return { log: (line) => void stdout.write(`${line}\n`), end: () => {} };
  const startedAt = performance.now();
  let frame = 0;
  const draw = (): void => {
    const seconds = Math.floor((performance.now() - startedAt) / MS_PER_SECOND);
    const spinner = FRAMES[frame % FRAMES.length] ?? '';
    frame += 1;
    // A line that wraps cannot be cleared; two columns are the spinner's, one stays free.
    const text = `${seconds} s  ${status()}`.slice(0, Math.max(0, terminalWidth() - 5));
    stdout.write(`${CLEAR_LINE}  ${paint.cyan(spinner)} ${text}`);
  };
  const timer = setInterval(draw, FRAME_MS);
  draw();
  return {
    log: (line) => {
      stdout.write(`${CLEAR_LINE}${line}\n`);
      draw();
    },
    end: () => {
      clearInterval(timer);
      stdout.write(CLEAR_LINE);
    },
  };
}
