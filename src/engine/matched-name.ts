/**
 * Owns the question whether a step's name is matched text. Names are their senders': some hold the
 * name of the tool, the whole query or the beginning of a prompt. Where that is what a rule matched,
 * the name is customers' text like the excerpt, and is redacted and left out of exports with it.
 */
import type { Surface } from '../model.ts';
import type { TextRange } from './text.ts';

/** So much in common with the text around the hit is no coincidence of two short words. */
const SHARED_UNITS_MIN = 16;
/** How far around the hit is looked: what an excerpt shows, and more. */
const AROUND_UNITS = 512;
/** What one writing of a text may have and another not. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\s]/gu;

const folded = (text: string): string => text.normalize('NFKC').replace(UNSEEN, '').toLowerCase();

/**
 * Whether a name holds the hit, or `SHARED_UNITS_MIN` units of what stands around it. Of a hit in the
 * name of a tool it always does: the step is named after its tool.
 *
 * @param name at most a few hundred units
 * @param hit offsets into `text`
 */
export function isMatchedName(
  name: string,
  surface: Surface,
  text: string,
  hit: TextRange,
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
