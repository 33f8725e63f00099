/**
 * Matches the conditions of one rule against a portion of a run: where the rule hits first, and, where
 * its places are wanted, every other text that it hits.
 */
import { type ConditionMatcher, type MatchScope, messageOf } from './condition-matcher.ts';
import type { FoundHit, PreparedText, TextHit } from './prepared-text.ts';
import type { Placement, PreparedRun } from './run-texts.ts';

/** A rule hit a text. For an `all` rule it is the hit of its first condition. */
export interface Hit extends TextHit {
  readonly ruleIndex: number;
  readonly conditionIndex: number;
  /** index into the texts given to `match`; the offsets are into that text, uncut */
  readonly textIndex: number;
  /** the rule has further places, which were not kept or not found: this one stands for them */
  readonly isRest?: true;
}

/** A hit, before its rule is known. */
export type ConditionHit = Omit<Hit, 'ruleIndex'>;

/** For each condition of `all` rules: its result per text. */
export type Results = Map<ConditionMatcher, Map<PreparedText, FoundHit | null>>;

export interface Found {
  readonly matcher: ConditionMatcher;
  readonly placement: Placement;
  readonly hit: ConditionHit;
  readonly first: FoundHit;
}

/** The outcome of matching one rule. Nothing found and a failure means undecided, not clean. */
export interface RuleOutcome {
  /** the rule's hit, and behind it every other text with one if they are wanted */
  found: Found[];
  failure: string | null;
}

/** Matches a condition against one text on one surface; notes a failure in the outcome. */
function matchOne(
  matcher: ConditionMatcher,
  { surface, text }: Placement,
  scope: MatchScope,
  outcome: RuleOutcome,
): FoundHit | null {
  if (!matcher.surfaces.has(surface)) return null;
  try {
    return matcher.search(text, scope);
  } catch (error) {
    outcome.failure ??= messageOf(error);
    return null;
  }
}

function toFound(matcher: ConditionMatcher, placement: Placement, first: FoundHit): Found {
  const { textIndex } = placement;
  const hit = { ...first.hit, conditionIndex: matcher.condition.index, textIndex };
  return { matcher, placement, hit, first };
}

/**
 * The hit at the earliest step, there of the first condition. Condition by condition over all
 * texts, not step by step, so that the automaton that RE2 builds for a pattern stays in the CPU's
 * cache.
 */
export function matchAny(
  conditions: readonly ConditionMatcher[],
  scope: MatchScope,
  isEvery: boolean,
): RuleOutcome {
  const outcome: RuleOutcome = { found: [], failure: null };
  let stepsBefore = Number.POSITIVE_INFINITY;
  for (const matcher of conditions) {
    for (const placement of scope.placementsOf(matcher.number)) {
      if (!isEvery && placement.step >= stepsBefore) break;
      // The same text on another surface that the condition reads was no hit there, or repeats it.
      if (placement.earlier.some((surface) => matcher.surfaces.has(surface))) continue;
      const first = matchOne(matcher, placement, scope, outcome);
      if (first === null) continue;
      const found = toFound(matcher, placement, first);
      if (isEvery) outcome.found.push(found);
      else outcome.found = [found];
      stepsBefore = placement.step;
    }
  }
  // Stable: within a step in the order of the conditions.
  outcome.found.sort((a, b) => a.placement.step - b.placement.step);
  return outcome;
}

/** The first step in which every condition hits, with its first condition's hit. */
export function matchAll(
  conditions: readonly ConditionMatcher[],
  run: PreparedRun,
  scope: MatchScope,
  results: Results,
  isEvery: boolean,
): RuleOutcome {
  const outcome: RuleOutcome = { found: [], failure: null };
  // Every text of a step is one of the distinct texts, so a condition that can hit none of them
  // cannot hit.
  if (conditions.some(({ number }) => !scope.mayHit(number))) return outcome;
  const hitsIn = function* (
    placements: readonly Placement[],
    matcher: ConditionMatcher,
  ): Generator<Found, void> {
    const known = results.get(matcher) ?? new Map<PreparedText, FoundHit | null>();
    results.set(matcher, known);
    for (const placement of placements) {
      if (!matcher.surfaces.has(placement.surface)) continue;
      const before = known.get(placement.text);
      const first = before === undefined ? matchOne(matcher, placement, scope, outcome) : before;
      known.set(placement.text, first);
      if (first !== null) yield toFound(matcher, placement, first);
    }
  };
  const firstIn = (placements: readonly Placement[], matcher: ConditionMatcher): Found | null =>
    hitsIn(placements, matcher).next().value ?? null;
  // Repeated texts count: the text that completes a step may have occurred in an earlier one.
  for (const placements of run.steps) {
    const isComplete = conditions.every((matcher) => firstIn(placements, matcher) !== null);
    if (!isComplete) continue;
    if (isEvery) {
      for (const matcher of conditions) outcome.found.push(...hitsIn(placements, matcher));
    } else {
      const [matcher] = conditions;
      const found = matcher === undefined ? null : firstIn(placements, matcher);
      return { found: found === null ? [] : [found], failure: null };
    }
  }
  return outcome;
}
