/**
 * Owns the relaxed form of a pattern: it matches wherever the pattern does, and in a few more places,
 * because large counts are not counted. `[^"]{0,200}` needs two hundred states of an automaton, and
 * text that is new visits other ones of them every time; `[^"]*` needs one.
 */
import { type AST, visitRegExpAST } from '@eslint-community/regexpp';
import { parseAsWritten, splitFlags } from './pattern-syntax.ts';

/** Repetitions up to this count are left as they are. */
const COUNTED_MAX = 8;
/** At least so many repetitions are still needed where the pattern needs more. */
const NEEDED_MAX = 12;

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

function edited(body: string, edits: Edit[]): string {
  edits.sort((a, b) => a.start - b.start);
  let result = '';
  let from = 0;
  for (const { start, end, text } of edits) {
    result += body.slice(from, start) + text;
    from = end;
  }
  return result + body.slice(from);
}

function isRelaxed({ min, max }: AST.Quantifier): boolean {
  return (max > COUNTED_MAX && max !== Number.POSITIVE_INFINITY) || min > NEEDED_MAX;
}

function relaxedCount({ min, greedy }: AST.Quantifier): string {
  return `{${Math.min(min, NEEDED_MAX)},}${greedy ? '' : '?'}`;
}

/**
 * The pattern with repetitions of any number instead of many. RE2 has no look-around, so that more
 * repetitions can only add matches.
 * @returns the same source when there is nothing to relax, or it cannot be parsed
 */
export function relaxedSource(source: string): string {
  const { flags, body } = splitFlags(source);
  const parsed = parseAsWritten(body);
  if (parsed === null) return source;
  const edits: Edit[] = [];
  visitRegExpAST(parsed, {
    onQuantifierEnter: (quantifier) => {
      if (!isRelaxed(quantifier)) return;
      const { element, end } = quantifier;
      edits.push({ start: element.end, end, text: relaxedCount(quantifier) });
    },
  });
  return flags + edited(body, edits);
}

/** How many characters a group of a relaxed pattern may have. */
export interface RunLimits {
  readonly min: number;
  readonly max: number;
}

/**
 * The relaxed pattern with a group around each repetition that was relaxed, and no others.
 *
 * Of all ways to match, RE2 takes the first by the order of its alternatives, from the leftmost start. The
 * pattern's ways are those of the relaxed one, in the same order, without the ways that repeat
 * something too often or not often enough. So when the first way of the relaxed pattern repeats
 * nothing so, it is also the pattern's first.
 * @returns null when nothing is relaxed, or when the groups cannot be counted: what is repeated is not one
 *   character, or is inside of something that is repeated itself
 */
export function relaxedWithRuns(
  source: string,
): { readonly source: string; readonly runs: readonly RunLimits[] } | null {
  const { flags, body } = splitFlags(source);
  const parsed = parseAsWritten(body);
  if (parsed === null) return null;
  const edits: Edit[] = [];
  const runs: RunLimits[] = [];
  let isCountable = true;
  let repeats = 0;
  visitRegExpAST(parsed, {
    onCapturingGroupEnter: ({ name, start }) => {
      if (name !== null) isCountable = false;
      edits.push({ start, end: start + 1, text: '(?:' });
    },
    onQuantifierEnter: (quantifier) => {
      const { min, max, element, start, end } = quantifier;
      if (isRelaxed(quantifier)) {
        if (repeats > 0 || !ONE_CHARACTER.has(element.type)) isCountable = false;
        edits.push({ start, end: start, text: '(' });
        edits.push({ start: element.end, end, text: `${relaxedCount(quantifier)})` });
        runs.push({ min, max });
      }
      if (max > 1) repeats += 1;
    },
    onQuantifierLeave: ({ max }) => {
      if (max > 1) repeats -= 1;
    },
  });
  return isCountable && runs.length > 0 ? { source: flags + edited(body, edits), runs } : null;
}

const ONE_CHARACTER: ReadonlySet<string> = new Set(['Character', 'CharacterSet', 'CharacterClass']);

/** Checks whether each group, if it took part, has as many characters as it may. */
export function areWithin(
  groups: readonly (Buffer | undefined)[],
  runs: readonly RunLimits[],
): boolean {
  return runs.every(({ min, max }, index) => {
    const group = groups[index];
    if (group === undefined) return true;
    let characters = 0;
    for (const byte of group) if ((byte & 0xc0) !== 0x80) characters += 1;
    return characters >= min && characters <= max;
  });
}
