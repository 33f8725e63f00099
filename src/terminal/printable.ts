/**
 * Text that senders, servers and files have chosen, as terminals show it: it moves no cursor, clears and
 * hides nothing, and changes the direction of no text beside it.
 */
import { showInvisible } from '../model/invisible.ts';
import { betweenColours } from './paint.ts';

/** Writes out what is invisible in a name, and puts it on one line. */
export function plain(text: string): string {
  return showInvisible(text.replaceAll(/[\t\n\r]+/g, ' '));
}

/** Writes out what is invisible in a text of several lines; the colours of `paint` stay. */
export function printable(text: string): string {
  return betweenColours(text, showInvisible);
}

/** Writes a line to standard error. */
export function note(text: string): void {
  process.stderr.write(`${printable(text)}\n`);
}
