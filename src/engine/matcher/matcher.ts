/**
 * Owns the matching of rules against the texts of a run. The plain matcher searches every text with
 * every pattern of every enabled rule that reads its surface; it is the reference for the fast one
 * (`prefilter/fast-matcher.ts`), which shares everything here but the choice of where to search.
 * Neither may report as clean what it could not decide.
 */
import type { Rule } from '../../model/rules.ts';
import type { SurfaceText } from '../../model/steps.ts';
import {
  ConditionMatcher,
  findIn,
  type MatchableCondition,
  type MatchScope,
  messageOf,
} from './condition-matcher.ts';
import {
  type Found,
  type Hit,
  matchAll,
  matchAny,
  type Results,
  type RuleOutcome,
} from './match-rule.ts';
import { createPatternCompiler, type PatternCompiler } from './pattern.ts';
import { RunPlaces } from './run-places.ts';
import { type Placement, RunTexts } from './run-texts.ts';
import { type RuleWords, wordsOf } from './word-gaps.ts';

export type { Hit };

interface MatchSettings {
  /** whether the rule at this index is matched at all */
  readonly enabled: (ruleIndex: number) => boolean;
  /** most UTF-8 bytes matched per surface and step */
  readonly capBytes: number;
  /** times each rule that is searched for */
  readonly timer?: RuleTimer | null;
  /** whether a rule that has hit is matched on, for its further places (run-places.ts) */
  readonly everyPlace?: boolean;
}

/** Is called around the matching of one rule against a portion. */
export interface RuleTimer {
  readonly begin: () => void;
  readonly end: (ruleIndex: number) => void;
}

/** A rule that is neither hit nor clean, because matching it failed. */
interface Undecided {
  readonly ruleIndex: number;
  readonly message: string;
}

export interface MatchResult {
  /** at most one per rule, by rule index; with `everyPlace` each is followed by its further places */
  readonly hits: readonly Hit[];
  /** rules without a hit whose matching failed somewhere, by rule index */
  readonly undecided: readonly Undecided[];
  /** with `everyPlace`: rules with a hit whose matching failed somewhere, which may have further places */
  readonly unsure?: readonly number[];
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

export interface RunMatch {
  /**
   * Matches the next texts. Yields when `isOver` returns true: after a text was scanned, or a rule
   * was matched against the portion.
   * @param texts all texts of the next steps, in time order
   * @param hits receives the hits of this portion, of each rule in order; `textIndex` is an index into
   *   `texts`. With `everyPlace` a rule's hit is followed, here or in later portions, by one hit for each
   *   further place. If the generator is ended early (`return`), the hits found so far.
   */
  portion(texts: readonly SurfaceText[], hits: Hit[], isOver: IsOver): Generator<void, void>;
  /** the result of the portions so far; `hits` are those of `portion` */
  readonly result: Omit<MatchResult, 'hits'>;
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
    find: (_condition, pattern, reading, from) => findIn(pattern, reading, from),
  };
};

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
  const words = wordsOf(conditions.map(({ condition }) => condition.pattern));
  const table: RuleTable = { rules, conditions, byRule, needAll, words };
  return {
    rules,
    match(texts, settings) {
      const run = new PortionedMatch(table, createScope, settings);
      const hits: Hit[] = [];
      run.portion(texts, hits, () => false).next();
      // Stable: the places of a rule stay in order.
      hits.sort((a, b) => a.ruleIndex - b.ruleIndex);
      return { hits, ...run.result };
    },
    begin: (settings) => new PortionedMatch(table, createScope, settings),
  };
}

interface RuleTable {
  readonly rules: readonly Rule[];
  readonly conditions: readonly MatchableCondition[];
  /** by rule index */
  readonly byRule: readonly (readonly ConditionMatcher[])[];
  /** indexes of `all` rules */
  readonly needAll: readonly number[];
  readonly words: RuleWords;
}

/**
 * A run that is matched portion by portion. The steps of a portion come after those of the previous
 * one, so a rule that has hit is matched again only for its further places. An `all` rule may need
 * texts of an earlier portion, so the results of its conditions are kept.
 */
