/**
 * Owns the title of a run: the beginning of the first text that a user sent, on one line. A version,
 * a time, an id or base64 is no title.
 */
import type { Surface } from '../model/steps.ts';
import { isBase64 } from './surfaces/reader/base64.ts';

/** Most of the text that is kept, in UTF-16 units. */
export const TITLE_UNITS = 200;

/** Read before white space is folded, so that a text of spaces costs no more than another. */
const READ_UNITS = 4 * TITLE_UNITS;

const VERSION = /^v?\d+(?:\.\d+){1,3}(?:[-+][\w.]+)?$/;
const TIME = /^\d{4}-\d\d-\d\d(?:[T ][\d:.+Z-]+)?$/;
const ID =
  /^(?:[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}|[\da-f]{16,}|[a-z]{2,16}[_-](?=[\w-]*\d)[\w-]{8,})$/i;
/** Shorter base64 may be a word. */
export const BASE64_UNITS_MIN = 24;

/** @returns null if none of the texts of a step is a user's */
export function titleFrom(
  texts: readonly { readonly surface: Surface; readonly text: string }[],
): string | null {
  for (const { surface, text } of texts) {
    if (surface !== 'step_input') continue;
    const line = text.trimStart().slice(0, READ_UNITS).replaceAll(/\s+/g, ' ');
    const title = line
      .slice(0, TITLE_UNITS)
      .replace(/[\ud800-\udbff]$/, '')
      .trimEnd();
    if (title !== '' && !isToken(title)) return title;
  }
  return null;
}

function isToken(title: string): boolean {
  if (title.includes(' ')) return false;
  return VERSION.test(title) || TIME.test(title) || ID.test(title) || isCode(title);
}

function isCode(title: string): boolean {
  const hasAll = /[a-z]/.test(title) && /[A-Z]/.test(title) && /[\d=]/.test(title);
  return title.length >= BASE64_UNITS_MIN && hasAll && isBase64(title);
}
