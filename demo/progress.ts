/**
 * Owns what people see while the demo waits: on a terminal one line that turns and counts seconds,
 * elsewhere (pipes, CI) nothing but the lines that say what has changed.
 */

import { terminalWidth } from '../src/cli/table.ts';
import { paint } from '../src/terminal/paint.ts';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 100;
const CLEAR_LINE = '\r\u001b[K';
const MS_PER_SECOND = 1000;

export interface Progress {
  /** Writes one line that stays. */
  readonly tell: (line: string) => void;
  /** Removes the turning line. */
  readonly end: () => void;
}

/** @param doing what is under way; asked for anew whenever the line is drawn */
export function startProgress(doing: () => string): Progress {
  const { stdout } = process;
  if (!stdout.isTTY) return { tell: (line) => void stdout.write(`${line}\n`), end: () => {} };
  const startedAt = performance.now();
  let frame = 0;
  const draw = (): void => {
    const seconds = Math.floor((performance.now() - startedAt) / MS_PER_SECOND);
    const sign = FRAMES[frame % FRAMES.length] ?? '';
    frame += 1;
    // A line that wraps cannot be cleared; two columns are the sign's, one stays free.
    const text = `${seconds} s  ${doing()}`.slice(0, Math.max(0, terminalWidth() - 5));
    stdout.write(`${CLEAR_LINE}  ${paint.cyan(sign)} ${text}`);
  };
  const timer = setInterval(draw, FRAME_MS);
  draw();
  return {
    tell: (line) => {
      stdout.write(`${CLEAR_LINE}${line}\n`);
      draw();
    },
    end: () => {
      clearInterval(timer);
      stdout.write(CLEAR_LINE);
    },
  };
}
