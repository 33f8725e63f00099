/** Owns the search for a phrase in the texts of a run's steps, a step or less per turn. */
import type { FoundText } from '../model/run-page.ts';
import type { OutlinedSteps } from './run-outline.ts';
import { stepNameOf } from './step-name.ts';
import { extractInPieces } from './surfaces/reader/extract.ts';
import { phrasePattern } from './text-marks.ts';

/** Text searched in one turn, and what the next turn searches again: a hit may be on the edge. */
const TURN_UNITS = 32 * 1024;
const EDGE_UNITS = 1024;
/** Text shown on either side of a hit. */
const AROUND_UNITS = 80;

interface SearchResult {
  readonly hits: readonly FoundText[];
  /** number of the last step that was searched; null if there was none */
  readonly lastStep: number | null;
  /** steps too large to be read whole: only the beginnings of their texts were searched */
  readonly cut: number;
}

/**
 * Searches steps for a phrase: the first hit of each text.
 * @param hitsMax the search ends with the step that reaches so many hits
 */
export function* searchInPieces(
  { steps, owners }: OutlinedSteps,
  phrase: string,
  hitsMax: number,
): Generator<void, SearchResult, void> {
  const pattern = phrasePattern(phrase);
  const hits: FoundText[] = [];
  let index = 0;
  for (const extracted of extractInPieces([...steps.map(({ step }) => step), ...owners])) {
    if (extracted === null) {
      yield;
      continue;
    }
    const { texts } = extracted;
    const own = steps[index];
    if (own === undefined || hits.length >= hitsMax) break;
    for (const [textIndex, { surface, text }] of texts.entries()) {
      if (hits.length >= hitsMax) break;
      const found = yield* findIn(text, pattern);
      if (found === null) continue;
      const end = found.start + found.match.length;
      hits.push({
        step: own.number,
        stepName: stepNameOf(own.step),
        surface,
        text: textIndex,
        at: found.start,
        before: text.slice(Math.max(0, found.start - AROUND_UNITS), found.start),
        match: found.match,
        after: text.slice(end, end + AROUND_UNITS),
      });
    }
    index += 1;
    yield;
  }
  const cut = steps.slice(0, index).filter(({ isCut }) => isCut).length;
  return { hits, lastStep: steps[index - 1]?.number ?? null, cut };
}

/** The first hit in a text, which may take several turns. */
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
