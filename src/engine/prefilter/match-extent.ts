/**
 * Owns the maximum extent of a match, as it is known before the text is: a number of characters, plus
 * runs that the text bounds (`.*` ends with the line, `\w+` with the word).
 *
 * Every extent is an upper bound: a larger one costs time, a smaller one would lose a match.
 */

/**
 * Runs that repeated characters cannot leave: a word, white space, anything between two words,
 * anything between white space, a line.
 */
export type Run = 'word' | 'space' | 'gap' | 'solid' | 'line';

/** A number of characters and of runs of each kind; `unbounded` counts runs of anything. */
export interface Extent {
  readonly chars: number;
  readonly word: number;
  readonly space: number;
  readonly gap: number;
  readonly solid: number;
  readonly line: number;
  readonly unbounded: number;
}

export const NO_EXTENT: Extent = {
  chars: 0,
  word: 0,
  space: 0,
  gap: 0,
  solid: 0,
  line: 0,
  unbounded: 0,
};

/** One run of a kind, or a run of anything. */
export function runOf(run: Run | null): Extent {
  return run === null ? { ...NO_EXTENT, unbounded: 1 } : { ...NO_EXTENT, [run]: 1 };
}

export function plus(a: Extent, b: Extent): Extent {
  return combine(a, b, (one, other) => one + other);
}

/** The rest of `a` without its beginning `b`. */
export function minus(a: Extent, b: Extent): Extent {
  return combine(a, b, (one, other) => one - other);
}

export function maximum(a: Extent, b: Extent): Extent {
  return combine(a, b, Math.max);
}

export function repeated(extent: Extent, times: number): Extent {
  const { chars, word, space, gap, solid, line, unbounded } = extent;
  const isEmpty = chars + word + space + gap + solid + line + unbounded === 0;
  if (isEmpty || times === 0) return NO_EXTENT;
  if (times === Number.POSITIVE_INFINITY) return { ...NO_EXTENT, unbounded: 1 };
  return combine(extent, extent, (one) => one * times);
}

function combine(a: Extent, b: Extent, of: (one: number, other: number) => number): Extent {
  return {
    chars: of(a.chars, b.chars),
    word: of(a.word, b.word),
    space: of(a.space, b.space),
    gap: of(a.gap, b.gap),
    solid: of(a.solid, b.solid),
    line: of(a.line, b.line),
    unbounded: of(a.unbounded, b.unbounded),
  };
}

/** The lengths that bound the runs of a text. */
export interface TextBounds {
  /** continuation bytes of UTF-8: how many bytes more than characters there are */
  readonly continuations: number;
  /** The longest run of a kind, in bytes. */
  longest(run: Run): number;
}

const RUNS = ['word', 'space', 'gap', 'solid', 'line'] as const satisfies readonly Run[];
const CHAR_BYTES_MAX = 4;
/** Numbers of an extent in the table: its characters, then its runs. */
const FIELDS = 1 + RUNS.length;

/** Extents by id. Typed arrays, so that threads can share them. */
export interface ExtentTables {
  /** id * FIELDS → characters, then runs */
  readonly fields: Float64Array;
  readonly isUnbounded: Uint8Array;
}

export class ExtentList {
  readonly #extents: Extent[] = [];
  readonly #ids = new Map<string, number>();

  idOf(extent: Extent): number {
    const key = JSON.stringify(extent);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = this.#extents.length;
    this.#extents.push(extent);
    this.#ids.set(key, id);
    return id;
  }

  get tables(): ExtentTables {
    return {
      fields: Float64Array.from(
        this.#extents.flatMap((extent) => [extent.chars, ...RUNS.map((run) => extent[run])]),
      ),
      isUnbounded: Uint8Array.from(this.#extents, ({ unbounded }) => (unbounded > 0 ? 1 : 0)),
    };
  }
}

/** The extents in bytes of a text; reused for the next text. */
export class TextExtents {
  readonly #fields: Float64Array;
  readonly #isUnbounded: Uint8Array;
  /** id → number of the text in which it was computed last, and the result */
  readonly #computedIn: Int32Array;
  readonly #bytes: Float64Array;
  #text = 0;
  #bounds: TextBounds = { continuations: 0, longest: () => 0 };

  constructor({ fields, isUnbounded }: ExtentTables) {
    this.#fields = fields;
    this.#isUnbounded = isUnbounded;
    this.#computedIn = new Int32Array(isUnbounded.length);
    this.#bytes = new Float64Array(isUnbounded.length);
  }

  enter(bounds: TextBounds): void {
    this.#text += 1;
    this.#bounds = bounds;
  }

  /** An extent in the current text; Infinity if it is unbounded. */
  bytesOf(id: number): number {
    if (this.#computedIn[id] !== this.#text) {
      this.#computedIn[id] = this.#text;
      this.#bytes[id] = this.#isUnbounded[id] === 1 ? Number.POSITIVE_INFINITY : this.#compute(id);
    }
    return this.#bytes[id] as number;
  }

  #compute(id: number): number {
    const bounds = this.#bounds;
    const first = id * FIELDS;
    const chars = this.#fields[first] as number;
    let bytes = Math.min(chars * CHAR_BYTES_MAX, chars + bounds.continuations);
    for (let run = 1; run < FIELDS; run += 1) {
      const runs = this.#fields[first + run] as number;
      if (runs > 0) bytes += runs * bounds.longest(RUNS[run - 1] as Run);
    }
    return bytes;
  }
}
