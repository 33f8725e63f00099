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

/** What bounds the runs of one text. */
export interface TextBounds {
  /** bytes that go on with a character: so many bytes more than characters there are, 0 in ASCII */
  readonly continuations: number;
  /** The longest run of a kind, in bytes. */
  longest(run: Run): number;
}

const RUNS = ['word', 'space', 'gap', 'solid', 'line'] as const satisfies readonly Run[];
const CHAR_BYTES_MAX = 4;
/** Figures of a reach in the table: its characters, then its runs. */
const FIGURES = 1 + RUNS.length;

/** What is known of reaches, by id. Tables only: may be shared between threads. */
export interface ReachTables {
  /** reach * FIGURES → its characters, then its runs */
  readonly figures: Float64Array;
  readonly isUnbounded: Uint8Array;
}

/** Collects reaches, each once. */
export class ReachList {
  readonly #reaches: Reach[] = [];
  readonly #ids = new Map<string, number>();

  idOf(reach: Reach): number {
    const key = JSON.stringify(reach);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = this.#reaches.length;
    this.#reaches.push(reach);
    this.#ids.set(key, id);
    return id;
  }

  get tables(): ReachTables {
    return {
      figures: Float64Array.from(
        this.#reaches.flatMap((reach) => [reach.chars, ...RUNS.map((run) => reach[run])]),
      ),
      isUnbounded: Uint8Array.from(this.#reaches, ({ unbounded }) => (unbounded > 0 ? 1 : 0)),
    };
  }
}

/** What reaches come to in a text; used again and again. */
export class ReachesInText {
  readonly #figures: Float64Array;
  readonly #isUnbounded: Uint8Array;
  /** reach → the last text it was told in, and as how many bytes */
  readonly #told: Int32Array;
  readonly #bytes: Float64Array;
  #text = 0;
  #bounds: TextBounds = { continuations: 0, longest: () => 0 };

  constructor({ figures, isUnbounded }: ReachTables) {
    this.#figures = figures;
    this.#isUnbounded = isUnbounded;
    this.#told = new Int32Array(isUnbounded.length);
    this.#bytes = new Float64Array(isUnbounded.length);
  }

  /** Goes on to the next text. */
  enter(bounds: TextBounds): void {
    this.#text += 1;
    this.#bounds = bounds;
  }

  /** A reach in the text at hand, in bytes; Infinity when nothing holds it. */
  bytesOf(id: number): number {
    if (this.#told[id] !== this.#text) {
      this.#told[id] = this.#text;
      this.#bytes[id] = this.#isUnbounded[id] === 1 ? Number.POSITIVE_INFINITY : this.#reach(id);
    }
    return this.#bytes[id] as number;
  }

  #reach(id: number): number {
    const bounds = this.#bounds;
    const first = id * FIGURES;
    const chars = this.#figures[first] as number;
    let bytes = Math.min(chars * CHAR_BYTES_MAX, chars + bounds.continuations);
    for (let run = 1; run < FIGURES; run += 1) {
      const runs = this.#figures[first + run] as number;
      if (runs > 0) bytes += runs * bounds.longest(RUNS[run - 1] as Run);
    }
    return bytes;
  }
}
