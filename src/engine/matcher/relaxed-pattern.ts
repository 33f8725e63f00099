/**
 * Owns the relaxed form of a pattern: it matches wherever the pattern does, and in a few more places,
 * because large counts are not counted. `[^"]{0,200}` needs two hundred states of an automaton, and
 * text that is new visits other ones of them every time; `[^"]*` needs one.
 */
import { visitRegExpAST } from '@eslint-community/regexpp';
import { parseAsWritten, splitFlags } from './pattern-syntax.ts';

/** Repetitions up to this count are left as they are. */
const COUNTED_MAX = 8;
/** At least so many repetitions are still needed where the pattern needs more. */
const NEEDED_MAX = 12;

/**
 * The pattern with repetitions of any number instead of many. RE2 has no look-around, so that more
 * repetitions can only add matches.
 * @returns the same source when there is nothing to relax, or it cannot be parsed
 */
export function relaxedSource(source: string): string {
  const { flags, body } = splitFlags(source);
  const parsed = parseAsWritten(body);
  if (parsed === null) return source;
  const quantifiers: { readonly start: number; readonly end: number; readonly count: string }[] =
    [];
  visitRegExpAST(parsed, {
    onQuantifierEnter: ({ min, max, greedy, element, end }) => {
      const isMany = max > COUNTED_MAX && max !== Number.POSITIVE_INFINITY;
      if (!isMany && min <= NEEDED_MAX) return;
      const count = `{${Math.min(min, NEEDED_MAX)},}${greedy ? '' : '?'}`;
      quantifiers.push({ start: element.end, end, count });
    },
  });
  quantifiers.sort((a, b) => a.start - b.start);
  let relaxed = flags;
  let from = 0;
  for (const { start, end, count } of quantifiers) {
    relaxed += body.slice(from, start) + count;
    from = end;
  }
  return relaxed + body.slice(from);
}
