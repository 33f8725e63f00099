/**
 * Owns the reading of a text in which literals are looked for: ASCII letters in lower case, every
 * digit a `0`, every run of white space (RE2's, without the vertical tab) one blank, and the two
 * letters beyond ASCII that equal `s` and `k` where case does not matter as those. So a pattern's
 * `\s+` and `\d` are literals too.
 *
 * Patterns' literals are folded by the same rules (`foldLiteral`). Folding makes more texts equal,
 * never fewer: what RE2 matches stands in the folded text as well. The folded text is never written:
 * whoever walks over bytes reads them through `FOLDED` and takes a run of blanks for one.
 */

export const BLANK = 32;
const ZERO = 48;

/** byte → as it is read */
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

/** A literal as it stands in a folded text. */
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
/** What folding may change; most literals are short and have none of it. */
const CHANGES = /[A-Z1-9\t\n\f\r\u017f\u212a]| {2}/;
const LONG_S_BYTES = Buffer.from(LONG_S);
const KELVIN_BYTES = Buffer.from(KELVIN);

/** A text as it is walked over. */
export interface Walked {
  readonly bytes: Buffer;
  /** offset in `bytes` → offset in the text, one more for its end; null where they are the same */
  readonly origin: Int32Array | null;
}

/** A text without letters that equal one of ASCII. They are so rare that only then it is copied. */
export function withPlainLetters(text: Buffer): Walked {
  if (!text.includes(LONG_S_BYTES) && !text.includes(KELVIN_BYTES)) {
    return { bytes: text, origin: null };
  }
  const bytes = Buffer.allocUnsafe(text.length);
  const origin = new Int32Array(text.length + 1);
  let length = 0;
  for (let at = 0; at < text.length; length += 1) {
    origin[length] = at;
    if (standsAt(text, at, LONG_S_BYTES)) {
      bytes[length] = 's'.charCodeAt(0);
      at += LONG_S_BYTES.length;
    } else if (standsAt(text, at, KELVIN_BYTES)) {
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

function standsAt(text: Buffer, offset: number, letter: Buffer): boolean {
  for (let at = 0; at < letter.length; at += 1) {
    if (text[offset + at] !== letter[at]) return false;
  }
  return true;
}

/** Where so many folded bytes begin that end before an offset. A part of a run of blanks is one. */
export function foldedBefore(bytes: Uint8Array, offset: number, count: number): number {
  let at = offset;
  for (let left = count; left > 0 && at > 0; left -= 1) {
    at -= 1;
    if (isBlank(bytes[at])) while (isBlank(bytes[at - 1])) at -= 1;
  }
  return at;
}

/** Where so many folded bytes end that begin at an offset. A part of a run of blanks is one. */
export function foldedBehind(bytes: Uint8Array, offset: number, count: number): number {
  let at = offset;
  for (let left = count; left > 0 && at < bytes.length; left -= 1) {
    at = pastBlanks(bytes, at + 1);
  }
  return at;
}

/** Past the blanks that go on from an offset, if there is one before it. */
export function pastBlanks(bytes: Uint8Array, offset: number): number {
  let at = offset;
  if (isBlank(bytes[at - 1])) while (isBlank(bytes[at])) at += 1;
  return at;
}
