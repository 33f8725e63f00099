/**
 * Owns how far a match can reach, told before the text is known: so many characters, plus runs that
 * only the text bounds (a `.*` ends with its line, a `\w+` with its word).
 *
 * Every figure is an upper bound: too far costs time, too near would lose a match.
 */

/**
 * Kinds of runs, what repeated characters cannot cross: a word, white space, what stands between two
 * words, what stands between white space, a line.
 */
export type Run = 'word' | 'space' | 'gap' | 'solid' | 'line';

/** So many characters and runs of each kind; `unbounded` counts what nothing holds. */
export interface Reach {
  readonly chars: number;
  readonly word: number;
  readonly space: number;
  readonly gap: number;
  readonly solid: number;
  readonly line: number;
  readonly unbounded: number;
}

export const NOWHERE: Reach = {
  chars: 0,
  word: 0,
  space: 0,
  gap: 0,
  solid: 0,
  line: 0,
  unbounded: 0,
};

/** One run of a kind, or a run of anything. */
export function runOf(run: Run | null): Reach {
  return run === null ? { ...NOWHERE, unbounded: 1 } : { ...NOWHERE, [run]: 1 };
}

/** One after the other. */
export function plus(a: Reach, b: Reach): Reach {
  return {
    chars: a.chars + b.chars,
    word: a.word + b.word,
    space: a.space + b.space,
    gap: a.gap + b.gap,
    solid: a.solid + b.solid,
    line: a.line + b.line,
    unbounded: a.unbounded + b.unbounded,
  };
}

/** What is left of `a` when `b`, the beginning of it, is taken off. */
export function minus(a: Reach, b: Reach): Reach {
  return {
    chars: a.chars - b.chars,
    word: a.word - b.word,
    space: a.space - b.space,
    gap: a.gap - b.gap,
    solid: a.solid - b.solid,
    line: a.line - b.line,
    unbounded: a.unbounded - b.unbounded,
  };
}

/** The farther of two, in every respect. */
export function farther(a: Reach, b: Reach): Reach {
  return {
    chars: Math.max(a.chars, b.chars),
    word: Math.max(a.word, b.word),
    space: Math.max(a.space, b.space),
    gap: Math.max(a.gap, b.gap),
    solid: Math.max(a.solid, b.solid),
    line: Math.max(a.line, b.line),
    unbounded: Math.max(a.unbounded, b.unbounded),
  };
}

/** The same `times` over. */
export function repeated(reach: Reach, times: number): Reach {
  const { chars, word, space, gap, solid, line, unbounded } = reach;
  const isNowhere = chars + word + space + gap + solid + line + unbounded === 0;
  if (isNowhere || times === 0) return NOWHERE;
  if (times === Number.POSITIVE_INFINITY) return { ...NOWHERE, unbounded: 1 };
  return {
    chars: reach.chars * times,
    word: reach.word * times,
    space: reach.space * times,
    gap: reach.gap * times,
    solid: reach.solid * times,
    line: reach.line * times,
    unbounded: reach.unbounded * times,
  };
}

/** What bounds the runs of one text, in bytes. */
export interface TextBounds {
  /** bytes that go on with a character: so many bytes more than characters there are, 0 in ASCII */
  readonly continuations: number;
  readonly word: number;
  readonly space: number;
  readonly gap: number;
  readonly solid: number;
  readonly line: number;
}

const CHAR_BYTES_MAX = 4;

/** The reach in a text, in bytes; Infinity when nothing holds it. */
export function reachIn(reach: Reach, bounds: TextBounds): number {
  if (reach.unbounded > 0) return Number.POSITIVE_INFINITY;
  const { chars } = reach;
  return (
    Math.min(chars * CHAR_BYTES_MAX, chars + bounds.continuations) +
    reach.word * bounds.word +
    reach.space * bounds.space +
    reach.gap * bounds.gap +
    reach.solid * bounds.solid +
    reach.line * bounds.line
  );
}
