/**
 * Owns the folding of texts and literals before literals are searched: ASCII letters to lower case,
 * every digit to `0`, every run of white space (RE2's, without the vertical tab) to one blank, and the
 * two non-ASCII letters that equal `s` and `k` without case to these. So a pattern's `\s+` and `\d`
 * are literals too.
 *
 * Folding makes more texts equal, never fewer: what RE2 matches is also in the folded text. Folded
 * texts are not kept: the search maps bytes by `FOLDED` and skips repeated blanks.
 */

import { isAscii } from 'node:buffer';
import { BLANK } from './assembly/codes.ts';

const ZERO = 48;

export const FOLDED = new Uint8Array(256);
for (let byte = 0; byte < 256; byte += 1) {
  const letter = String.fromCharCode(byte);
  if (/[\t\n\f\r ]/.test(letter)) FOLDED[byte] = BLANK;
  else if (/\d/.test(letter)) FOLDED[byte] = ZERO;
  else FOLDED[byte] = byte < 128 ? letter.toLowerCase().charCodeAt(0) : byte;
}

export function isBlank(byte: number | undefined): boolean {
  return byte !== undefined && FOLDED[byte] === BLANK;
}

export function foldLiteral(literal: string): string {
  if (!CHANGES.test(literal)) return literal;
  return literal
    .replace(/[A-Z]/g, (letter) => letter.toLowerCase())
    .replace(/\d/g, '0')
    .replace(/[\t\n\f\r ]+/g, ' ')
    .replaceAll(LONG_S, 's')
    .replaceAll(KELVIN, 'k');
}

const LONG_S = '\u017f';
const KELVIN = '\u212a';
/** Characters that folding changes; most literals have none. */
const CHANGES = /[A-Z1-9\t\n\f\r\u017f\u212a]| {2}/;
const LONG_S_BYTES = Buffer.from(LONG_S);
const KELVIN_BYTES = Buffer.from(KELVIN);

/** The bytes in which literals are searched. */
export interface SearchedText {
  readonly bytes: Buffer;
  /** offset in `bytes`, its end included → offset in the text; null if they are the same */
  readonly origin: Int32Array | null;
}

/** Replaces the non-ASCII letters that equal an ASCII one. Copies only texts that have them: few. */
export function replaceAsciiEquals(text: Buffer): SearchedText {
  if (isAscii(text) || !(text.includes(LONG_S_BYTES) || text.includes(KELVIN_BYTES))) {
    return { bytes: text, origin: null };
  }
  const bytes = Buffer.allocUnsafe(text.length);
  const origin = new Int32Array(text.length + 1);
  let length = 0;
  for (let at = 0; at < text.length; length += 1) {
    origin[length] = at;
    if (hasAt(text, at, LONG_S_BYTES)) {
      bytes[length] = 's'.charCodeAt(0);
      at += LONG_S_BYTES.length;
    } else if (hasAt(text, at, KELVIN_BYTES)) {
      bytes[length] = 'k'.charCodeAt(0);
      at += KELVIN_BYTES.length;
    } else {
      bytes[length] = text[at] as number;
      at += 1;
    }
  }
  origin[length] = text.length;
  return { bytes: bytes.subarray(0, length), origin: origin.subarray(0, length + 1) };
}

function hasAt(text: Buffer, offset: number, letter: Buffer): boolean {
  for (let at = 0; at < letter.length; at += 1) {
    if (text[offset + at] !== letter[at]) return false;
  }
  return true;
}

/** The start of the last `count` folded bytes before an offset. A part of a run of blanks is one. */
export function foldedBefore(bytes: Uint8Array, offset: number, count: number): number {
  let at = offset;
  for (let left = count; left > 0 && at > 0; left -= 1) {
    at -= 1;
    if (isBlank(bytes[at])) while (isBlank(bytes[at - 1])) at -= 1;
  }
  return at;
}

/** The end of the first `count` folded bytes at an offset. A part of a run of blanks is one. */
export function foldedBehind(bytes: Uint8Array, offset: number, count: number): number {
  let at = offset;
  for (let left = count; left > 0 && at < bytes.length; left -= 1) {
    at = pastBlanks(bytes, at + 1);
  }
  return at;
}

/** The end of the blanks at an offset, if there is also one before it. */
export function pastBlanks(bytes: Uint8Array, offset: number): number {
  let at = offset;
  if (isBlank(bytes[at - 1])) while (isBlank(bytes[at])) at += 1;
  return at;
}
