/**
 * Decides whether a step's name contains matched text. Senders choose the names: some contain the
 * name of a tool, a whole query or the beginning of a prompt. If a rule matched that, the name is
 * customers' text like the excerpt, and is redacted and left out of exports with it.
 */
import type { Surface } from '../../model/steps.ts';
import type { CharacterRange } from './normalised-text.ts';

/** Fewer units in common with the text around the hit may be coincidence. */
const SHARED_UNITS_MIN = 16;
/** Text on either side of the hit that is compared: more than an excerpt shows. */
const AROUND_UNITS = 512;
/** Characters in which two spellings of the same text may differ. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\s]/gu;

/** A text as a reader sees it, without case, white space, controls and invisible characters. */
export const folded = (text: string): string =>
  text.normalize('NFKC').replace(UNSEEN, '').toLowerCase();

interface SoughtText {
  /** the whole hit; null for one that is longer than what is compared */
  readonly matched: string | null;
  readonly around: string;
}

function soughtText(text: string, hit: CharacterRange): SoughtText {
  const shown = Math.min(hit.end, hit.start + AROUND_UNITS);
  const matched = folded(text.slice(hit.start, shown));
  return {
    matched: shown === hit.end && matched !== '' ? matched : null,
    around: folded(text.slice(Math.max(0, hit.start - AROUND_UNITS), shown + AROUND_UNITS)),
  };
}

function isIn(name: string, { matched, around }: SoughtText): boolean {
  if (matched !== null && name.includes(matched)) return true;
  for (let at = 0; at + SHARED_UNITS_MIN <= name.length; at += 1) {
    if (around.includes(name.slice(at, at + SHARED_UNITS_MIN))) return true;
  }
  return false;
}

/**
 * Checks whether a name contains the hit, or `SHARED_UNITS_MIN` units of the text around it. Always
 * true for a hit in a tool's name, because the step is named after its tool.
 *
 * @param name at most a few hundred units
 * @param hit offsets into `text`
 */
export function isMatchedName(
  name: string,
  surface: Surface,
  text: string,
  hit: CharacterRange,
): boolean {
  return surface === 'tool_name' || isIn(folded(name), soughtText(text, hit));
}

/** Most distinct names of a run that are compared with a hit. */
export const COMPARED_NAMES_MAX = 256;

/** The names of a run's steps: one step's text may be in the name of another, as of its root. */
export class StepNames {
  readonly #folded: ReadonlyMap<string, string>;

  constructor(names: Iterable<string>) {
    const distinct = new Map<string, string>();
    for (const name of names) {
      if (name === '' || distinct.has(name)) continue;
      if (distinct.size === COMPARED_NAMES_MAX) break;
      distinct.set(name, folded(name));
    }
    this.#folded = distinct;
  }

  /** Returns the names that contain a hit or text around it. */
  with(text: string, hit: CharacterRange): string[] {
    const sought = soughtText(text, hit);
    return [...this.#folded].filter(([, name]) => isIn(name, sought)).map(([name]) => name);
  }
}
