/**
 * Output of commands and the server: colours for terminals only, texts that cannot change how the terminal
 * shows other texts, one line for a failure, and a quiet end where the reader of the output is gone.
 */
import { styleText } from 'node:util';
import { CorpusError } from '../engine/corpus/corpus.ts';
import { OperatorError } from '../errors.ts';
import { showInvisible, showOnOneLine } from '../model/invisible.ts';

type Style = Parameters<typeof styleText>[0];

/** True if standard output shows colour, decided once. */
const coloured =
  process.stdout.isTTY === true &&
  (process.env.NO_COLOR ?? '') === '' &&
  process.env.TERM !== 'dumb';

function painter(style: Style): (text: string) => string {
  return (text) => (coloured ? styleText(style, text) : text);
}

export const paint = {
  bold: painter('bold'),
  dim: painter('dim'),
  green: painter('green'),
  cyan: painter('cyan'),
  red: painter('red'),
  yellow: painter('yellow'),
};

const COLOUR = new RegExp(`(${String.fromCodePoint(0x1b)}\\[\\d{1,3}m)`);

/** Changes a text, except for the colours of `paint`. */
function betweenColours(text: string, change: (part: string) => string): string {
  if (!coloured) return change(text);
  return text
    .split(COLOUR)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join('');
}

/** Writes out the invisible characters of a name, and puts it on one line. */
export function plain(text: string): string {
  return showOnOneLine(text);
}

/** Writes out the invisible characters of a text of several lines; the colours of `paint` stay. */
export function printable(text: string): string {
  return betweenColours(text, showInvisible);
}

export function note(text: string): void {
  process.stderr.write(`${printable(text)}\n`);
}

/** Reports why a command failed: one clear line for mistakes, a stack only for faults of ours. */
export function reportFailure(error: unknown): void {
  const isExpected = error instanceof OperatorError || error instanceof CorpusError;
  const text = isExpected
    ? error.message
    : error instanceof Error
      ? (error.stack ?? error.message)
      : String(error);
  note(`${paint.red('sluice:')} ${text}`);
}

let isClosed = false;

/** Checks whether standard output is closed. A long command may stop early then. */
export function isOutputClosed(): boolean {
  return isClosed;
}

/**
 * Starts handling errors of standard output and standard error; call it once, before any output. When the program that
 * reads a command's output has ended, as in `sluice rules list | head`, or the terminal is closed, the command finishes
 * its work and ends quietly. Node.js would report the error EPIPE, or of a terminal EIO, with a stack.
 */
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
