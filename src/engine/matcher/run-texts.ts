/**
 * Owns the texts of a run: each distinct one prepared once, cut to its share of the cap of its surface and
 * step.
 */
import { groupBy } from '../../model/groups.ts';
import type { Surface, SurfaceText } from '../../model/steps.ts';
import { type PreparedText, prepareText } from './prepared-text.ts';
import { type Sharer, shareCap } from './surface-shares.ts';
import { TextMap } from './text-key.ts';
import type { RuleWords } from './word-gaps.ts';

export interface Placement {
  /** index into the texts given to `prepare` */
  readonly textIndex: number;
  readonly step: number;
  readonly surface: Surface;
  readonly text: PreparedText;
  /** surfaces on which the same prepared text occurs earlier in the run */
  readonly earlier: readonly Surface[];
}

export interface PreparedRun {
  /** every text of every step, in time order, without steps that have none */
  readonly steps: readonly (readonly Placement[])[];
  /** the same without repetitions: a text on a surface at its earliest step; in time order */
  readonly distinct: readonly Placement[];
}

/** A prepared text, and the bytes of the cap that it was given. */
interface Matched {
  readonly prepared: PreparedText;
  readonly share: number;
}

interface DistinctText {
  /** prepared whole, shared by its surfaces */
  whole: PreparedText | null;
  /** as last matched, by surface */
  readonly bySurface: Map<Surface, Matched>;
}

type Shares = ReadonlyMap<Surface, ReadonlyMap<DistinctText, number>>;

/** The texts of one run, prepared portion by portion, each distinct text once. */
export class RunTexts {
  readonly #capBytes: number;
  readonly #words: RuleWords;
  readonly #matched = new Set<DistinctText>();
  readonly #distinct = new TextMap<DistinctText>();
  #truncated = 0;

  /**
   * @param capBytes most UTF-8 bytes matched per surface and step, newest texts first. A text that the
   *   surface had before does not count: a history that is sent in every step must not crowd out new text.
   */
  constructor(capBytes: number, words: RuleWords) {
    this.#capBytes = capBytes;
    this.#words = words;
  }

  /** number of distinct texts so far, each counted once over all surfaces */
  get texts(): number {
    return this.#matched.size;
  }

  /**
   * number of texts so far that were cut, or left out because the cap of their surface was used up
   */
  get truncated(): number {
    return this.#truncated;
  }

  /**
   * Prepares the next texts; yields between two of them when `isOver` returns true.
   * @param texts all texts of the next steps, in time order
   */
  *prepare(texts: readonly SurfaceText[], isOver: () => boolean): Generator<void, PreparedRun> {
    const all: Placement[] = [];
    const distinct: Placement[] = [];
    let from = 0;
    while (from < texts.length) {
      const step = texts[from]?.step;
      const known: DistinctText[] = [];
      let to = from;
      for (; texts[to]?.step === step; to += 1) {
        known.push(this.#distinctText((texts[to] as SurfaceText).text));
        if (isOver()) yield;
      }
      const shares = this.#sharesOf(texts.slice(from, to), known);
      for (const [index, one] of known.entries()) {
        this.#place(texts, from + index, one, shares, all, distinct);
        if (isOver()) yield;
      }
      from = to;
    }
    return { steps: [...groupBy(all, (placement) => placement.step).values()], distinct };
  }

  /** The share of each text of a step in the cap of its surface. A text that was matched whole has none. */
  #sharesOf(texts: readonly SurfaceText[], known: readonly DistinctText[]): Shares {
    const bySurface = new Map<Surface, Map<DistinctText, Sharer<DistinctText>>>();
    for (const [index, { surface, text, recency = index }] of texts.entries()) {
      const key = known[index] as DistinctText;
      const before = key.bySurface.get(surface);
      if (before?.prepared.cut === false) continue;
      const sharers = bySurface.get(surface) ?? new Map();
      bySurface.set(surface, sharers.set(key, { key, text, recency, before: before?.share ?? 0 }));
    }
    const shares = [...bySurface].map(
      ([surface, sharers]) => [surface, shareCap([...sharers.values()], this.#capBytes)] as const,
    );
    return new Map(shares);
  }

  #place(
    texts: readonly SurfaceText[],
    textIndex: number,
    distinctText: DistinctText,
    shares: Shares,
    all: Placement[],
    distinct: Placement[],
  ): void {
    const { step, surface, text } = texts[textIndex] as SurfaceText;
    const { bySurface, whole } = distinctText;
    const share = shares.get(surface)?.get(distinctText) ?? 0;
    const before = bySurface.get(surface);
    if (before !== undefined && (!before.prepared.cut || before.share >= share)) {
      all.push({ textIndex, step, surface, text: before.prepared, earlier: [surface] });
      return;
    }
    const prepared =
      whole !== null && whole.bytes <= share ? whole : prepareText(text, share, this.#words);
    if (prepared.cut) this.#truncated += 1;
    else distinctText.whole = prepared;
    if (prepared.cut && prepared.bytes === 0) return;
    const earlier = [...bySurface]
      .filter(([, known]) => known.prepared === prepared)
      .map(([on]) => on);
    bySurface.set(surface, { prepared, share });
    this.#matched.add(distinctText);
    const placement = { textIndex, step, surface, text: prepared, earlier };
    all.push(placement);
    distinct.push(placement);
  }

  #distinctText(text: string): DistinctText {
    const known = this.#distinct.get(text);
    if (known !== undefined) return known;
    const fresh: DistinctText = { whole: null, bySurface: new Map() };
    this.#distinct.add(text, fresh);
    return fresh;
  }
}
