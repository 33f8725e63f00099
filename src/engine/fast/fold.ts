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

/** What a byte may stand within, as bits. What is beyond ASCII counts as part of a word. */
const IN_WORD = 1;
const IN_SOLID = 2;
const IN_LINE = 4;

/** byte → the runs that it does not end */
const RUNS_OF = new Uint8Array(256);
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
  const isWord = byte >= 128 || /\w/.test(letter);
  RUNS_OF[byte] =
    (isWord ? IN_WORD : 0) | (isSpace ? 0 : IN_SOLID) | (letter === '\n' ? 0 : IN_LINE);
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
  bounds: TextBounds = { continuations: 0, word: 0, space: 0, solid: 0, line: 0 };

  fold(text: Uint8Array): void {
    if (this.bytes.length < text.length) {
      this.bytes = new Uint8Array(text.length * 2);
      this.origin = new Int32Array(text.length * 2 + 1);
    }
    const { bytes, origin } = this;
    const length = text.length;
    // How long the runs are that the byte at hand stands in, and the longest so far. A mask of ones
    // or zeros ends a run: words are too short for branches to be foretold.
    let word = 0;
    let space = 0;
    let solid = 0;
    let line = 0;
    let longestWord = 0;
    let longestSpace = 0;
    let longestSolid = 0;
    let longestLine = 0;
    let continuations = 0;
    let folded = 0;
    for (let at = 0; at < length; at += 1) {
      const byte = text[at] as number;
      const runs = RUNS_OF[byte] as number;
      const isSolid = -((runs & IN_SOLID) >> 1);
      word = (word + 1) & -(runs & IN_WORD);
      solid = (solid + 1) & isSolid;
      space = (space + 1) & ~isSolid;
      line = (line + 1) & -((runs & IN_LINE) >> 2);
      if (word > longestWord) longestWord = word;
      if (solid > longestSolid) longestSolid = solid;
      if (space > longestSpace) longestSpace = space;
      if (line > longestLine) longestLine = line;
      bytes[folded] = FOLDED[byte] as number;
      origin[folded] = at;
      // Of a run of white space the first stays, what follows is written over.
      folded += (space - 2) >>> 31;
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
      word: longestWord,
      space: longestSpace,
      solid: longestSolid,
      line: longestLine,
    };
  }
}
