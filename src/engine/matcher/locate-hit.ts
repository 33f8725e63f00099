/** Owns the place of a condition's hit in an excerpt, which people see highlighted. */
import { findIn } from './matcher.ts';
import type { CharacterRange } from './normalised-text.ts';
import { createPatternCompiler } from './pattern.ts';
import { prepareText, search } from './prepared-text.ts';

const compile = createPatternCompiler();

/**
 * @param pattern of the condition that hit
 * @returns offsets into the excerpt; null when the excerpt does not match by itself
 */
export function locateHit(pattern: string, excerpt: string): CharacterRange | null {
  const compiled = compile(pattern).pattern;
  if (compiled === null) return null;
  const text = prepareText(excerpt, Number.MAX_SAFE_INTEGER);
  try {
    const hit = search(compiled, text, ({ bytes }) => findIn(compiled, bytes));
    return hit === null ? null : { start: hit.start, end: hit.end };
  } catch {
    // RE2 ran out of memory on a few hundred characters: the excerpt is shown without a mark.
    return null;
  }
}
