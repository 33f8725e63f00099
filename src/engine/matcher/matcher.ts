/**
 * Owns the matching of rules against the texts of a run. The plain matcher searches every text with
 * every pattern of every enabled rule that reads its surface; it is the reference for the fast one
 * (`prefilter/fast-matcher.ts`), which shares everything here but the choice of where to search.
 * Neither may report as clean what it could not decide.
 */
import type { Rule, RuleCondition } from '../../model/rules.ts';
import type { Surface, SurfaceText } from '../../model/steps.ts';
import { isInCode } from './code-blocks.ts';
import {
  type ByteRange,
  type Compiled,
  createPatternCompiler,
  type Pattern,
  type PatternCompiler,
} from './pattern.ts';
import { type PreparedText, search, type TextHit, type TextReading } from './prepared-text.ts';
import { type Placement, type PreparedRun, RunTexts } from './run-texts.ts';

interface MatchSettings {
  /** whether the rule at this index is matched at all */
  readonly enabled: (ruleIndex: number) => boolean;
  /** most UTF-8 bytes matched per surface and step */
  readonly capBytes: number;
  /** times each rule that is searched for */
  readonly timer?: RuleTimer | null;
}

/** Is called around the matching of one rule against a portion. */
export interface RuleTimer {
  readonly begin: () => void;
  readonly end: (ruleIndex: number) => void;
}

/** A rule hit a text. For an `all` rule it is the hit of its first condition. */
export interface Hit extends TextHit {
  readonly ruleIndex: number;
  readonly conditionIndex: number;
  /** index into the texts given to `match`; the offsets are into that text, uncut */
  readonly textIndex: number;
}

/** A rule that is neither hit nor clean, because matching it failed. */
interface Undecided {
  readonly ruleIndex: number;
  readonly message: string;
}

export interface MatchResult {
  /** at most one per rule, by rule index */
  readonly hits: readonly Hit[];
  /** rules without a hit whose matching failed somewhere, by rule index */
  readonly undecided: readonly Undecided[];
  /** number of distinct texts that were matched */
  readonly texts: number;
  /** number of texts not matched in full because of the cap */
  readonly truncated: number;
}

/** Returns true when the slice is over. Called between two units of work. */
export type IsOver = () => boolean;

export interface Matcher {
  readonly rules: readonly Rule[];
  /** @param texts surface texts of one run, in time order (ascending `step`) */
  match(texts: readonly SurfaceText[], settings: MatchSettings): MatchResult;
  /** Starts a run whose texts come in portions; the hits are the same as for all texts at once. */
  begin(settings: MatchSettings): RunMatch;
}

/** The matching of one run, portion by portion. */
export interface RunMatch {
  /**
   * Matches the next texts. Yields when `isOver` returns true: after a text was scanned, or a rule
   * was matched against the portion.
   * @param texts all texts of the next steps, in time order
   * @param hits receives the hits of this portion, unordered; `textIndex` is an index into `texts`.
   *   If the generator is ended early (`return`), the hits found so far.
   */
  portion(texts: readonly SurfaceText[], hits: Hit[], isOver: IsOver): Generator<void, void>;
  /** the result of the portions so far; `hits` are those of `portion` */
  readonly result: Omit<MatchResult, 'hits'>;
}

/** A hit, before its rule is known. */
type ConditionHit = Omit<Hit, 'ruleIndex'>;

/** A condition that is matched. Its number is its index in `matchableConditions`. */
export interface MatchableCondition {
  readonly ruleIndex: number;
  readonly condition: RuleCondition;
}

/** Every supported condition of every rule that is not unsupported, rule by rule. */
export function matchableConditions(rules: readonly Rule[]): MatchableCondition[] {
  return rules.flatMap((rule, ruleIndex) =>
    rule.support === 'unsupported'
      ? []
      : rule.conditions
          .filter((condition) => condition.supported)
          .map((condition) => ({ ruleIndex, condition })),
  );
}

/**
 * Where it is worth searching, for one run. A scope must leave nothing out: a text that it does not
 * name for a condition holds no match of it.
 */
