/** Owns the search for a phrase in the texts of a run's steps, a step or less per turn. */
import type { FoundText } from '../model/run-page.ts';
import type { Step } from '../model/steps.ts';
import { textKey } from './matcher/text-key.ts';
import type { OutlinedSteps } from './run-outline.ts';
import { StepAncestors } from './step-ancestors.ts';
import { stepNameOf } from './step-name.ts';
import { extractInPieces, type StepExtraction } from './surfaces/reader/extract.ts';
import { phrasePattern } from './text-marks.ts';

/** Text searched in one turn, and what the next turn searches again: a hit may be on the edge. */
const TURN_UNITS = 32 * 1024;
const EDGE_UNITS = 1024;
const AROUND_UNITS = 80;

interface SearchResult {
  /** number of the last step that was searched; null if there was none */
  readonly lastStep: number | null;
  /** steps too large to be read whole: only the beginnings of their texts were searched */
  readonly cut: number;
}

interface Found {
  readonly hit: Omit<FoundText, 'repeatedIn'>;
  readonly step: Step;
  readonly repeatedIn: number;
  readonly lastStep: number;
}

/** The texts of a run that have a phrase, each once, however many steps send it again. */
export class FoundTexts {
  readonly #found = new Map<string, Found>();
  readonly #ancestors = new StepAncestors();

  get hits(): readonly FoundText[] {
    const all = [...this.#found.values()].map(({ hit, repeatedIn }) => ({ ...hit, repeatedIn }));
    return all.sort((one, other) => one.step - other.step || one.text - other.text);
  }

  get size(): number {
    return this.#found.size;
  }

  enter(step: Step): void {
    this.#ancestors.add(step);
  }

  /** Adds a hit; counts it where its text was found before, at the lowest of the steps that have it. */
  add(text: string, hit: Found['hit'], step: Step, hitsMax: number): void {
    const key = textKey(text);
    const known = this.#found.get(key);
    if (known === undefined) {
      if (this.size >= hitsMax) return;
      this.#found.set(key, { hit, step, repeatedIn: 0, lastStep: hit.step });
    } else if (this.#ancestors.isBelow(step, known.step)) {
      this.#found.set(key, { ...known, hit, step, lastStep: hit.step });
    } else if (hit.step > known.lastStep) {
      const repeatedIn = known.repeatedIn + 1;
      this.#found.set(key, { ...known, repeatedIn, lastStep: hit.step });
    }
  }
}

/**
 * Searches steps for a phrase: the first hit of each text that no earlier step has.
 *
 * @param found receives the hits
 * @param hitsMax the search ends with the step that reaches so many hits
 */
export function* searchInPieces(
  { steps, owners }: OutlinedSteps,
  phrase: string,
  found: FoundTexts,
  hitsMax: number,
): Generator<void, SearchResult, void> {
  const pattern = phrasePattern(phrase);
  let index = 0;
  for (const extracted of extractInPieces([...steps.map(({ step }) => step), ...owners])) {
    if (extracted === null) {
      yield;
      continue;
    }
    const own = steps[index];
    if (own === undefined || found.size >= hitsMax) break;
    yield* searchStep(own, extracted, pattern, found, hitsMax);
    index += 1;
    yield;
  }
  const cut = steps.slice(0, index).filter(({ isCut }) => isCut).length;
  return { lastStep: steps[index - 1]?.number ?? null, cut };
}

function* searchStep(
  { step, number }: OutlinedSteps['steps'][number],
  { texts, forms }: StepExtraction,
  pattern: RegExp,
  found: FoundTexts,
  hitsMax: number,
): Generator<void, void, void> {
  found.enter(step);
  let lastHit = -1;
  for (const [index, { surface, text }] of texts.entries()) {
    // The strings of a JSON that has a hit are no other text.
    const isForm = forms.has(index) && lastHit === index - 1;
    const place = isForm ? null : yield* findIn(text, pattern);
    if (isForm || place !== null) lastHit = index;
    if (place === null) continue;
    const end = place.start + place.match.length;
    const hit = {
      step: number,
      stepName: stepNameOf(step),
      surface,
      text: index,
      at: place.start,
      before: text.slice(Math.max(0, place.start - AROUND_UNITS), place.start),
      match: place.match,
      after: text.slice(end, end + AROUND_UNITS),
    };
    found.add(text, hit, step, hitsMax);
  }
}

function* findIn(
  text: string,
  pattern: RegExp,
): Generator<void, { readonly start: number; readonly match: string } | null, void> {
  for (let from = 0; from < text.length; from += TURN_UNITS) {
    if (from > 0) yield;
    pattern.lastIndex = 0;
    const found = pattern.exec(text.slice(from, from + TURN_UNITS + EDGE_UNITS));
    if (found !== null) return { start: from + found.index, match: found[0] };
  }
  return null;
}
