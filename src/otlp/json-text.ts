/**
 * Owns the writing of JSON text: quoted strings and doubles that still show they are doubles.
 * Builds text directly; must never make an intermediate object (this is the ingest hot path).
 */

import type { JsonText } from '../model.ts';

/** What RFC 8259 §7 requires to be escaped, and surrogates, which `JSON.stringify` checks for pairs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes exactly these
const NEEDS_ESCAPE = /["\\\u0000-\u001f\ud800-\udfff]/;

/** Up to here a test and two concatenations beat `JSON.stringify`; beyond it the test costs more. */
const SHORT_CHARACTERS = 64;

/**
 * Writes a string as JSON text.
 *
 * @param text any string; lone surrogates come out as escapes, so parse bodies with `parseJson` first
 */
export function quote(text: string): JsonText {
  if (text.length <= SHORT_CHARACTERS && !NEEDS_ESCAPE.test(text)) return `"${text}"`;
  return JSON.stringify(text);
}

/**
 * Writes a double so that its JSON text cannot be mistaken for an integer's: `5` becomes `5.0`, minus
 * zero `-0.0`, and the three values JSON has no number for `{"$double":"NaN"}` and so on.
 */
export function doubleText(value: number): JsonText {
  if (!Number.isFinite(value)) return `{"$double":"${value}"}`;
  if (Object.is(value, -0)) return '-0.0';
  const text = String(value);
  return Number.isInteger(value) && !text.includes('e') ? `${text}.0` : text;
}