class PortionedMatch implements RunMatch {
  readonly #table: RuleTable;
  readonly #texts: RunTexts;
  readonly #scope: MatchScope;
  readonly #isEnabled: (ruleIndex: number) => boolean;
  readonly #timer: RuleTimer | null;
  readonly #hit = new Set<number>();
  /** null when the first hit of a rule is enough */
  readonly #places: RunPlaces | null;
  /** rule → its first error */
  readonly #failures = new Map<number, string>();
  readonly #results: Results = new Map();
  readonly #onFailure: (ruleIndex: number, error: unknown) => void;

  constructor(
    table: RuleTable,
    createScope: CreateScope,
    { enabled, capBytes, timer = null, everyPlace = false }: MatchSettings,
  ) {
    this.#timer = timer;
    this.#table = table;
    this.#texts = new RunTexts(capBytes, table.words);
    // Closures without `this`: with it every run was promoted to V8's old space, a sixth of the CPU
    // time of short runs (2026-11-22, Node 20.20).
    const hit = this.#hit;
    const places = everyPlace ? new RunPlaces() : null;
    this.#places = places;
    const failures = this.#failures;
    this.#onFailure = (ruleIndex, error) => {
      if (!failures.has(ruleIndex)) failures.set(ruleIndex, messageOf(error));
    };
    const isDone = places === null ? (one: number) => hit.has(one) : places.isFull;
    const isEnabled = (ruleIndex: number): boolean => enabled(ruleIndex) && !isDone(ruleIndex);
    this.#isEnabled = isEnabled;
    this.#scope = createScope((number) => {
      const ruleIndex = table.conditions[number]?.ruleIndex;
      return ruleIndex !== undefined && isEnabled(ruleIndex);
    });
  }

  *portion(texts: readonly SurfaceText[], hits: Hit[], isOver: IsOver): Generator<void, void> {
    const { rules, byRule } = this.#table;
    const scope = this.#scope;
    const places = this.#places;
    const portion = yield* this.#texts.prepare(texts, isOver);
    yield* scope.enter(portion, isOver);
    for (const ruleIndex of candidateRules(scope, this.#table)) {
      const rule = rules[ruleIndex];
      const conditions = byRule[ruleIndex] ?? [];
      if (rule === undefined || conditions.length === 0 || !this.#isEnabled(ruleIndex)) continue;
      this.#timer?.begin();
      const isEvery = places !== null;
      const outcome =
        rule.condition === 'any'
          ? matchAny(conditions, scope, isEvery)
          : matchAll(conditions, portion, scope, this.#results, isEvery);
      this.#timer?.end(ruleIndex);
      this.#note(ruleIndex, outcome, texts, hits);
      if (isOver()) yield;
      if (rule.condition === 'any') places?.note(outcome.found);
      else if (places !== null) yield* this.#addPlaces(outcome.found, texts, hits, isOver, places);
    }
    const whole = { texts, hits, scope, onFailure: this.#onFailure };
    if (places !== null) yield* places.addRepeated(portion, whole, isOver);
  }

  /** The places of a rule that needs all of its conditions: only of the steps that have them all. */
  *#addPlaces(
    found: readonly Found[],
    texts: readonly SurfaceText[],
    hits: Hit[],
    isOver: IsOver,
    places: RunPlaces,
  ): Generator<void, void> {
    const portion = { texts, hits, scope: this.#scope, onFailure: this.#onFailure };
    for (const one of found) {
      places.add(one, portion);
      if (isOver()) yield;
    }
  }

  #note(
    ruleIndex: number,
    { found: [first], failure }: RuleOutcome,
    texts: readonly SurfaceText[],
    hits: Hit[],
  ): void {
    if (failure !== null && !this.#failures.has(ruleIndex)) this.#failures.set(ruleIndex, failure);
    if (first === undefined || this.#hit.has(ruleIndex)) return;
    hits.push({ ruleIndex, ...first.hit });
    this.#hit.add(ruleIndex);
    this.#places?.begin(ruleIndex, first, texts);
  }

  get result(): Omit<MatchResult, 'hits'> {
    const { texts, truncated } = this.#texts;
    const failures = [...this.#failures]
      .map(([ruleIndex, message]) => ({ ruleIndex, message }))
      .sort((a, b) => a.ruleIndex - b.ruleIndex);
    const undecided = failures.filter(({ ruleIndex }) => !this.#hit.has(ruleIndex));
    if (this.#places === null) return { undecided, texts, truncated };
    const unsure = failures.flatMap(({ ruleIndex }) => (this.#hit.has(ruleIndex) ? ruleIndex : []));
    return { undecided, unsure, texts, truncated };
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
