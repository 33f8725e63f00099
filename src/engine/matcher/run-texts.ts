/**
 * Owns the texts of a run: each distinct one prepared once, cut to the cap of its surface and step.
 */
import type { Surface, SurfaceText } from '../../model/steps.ts';
import { type PreparedText, prepareText } from './prepared-text.ts';
import { TextMap } from './text-map.ts';

/** A text on a surface of a step. */
export interface Placement {
  /** index into the texts given to `prepare` */
  readonly textIndex: number;
  readonly step: number;
  readonly surface: Surface;
  readonly text: PreparedText;
  /** surfaces on which the same prepared text occurs earlier in the run */
  readonly earlier: readonly Surface[];
}

/** The texts of a run, or of a portion of it. */
export interface PreparedRun {
  /** every text of every step, in time order, without steps that have none */
  readonly steps: readonly (readonly Placement[])[];
  /** the same without repetitions: a text on a surface at its earliest step; in time order */
  readonly distinct: readonly Placement[];
}

/** The prepared forms of a distinct text. */
interface DistinctText {
  /** prepared whole, shared by its surfaces */
  whole: PreparedText | null;
  /** as last matched, by surface */
  readonly bySurface: Map<Surface, PreparedText>;
}

/** The texts of one run, prepared portion by portion, each distinct text once. */
export class RunTexts {
  readonly #capBytes: number;
  readonly #matched = new Set<DistinctText>();
  readonly #distinct = new TextMap<DistinctText>();
  #truncated = 0;

  /**
   * @param capBytes most UTF-8 bytes matched per surface and step. A text that the surface had
   *   before does not count: a history that is sent in every step must not crowd out new text.
   */
  constructor(capBytes: number) {
    this.#capBytes = capBytes;
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
    const used = new Map<string, number>();
    for (const [textIndex, text] of texts.entries()) {
      this.#place(text, textIndex, used, all, distinct);
      if (isOver()) yield;
    }
    return { steps: byStep(all), distinct };
  }

  #place(
    { step, surface, text }: SurfaceText,
    textIndex: number,
    used: Map<string, number>,
    all: Placement[],
    distinct: Placement[],
  ): void {
    const account = `${step} ${surface}`;
    const spent = used.get(account) ?? 0;
    const left = this.#capBytes - spent;
    const distinctText = this.#distinctText(text);
    const { bySurface } = distinctText;
    const before = bySurface.get(surface);
    if (before !== undefined && (!before.cut || before.bytes >= left)) {
      all.push({ textIndex, step, surface, text: before, earlier: [surface] });
      return;
    }
    const { whole } = distinctText;
    const prepared = whole !== null && whole.bytes <= left ? whole : prepareText(text, left);
    if (prepared.cut) this.#truncated += 1;
    else distinctText.whole = prepared;
    if (prepared.cut && prepared.bytes === 0) return;
    used.set(account, spent + prepared.bytes);
    const earlier = [...bySurface].filter(([, known]) => known === prepared).map(([on]) => on);
    bySurface.set(surface, prepared);
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

function byStep(placements: readonly Placement[]): Placement[][] {
  const steps = new Map<number, Placement[]>();
  for (const placement of placements) {
    const sameStep = steps.get(placement.step);
    if (sameStep === undefined) steps.set(placement.step, [placement]);
    else sameStep.push(placement);
  }
  return [...steps.values()];
}
