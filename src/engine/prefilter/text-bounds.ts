/**
 * Owns what bounds the runs of one text. Each is measured when a reach first asks for it: of most
 * texts, most are never asked for.
 */
import { isBlank } from './folding.ts';
import type { Run, TextBounds } from './match-extent.ts';

const NEWLINE = 10;

/** byte → 1 when a run of the kind goes on with it. What is beyond ASCII counts as part of a word. */
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

/** Never too small; a run may count as a little longer than the longest is. */
export class BoundsOfText implements TextBounds {
  readonly #text: Uint8Array;
  readonly #beyond: readonly number[];
  readonly #longest = new Map<Run, number>();
  #continuations = -1;

  /**
   * @param text UTF-8
   * @param beyond its runs beyond ASCII
   */
  constructor(text: Uint8Array, beyond: readonly number[]) {
    this.#text = text;
    this.#beyond = beyond;
  }

  get continuations(): number {
    if (this.#continuations < 0) {
      this.#continuations = continuationsIn(this.#text, this.#beyond);
    }
    return this.#continuations;
  }

  longest(run: Run): number {
    const known = this.#longest.get(run);
    if (known !== undefined) return known;
    const longest = longestRun(this.#text, IN[run]);
    this.#longest.set(run, longest);
    return longest;
  }
}

function continuationsIn(text: Uint8Array, beyond: readonly number[]): number {
  let count = 0;
  for (let run = 0; run < beyond.length; run += 2) {
    const end = beyond[run + 1] as number;
    for (let at = beyond[run] as number; at < end; at += 1) {
      count += (text[at] as number) < 0xc0 ? 1 : 0;
    }
  }
  return count;
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
