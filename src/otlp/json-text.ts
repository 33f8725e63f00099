/**
 * Writes JSON text: quoted strings, and doubles that cannot be mistaken for integers. Must never
 * allocate an intermediate object (this is the ingest hot path).
 */

import type { JsonText } from '../model/json.ts';

/** Characters that RFC 8259 §7 escapes, and surrogates: `JSON.stringify` escapes lone ones. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes exactly these
const NEEDS_ESCAPE = /["\\\u0000-\u001f\ud800-\udfff]/;

/**
 * Writes a string as JSON text.
 *
 * @param text any string; lone surrogates are escaped (`parseJson` leaves none)
 */
export function quote(text: string): JsonText {
  // For 8 to 8192 characters without an escape, 2 to 3 times as fast as `JSON.stringify` (Node
  // 20.20, 2026-11); other text usually has an escape early, where the test ends.
  return NEEDS_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/**
 * Writes a double so that its JSON text cannot be mistaken for an integer: `5` becomes `5.0`, minus
 * zero `-0.0`, and NaN and the infinities, which JSON lacks, `{"$double":"NaN"}` and so on.
 */
export function doubleText(value: number): JsonText {
  if (!Number.isFinite(value)) return `{"$double":"${value}"}`;
  if (Object.is(value, -0)) return '-0.0';
  const text = String(value);
  return Number.isInteger(value) && !text.includes('e') ? `${text}.0` : text;
}
