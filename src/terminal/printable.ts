/**
 * Makes text of senders, servers and files safe for terminals: it cannot move the cursor, clear or hide
 * anything, or change the direction of the text around it.
 */
import { showInvisible, showOnOneLine } from '../model/invisible.ts';
import { betweenColours } from './paint.ts';

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
