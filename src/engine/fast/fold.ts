/**
 * Owns the reading of a text in which literals are looked for: ASCII letters in lower case, every
 * digit a `0`, every run of white space one blank, and the two letters beyond ASCII that equal `s`
 * and `k` where case does not matter as those. So a pattern's `\s+` and `\d` are literals too.
 *
 * Patterns' literals are folded by the same rules (`foldLiteral`). Folding makes more texts equal,
 * never fewer: what RE2 matches stands in the folded text as well.
 */
import type { TextBounds } from './reach.ts';

const BLANK = 32;
const ZERO = 48;

const WORD = 1;
const SPACE = 2;
const NEWLINE = 4;
const HIGH = 8;

/** byte → which runs it belongs to; what is beyond ASCII counts as part of a word. */
const KIND = new Uint8Array(256);
/** byte → as it stands in the folded text */
const FOLDED = new Uint8Array(256);
for (let byte = 0; byte < 256; byte += 1) {
  const letter = String.fromCharCode(byte);
  const isSpace = (byte >= 9 && byte <= 13) || byte === BLANK;
  const isDigit = byte >= ZERO && byte <= ZERO + 9;
  FOLDED[byte] = isSpace
    ? BLANK
    : isDigit
      ? ZERO
      : byte < 128
        ? letter.toLowerCase().charCodeAt(0)
        : byte;
  if (byte >= 128) KIND[byte] = WORD | HIGH;
  else if (isSpace) KIND[byte] = byte === 10 ? SPACE | NEWLINE : SPACE;
  else if (/\w/.test(letter)) KIND[byte] = WORD;
}

/** U+017F and U+212A: what `s` and `k` match as well. */
const LONG_S = [0xc5, 0xbf] as const;
const KELVIN = [0xe2, 0x84, 0xaa] as const;

/** A literal as it stands in a folded text. */
export function foldLiteral(literal: string): string {
  return literal
    .replace(/[A-Z]/g, (letter) => letter.toLowerCase())
    .replace(/\d/g, '0')
    .replace(/[\t-\r ]+/g, ' ')
    .replaceAll('\u017f', 's')
    .replaceAll('\u212a', 'k');
}

/** Folds texts, one at a time, into space of its own. */
export class Folding {
  /** the folded text; valid up to `length`, until the next text is folded */
  bytes = new Uint8Array(0);
  length = 0;
  /** offset in the folded text → offset in the text; one more, for its end */
  origin = new Int32Array(1);
  bounds: TextBounds = { charBytes: 1, word: 0, space: 0, solid: 0, line: 0 };

  fold(text: Uint8Array): void {
    if (this.bytes.length < text.length) {
      this.bytes = new Uint8Array(text.length * 2);
      this.origin = new Int32Array(text.length * 2 + 1);
    }
    const { bytes, origin } = this;
    const length = text.length;
    let word = 0;
    let space = 0;
    let solid = 0;
    let line = 0;
    let wordFrom = 0;
    let spaceFrom = 0;
    let solidFrom = 0;
    let lineFrom = 0;
    let high = 0;
    let folded = 0;
    for (let at = 0; at < length; at += 1) {
      const byte = text[at] as number;
      const kind = KIND[byte] as number;
      high |= kind;
      if ((kind & WORD) === 0 && wordFrom <= at) {
        if (at - wordFrom > word) word = at - wordFrom;
        wordFrom = at + 1;
      }
      if ((kind & SPACE) === 0) {
        if (at - spaceFrom > space) space = at - spaceFrom;
        spaceFrom = at + 1;
        bytes[folded] = FOLDED[byte] as number;
        origin[folded] = at;
        folded += 1;
        if (byte === LONG_S[1] && text[at - 1] === LONG_S[0]) {
          folded -= 1;
          bytes[folded - 1] = 115;
        } else if (byte === KELVIN[2] && text[at - 1] === KELVIN[1] && text[at - 2] === KELVIN[0]) {
          folded -= 2;
          bytes[folded - 1] = 107;
        }
      } else {
        // The first of a run only: the rest of it stands between two folded bytes.
        if (at === spaceFrom) {
          bytes[folded] = BLANK;
          origin[folded] = at;
          folded += 1;
        }
        if (at - solidFrom > solid) solid = at - solidFrom;
        solidFrom = at + 1;
        if ((kind & NEWLINE) !== 0) {
          if (at - lineFrom > line) line = at - lineFrom;
          lineFrom = at + 1;
        }
      }
    }
    origin[folded] = length;
    this.length = folded;
    this.bounds = {
      charBytes: (high & HIGH) === 0 ? 1 : 4,
      word: Math.max(word, length - wordFrom),
      space: Math.max(space, length - spaceFrom),
      solid: Math.max(solid, length - solidFrom),
      line: Math.max(line, length - lineFrom),
    };
  }
}