export interface MatchScope {
  /** Scans the next portion of the run; yields between texts when `isOver` returns true. */
  readonly enter: (portion: PreparedRun, isOver: IsOver) => Generator<void, void>;
  /** conditions that may hit in the portion, each once; null for all */
  readonly candidates: Iterable<number> | null;
  /** texts of the portion that a condition may hit, in time order, each text once per surface */
  readonly placementsOf: (condition: number) => readonly Placement[];
  /** whether a condition may hit in any portion so far */
  readonly mayHit: (condition: number) => boolean;
  /** The leftmost match of the condition's pattern in the reading. Throws what RE2 throws. */
  readonly find: (condition: number, pattern: Pattern, reading: TextReading) => ByteRange | null;
}

/** @param isEnabled whether a condition is matched, by the workspace's effective rule set */
export type CreateScope = (isEnabled: (condition: number) => boolean) => MatchScope;

/** Every text, for every condition. */
const createFullScope: CreateScope = () => {
  let placements: readonly Placement[] = [];
  let hasAny = false;
  return {
    // biome-ignore lint/correctness/useYield: there is nothing to scan
    *enter({ distinct }) {
      placements = distinct;
      hasAny ||= distinct.length > 0;
    },
    candidates: null,
    placementsOf: () => placements,
    mayHit: () => hasAny,
    find: (_condition, pattern, { bytes, from }) => findIn(pattern, bytes, from),
  };
};

/** The leftmost match that starts at `from` or later. `test` before `find` is much faster. */
function findIn(pattern: Pattern, bytes: Buffer, from = 0): ByteRange | null {
  if (!pattern.test(bytes)) return null;
  if (from > 0) return pattern.findFrom(bytes, from);
  const found = pattern.find(bytes);
  if (found === null) throw new Error('RE2 reports a match it cannot find');
  return found;
}

/**
 * The plain matcher.
 *
 * An `any` rule hits at the first step in time order that one of its conditions hits, by the first
 * such condition. An `all` rule hits at the first step that all its conditions hit, as the corpus's
 * reference engine requires them in one event.
 * @param rules plain data; only supported conditions are matched, unsupported rules never hit
 * @param compile shared compiler; programs are compiled when first needed and kept by it
 */
export function createMatcher(
  rules: readonly Rule[],
  compile: PatternCompiler = createPatternCompiler(),
): Matcher {
  return createScopedMatcher(rules, matchableConditions(rules), compile, createFullScope);
}

/**
 * A matcher that searches where its scopes say, with exactly the plain matcher's results.
 * @param conditions `matchableConditions` of the rules
 */
export function createScopedMatcher(
  rules: readonly Rule[],
  conditions: readonly MatchableCondition[],
  compile: PatternCompiler,
  createScope: CreateScope,
): Matcher {
  const matchers = conditions.map((one, number) => {
    const suppressed = rules[one.ruleIndex]?.suppressInCodeBlocks ?? false;
    return new ConditionMatcher(one, number, suppressed, compile);
  });
  const byRule = rules.map((): ConditionMatcher[] => []);
  for (const one of matchers) byRule[one.ruleIndex]?.push(one);
  const needAll = [...rules.keys()].filter((index) => rules[index]?.condition !== 'any');
  const table: RuleTable = { rules, conditions, byRule, needAll };
  return {
    rules,
    match(texts, settings) {
      const run = new PortionedMatch(table, createScope, settings);
      const hits: Hit[] = [];
      run.portion(texts, hits, () => false).next();
      return { hits, ...run.result };
    },
    begin: (settings) => new PortionedMatch(table, createScope, settings),
  };
}

/** The rules of a matcher, with the conditions of each. */
interface RuleTable {
  readonly rules: readonly Rule[];
  readonly conditions: readonly MatchableCondition[];
  /** by rule index */
  readonly byRule: readonly (readonly ConditionMatcher[])[];
  /** indexes of `all` rules */
  readonly needAll: readonly number[];
}

/**
 * A run that is matched portion by portion. The steps of a portion come after those of the previous
 * one, so a rule that has hit is not matched again. An `all` rule may need texts of an earlier
 * portion, so the results of its conditions are kept.
 */
class PortionedMatch implements RunMatch {
  readonly #table: RuleTable;
  readonly #texts: RunTexts;
  readonly #scope: MatchScope;
  readonly #isEnabled: (ruleIndex: number) => boolean;
  readonly #timer: RuleTimer | null;
  readonly #hit = new Set<number>();
  /** rule → its first error, for rules that have not hit */
  readonly #failures = new Map<number, string>();
  /** for `all` rules: the result of each condition per text */
  readonly #results = new Map<ConditionMatcher, Map<PreparedText, ConditionHit | null>>();

