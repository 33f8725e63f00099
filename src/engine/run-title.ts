/** Owns the title of a run: the beginning of the first text that a user sent, on one line. */
import type { Surface } from '../model/steps.ts';

/** Most of the text that is kept, in UTF-16 units. */
const TITLE_UNITS = 200;

/** Read before white space is folded, so that a text of spaces costs no more than another. */
const READ_UNITS = 4 * TITLE_UNITS;

/** @returns null if none of the texts of a step is a user's */
export function titleFrom(
  texts: readonly { readonly surface: Surface; readonly text: string }[],
): string | null {
  const first = texts.find(({ surface, text }) => surface === 'step_input' && text.trim() !== '');
  if (first === undefined) return null;
  const line = first.text.trimStart().slice(0, READ_UNITS).replaceAll(/\s+/g, ' ');
  const whole = line.slice(0, TITLE_UNITS).replace(/[\ud800-\udbff]$/, '');
  return whole.trimEnd();
}
