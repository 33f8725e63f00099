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

/**
 * Whether a name contains the hit, or `SHARED_UNITS_MIN` units of the text around it. Always true
 * for a hit in a tool's name, because the step is named after its tool.
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
  if (surface === 'tool_name') return true;
  const own = folded(name);
  const shown = Math.min(hit.end, hit.start + AROUND_UNITS);
  const matched = folded(text.slice(hit.start, shown));
  if (shown === hit.end && matched !== '' && own.includes(matched)) return true;
  const around = folded(text.slice(Math.max(0, hit.start - AROUND_UNITS), shown + AROUND_UNITS));
  for (let at = 0; at + SHARED_UNITS_MIN <= own.length; at += 1) {
    if (around.includes(own.slice(at, at + SHARED_UNITS_MIN))) return true;
  }
  return false;
}
