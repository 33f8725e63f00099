/**
 * Owns the reading of a text in which literals are looked for: ASCII letters in lower case, every
 * digit a `0`, every run of white space (RE2's, without the vertical tab) one blank, and the two letters beyond ASCII that equal `s`
 * and `k` where case does not matter as those. So a pattern's `\s+` and `\d` are literals too.
 *
 * Patterns' literals are folded by the same rules (`foldLiteral`). Folding makes more texts equal,
 * never fewer: what RE2 matches stands in the folded text as well.
 */
import type { TextBounds } from './reach.ts';

const BLANK = 32;
const ZERO = 48;

/** byte → as it stands in the folded text */
const FOLDED = new Uint8Array(256);
/** byte → 1 when a run of the kind goes on with it. What is beyond ASCII counts as part of a word. */
const IN_WORD = new Uint8Array(256);
const IN_GAP = new Uint8Array(256);
const IN_SPACE = new Uint8Array(256);
const IN_SOLID = new Uint8Array(256);
const IN_LINE = new Uint8Array(256);
for (let byte = 0; byte < 256; byte += 1) {
  const letter = String.fromCharCode(byte);
  const isSpace = /[\t\n\f\r ]/.test(letter);
  const isDigit = byte >= ZERO && byte <= ZERO + 9;
  const isWord = byte >= 128 || /\w/.test(letter);
  FOLDED[byte] = isSpace
    ? BLANK
    : isDigit
      ? ZERO
      : byte < 128
        ? letter.toLowerCase().charCodeAt(0)
        : byte;
  IN_WORD[byte] = isWord ? 1 : 0;
  IN_GAP[byte] = isWord ? 0 : 1;
  IN_SPACE[byte] = isSpace ? 1 : 0;
  IN_SOLID[byte] = isSpace ? 0 : 1;
  IN_LINE[byte] = letter === '\n' ? 0 : 1;
}

/** U+017F and U+212A: what `s` and `k` match as well. */
const LONG_S = [0xc5, 0xbf] as const;
const KELVIN = [0xe2, 0x84, 0xaa] as const;

/** A literal as it stands in a folded text. */
export function foldLiteral(literal: string): string {
  return literal
    .replace(/[A-Z]/g, (letter) => letter.toLowerCase())
    .replace(/\d/g, '0')
    .replace(/[\t\n\f\r ]+/g, ' ')
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
  /** never too small; a run may count as a little longer than the longest is */
  bounds: TextBounds = { continuations: 0, word: 0, space: 0, gap: 0, solid: 0, line: 0 };

  fold(text: Uint8Array): void {
    if (this.bytes.length < text.length) {
      this.bytes = new Uint8Array(text.length * 2);
      this.origin = new Int32Array(text.length * 2 + 1);
    }
    const { bytes, origin } = this;
    const length = text.length;
    let continuations = 0;
    let folded = 0;
    let wasSpace = 0;
    for (let at = 0; at < length; at += 1) {
      const byte = text[at] as number;
      bytes[folded] = FOLDED[byte] as number;
      origin[folded] = at;
      // Of a run of white space the first stays; what follows is written over. Words are too short
      // for a branch to be foretold.
      const isSpace = IN_SPACE[byte] as number;
      folded += 1 - (isSpace & wasSpace);
      wasSpace = isSpace;
      if (byte < 0x80) continue;
      if (byte < 0xc0) continuations += 1;
      if (byte === LONG_S[1] && text[at - 1] === LONG_S[0]) {
        folded -= 1;
        bytes[folded - 1] = 115;
      } else if (byte === KELVIN[2] && text[at - 1] === KELVIN[1] && text[at - 2] === KELVIN[0]) {
        folded -= 2;
        bytes[folded - 1] = 107;
      }
    }
    origin[folded] = length;
    this.length = folded;
    this.bounds = {
      continuations,
      word: longestRun(text, IN_WORD),
      space: longestRun(text, IN_SPACE),
      gap: longestRun(text, IN_GAP),
      solid: longestRun(text, IN_SOLID),
      line: longestRun(text, IN_LINE),
    };
  }
}

/** Runs are not told apart below this. */
const SHORT_RUN = 4;

/**
 * The length of the longest run, or `SHORT_RUN`. A longer one than is known holds the byte so far
 * behind its beginning: most bytes are never looked at.
 * @param isIn byte → 1 when it is part of a run
 */
function longestRun(text: Uint8Array, isIn: Uint8Array): number {
  let longest = SHORT_RUN;
  let from = 0;
  while (from + longest < text.length) {
    let at = from + longest;
    while (at >= from && isIn[text[at] as number] === 1) at -= 1;
    if (at >= from) {
      from = at + 1;
      continue;
    }
    let end = from + longest + 1;
    while (end < text.length && isIn[text[end] as number] === 1) end += 1;
    longest = end - from;
    from = end + 1;
  }
  return longest;
}
