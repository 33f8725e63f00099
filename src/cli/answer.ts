/** How commands answer: for people by default, one JSON document under `--json`. */
import { escapeInvisible } from '../model/invisible.ts';
import { printable } from '../terminal/printable.ts';

export interface OutputOptions {
  readonly json?: boolean;
}

/**
 * Writes a command's answer to standard output. Senders choose names: no character in them changes
 * how a terminal shows the text around them.
 */
export function answer(options: OutputOptions, value: unknown, text: () => string): void {
  process.stdout.write(
    options.json === true
      ? `${escapeInvisible(JSON.stringify(value, null, 2))}\n`
      : `${printable(text())}\n`,
  );
}

/** A time, or its ISO 8601 text. */
export function shownTime(time: Date | string | null): string {
  return time === null ? '–' : new Date(time).toISOString().slice(0, 16).replace('T', ' ');
}