  constructor(
    table: RuleTable,
    createScope: CreateScope,
    { enabled, capBytes, timer = null }: MatchSettings,
  ) {
    this.#timer = timer;
    this.#table = table;
    this.#texts = new RunTexts(capBytes);
    // Closures without `this`: with it every run was promoted to V8's old space, a sixth of the CPU
    // time of short runs (2026-11-22, Node 20.20).
    const hit = this.#hit;
    const isEnabled = (ruleIndex: number): boolean => enabled(ruleIndex) && !hit.has(ruleIndex);
    this.#isEnabled = isEnabled;
    this.#scope = createScope((number) => {
      const ruleIndex = table.conditions[number]?.ruleIndex;
      return ruleIndex !== undefined && isEnabled(ruleIndex);
    });
  }

  *portion(texts: readonly SurfaceText[], hits: Hit[], isOver: IsOver): Generator<void, void> {
    const { rules, byRule } = this.#table;
    const scope = this.#scope;
    const portion = yield* this.#texts.prepare(texts, isOver);
    yield* scope.enter(portion, isOver);
    for (const ruleIndex of candidateRules(scope, this.#table)) {
      const rule = rules[ruleIndex];
      const conditions = byRule[ruleIndex] ?? [];
      if (rule === undefined || conditions.length === 0 || !this.#isEnabled(ruleIndex)) continue;
      this.#timer?.begin();
      const outcome =
        rule.condition === 'any'
          ? matchAny(conditions, scope)
          : matchAll(conditions, portion, scope, this.#results);
      this.#timer?.end(ruleIndex);
      this.#note(ruleIndex, outcome, hits);
      if (isOver()) yield;
    }
  }

  #note(ruleIndex: number, { found, failure }: RuleOutcome, hits: Hit[]): void {
    if (found !== null) {
      hits.push({ ruleIndex, ...found });
      this.#hit.add(ruleIndex);
      this.#failures.delete(ruleIndex);
    } else if (failure !== null && !this.#failures.has(ruleIndex)) {
      this.#failures.set(ruleIndex, failure);
    }
  }

  get result(): Omit<MatchResult, 'hits'> {
    const { texts, truncated } = this.#texts;
    const undecided = [...this.#failures]
      .map(([ruleIndex, message]) => ({ ruleIndex, message }))
      .sort((a, b) => a.ruleIndex - b.ruleIndex);
    return { undecided, texts, truncated };
  }
}

/**
 * The rules with a condition that may hit, in order. An `all` rule may be completed by a text of an
 * earlier portion.
 */
function candidateRules(scope: MatchScope, table: RuleTable): Iterable<number> {
  const { rules, conditions, byRule, needAll } = table;
  if (scope.candidates === null) return rules.keys();
  const candidates = new Set<number>();
  for (const number of scope.candidates) candidates.add(conditions[number]?.ruleIndex ?? 0);
  for (const ruleIndex of needAll) {
    if (byRule[ruleIndex]?.every(({ number }) => scope.mayHit(number))) candidates.add(ruleIndex);
  }
  return [...candidates].sort((a, b) => a - b);
}

/** A condition and its program, which is compiled at the first search. */
class ConditionMatcher {
  readonly number: number;
  readonly ruleIndex: number;
  readonly condition: RuleCondition;
  readonly surfaces: ReadonlySet<Surface>;
  readonly #suppressInCodeBlocks: boolean;
  readonly #compile: PatternCompiler;
  #compiled: Compiled | null = null;

  constructor(
    { ruleIndex, condition }: MatchableCondition,
    number: number,
    suppressInCodeBlocks: boolean,
    compile: PatternCompiler,
  ) {
    this.number = number;
    this.ruleIndex = ruleIndex;
    this.condition = condition;
    this.surfaces = new Set(condition.surfaces);
    this.#suppressInCodeBlocks = suppressInCodeBlocks;
    this.#compile = compile;
  }

  /** @throws what RE2 throws, or why there is no program */
  search(text: PreparedText, scope: MatchScope): TextHit | null {
    this.#compiled ??= this.#compile(this.condition.pattern);
    const { pattern, reason } = this.#compiled;
    if (pattern === null) {
      throw new Error(`condition ${this.condition.index}: ${reason.message}`);
    }
    const hit = search(pattern, text, (reading) => scope.find(this.number, pattern, reading));
    return hit === null || !this.#suppressInCodeBlocks ? hit : searchOutsideCode(pattern, text);
  }
}

/**
 * The hit of a pattern that code suppresses: the leftmost match of a reading decides. A scope need not
 * find that one in the normalised reading, so every reading is searched again.
 */
function searchOutsideCode(pattern: Pattern, text: PreparedText): TextHit | null {
  const find = ({ bytes, from }: TextReading) => findIn(pattern, bytes, from);
  return search(pattern, text, find, ({ start }, { from }) =>
    from === 0 ? !isInCode(pattern, start, text.code()) : isUncutHit(pattern, text),
  );
}

/**
 * Whether the pattern hits the whole of a cut text: its leftmost match may be where the text was left out.
 * Not if the text is too long for that.
 */
function isUncutHit(pattern: Pattern, text: PreparedText): boolean {
  const uncut = text.uncut();
  return uncut !== null && searchOutsideCode(pattern, uncut) !== null;
}

/** The outcome of matching one rule. Nothing found and a failure means undecided, not clean. */
interface RuleOutcome {
  found: ConditionHit | null;
  /** the first one */
  failure: string | null;
}

/** Matches a condition against one text on one surface; notes a failure in the outcome. */
function matchOne(
  matcher: ConditionMatcher,
  placement: Placement,
  scope: MatchScope,
  outcome: RuleOutcome,
): ConditionHit | null {
  const { condition, surfaces } = matcher;
  const { surface, text, textIndex } = placement;
  if (!surfaces.has(surface)) return null;
  try {
    const hit = matcher.search(text, scope);
    return hit === null ? null : { ...hit, conditionIndex: condition.index, textIndex };
  } catch (error) {
    outcome.failure ??= error instanceof Error ? error.message : String(error);
    return null;
  }
}

/**
 * The hit at the earliest step, there of the first condition. Condition by condition over all
 * texts, not step by step, so that the automaton that RE2 builds for a pattern stays in the CPU's
 * cache.
 */
function matchAny(conditions: readonly ConditionMatcher[], scope: MatchScope): RuleOutcome {
  const outcome: RuleOutcome = { found: null, failure: null };
  let stepsBefore = Number.POSITIVE_INFINITY;
  for (const matcher of conditions) {
    for (const placement of scope.placementsOf(matcher.number)) {
      if (placement.step >= stepsBefore) break;
      // The same text on another surface that the condition reads was no hit there.
      if (placement.earlier.some((surface) => matcher.surfaces.has(surface))) continue;
      const found = matchOne(matcher, placement, scope, outcome);
      if (found === null) continue;
      outcome.found = found;
      stepsBefore = placement.step;
    }
  }
  return outcome;
}

/** The first step in which every condition hits, with its first condition's hit. */
function matchAll(
  conditions: readonly ConditionMatcher[],
  run: PreparedRun,
  scope: MatchScope,
  results: Map<ConditionMatcher, Map<PreparedText, ConditionHit | null>>,
): RuleOutcome {
  const outcome: RuleOutcome = { found: null, failure: null };
  // Every text of a step is one of the distinct texts, so a condition that can hit none of them
  // cannot hit.
  if (conditions.some(({ number }) => !scope.mayHit(number))) return outcome;
  const hitIn = (
    placements: readonly Placement[],
    matcher: ConditionMatcher,
  ): ConditionHit | null => {
    const known = results.get(matcher) ?? new Map<PreparedText, ConditionHit | null>();
    results.set(matcher, known);
    for (const placement of placements) {
      if (!matcher.surfaces.has(placement.surface)) continue;
      const before = known.get(placement.text);
      const found = before === undefined ? matchOne(matcher, placement, scope, outcome) : before;
      known.set(placement.text, found);
      if (found !== null) return { ...found, textIndex: placement.textIndex };
    }
    return null;
  };
  // Repeated texts count: the text that completes a step may have occurred in an earlier one.
  for (const placements of run.steps) {
    let first: ConditionHit | null = null;
    const isComplete = conditions.every((matcher) => {
      const found = hitIn(placements, matcher);
      first ??= found;
      return found !== null;
    });
    if (isComplete) return { found: first, failure: null };
  }
  return outcome;
}
