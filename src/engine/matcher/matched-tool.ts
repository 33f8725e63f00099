/** Owns which tool a hit belongs to: the one that its step names. */
import type { Surface, SurfaceText } from '../../model/steps.ts';
import { cutName } from '../step-name.ts';
import { isMatchedName } from './matched-name.ts';
import type { CharacterRange } from './normalised-text.ts';

/** Surfaces whose text belongs to the tool that the step names. */
const TOOL_SURFACES: ReadonlySet<Surface> = new Set(['tool_name', 'tool_args', 'tool_result']);

/** The index of the first text of a text's step. */
export function firstOfStep(texts: readonly SurfaceText[], textIndex: number): number {
  let first = textIndex;
  while (first > 0 && texts[first - 1]?.step === texts[textIndex]?.step) first -= 1;
  return first;
}

/**
 * The tool of a hit. Null without one, when the step names several, and when the name contains what
 * matched on another surface: only on its own surface is it redacted.
 *
 * @param texts all texts of its step, at least
 * @param hit offsets into the text at `textIndex`
 */
export function toolNameOf(
  texts: readonly SurfaceText[],
  textIndex: number,
  hit: CharacterRange,
): string | null {
  const own = texts[textIndex];
  if (own === undefined) throw new RangeError(`no text ${textIndex} of ${texts.length}`);
  const { step, surface, text } = own;
  if (surface === 'tool_name') return cutName(text);
  if (!TOOL_SURFACES.has(surface)) return null;
  const names = new Set<string>();
  for (let index = firstOfStep(texts, textIndex); ; index += 1) {
    const other = texts[index];
    if (other?.step !== step) break;
    if (other.surface === 'tool_name') names.add(other.text);
  }
  const [name] = names;
  if (name === undefined || names.size > 1) return null;
  const tool = cutName(name);
  return isMatchedName(tool, surface, text, hit) ? null : tool;
}
