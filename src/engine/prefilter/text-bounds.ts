/**
 * Owns the lengths of the longest runs of a text. Each is measured when it is first needed: for most
 * texts, most are not.
 */
import { isBlank } from './folding.ts';
import type { Run, TextBounds } from './match-extent.ts';

const NEWLINE = 10;

/** byte → 1 if it can be part of a run of the kind. Non-ASCII counts as part of a word. */
const IN: Readonly<Record<Run, Uint8Array>> = {
  word: bytesThat(isOfWord),
  space: bytesThat(isBlank),
  gap: bytesThat((byte) => !isOfWord(byte)),
  solid: bytesThat((byte) => !isBlank(byte)),
  line: bytesThat((byte) => byte !== NEWLINE),
};

function isOfWord(byte: number): boolean {
  return byte >= 0x80 || /\w/.test(String.fromCharCode(byte));
}

function bytesThat(isIn: (byte: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (isIn(byte) ? 1 : 0));
}

/** Upper bounds: a length may be a little more than the longest run. */
export class MeasuredBounds implements TextBounds {
  readonly continuations: number;
  readonly #text: Uint8Array;
  readonly #longest = new Map<Run, number>();

  /**
   * @param text UTF-8
   * @param continuations its continuation bytes
   */
  constructor(text: Uint8Array, continuations: number) {
    this.#text = text;
    this.continuations = continuations;
  }

  longest(run: Run): number {
    const known = this.#longest.get(run);
    if (known !== undefined) return known;
    const longest = longestRun(this.#text, IN[run]);
    this.#longest.set(run, longest);
    return longest;
  }
}

/** Shorter runs count as this long. */
const SHORT_RUN = 4;

/**
 * The length of the longest run, or `SHORT_RUN`. A run longer than the longest so far includes the
 * byte at that distance from its start, so most bytes are never read.
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
