/**
 * Owns the question "which rules hit which texts of a run". The plain matcher puts every pattern of
 * every enabled rule to every distinct text its field reads; it is the measure for any other. One
 * that narrows (`fast/`) shares everything here but where it asks. Neither may report as clean what
 * it could not decide.
 */
import type { Rule, RuleCondition, Surface, SurfaceText } from '../../model.ts';
import {
  type ByteRange,
  type Compiled,
  createPatternCompiler,
  type Pattern,
  type PatternCompiler,
} from './pattern.ts';
import {
  type Placement,
  type PreparedRun,
  type PreparedText,
  type Reading,
  RunTexts,
  search,
  type TextHit,
} from './prepared-text.ts';

export interface MatchSettings {
  /** is the rule at this index asked at all? */
  readonly enabled: (ruleIndex: number) => boolean;
  /** most UTF-8 bytes looked at per surface and step */
  readonly capBytes: number;
}

/** A rule hit a text. For a rule that needs all its conditions: its first condition's hit. */
export interface Hit extends TextHit {
  readonly ruleIndex: number;
  readonly conditionIndex: number;
  /** index into the texts given to `match`; the offsets are into that text, uncut */
  readonly textIndex: number;
}

/** A rule that could be called neither hit nor clean. */
export interface Undecided {
  readonly ruleIndex: number;
  readonly message: string;
}

export interface MatchResult {
  /** at most one per rule, by rule index */
  readonly hits: readonly Hit[];
  /** rules without a hit whose matching failed somewhere, by rule index */
  readonly undecided: readonly Undecided[];
  /** distinct texts the rules were asked about */
  readonly texts: number;
  /** texts not looked at in full because of the cap */
  readonly truncated: number;
}

/** Returns true when the slice is over. Called between two pieces of work, never within one. */
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

/** A hit, before it is known whose. */
type Found = Omit<Hit, 'ruleIndex'>;

/**
 * Where it is worth asking, for one run. A scope must leave nothing out: a place that is not named
 * holds no match.
 */
export interface Scope {
  /** Scans the next portion of the run; yields between texts when `isOver` returns true. */
  readonly enter: (portion: PreparedRun, isOver: IsOver) => Generator<void, void>;
  /** questions that may hit in the portion, each once; null for all questions */
  readonly open: Iterable<number> | null;
  /** places in the portion where a question may hit, in time order, each text once per surface */
  readonly placementsOf: (question: number) => readonly Placement[];
  /** whether a question may hit anywhere in the portions so far */
  readonly mayHit: (question: number) => boolean;
  /** The leftmost match of the question's pattern in the reading. Throws what RE2 throws. */
  readonly find: (question: number, pattern: Pattern, reading: Reading) => ByteRange | null;
}

/** @param isAsked whether a question is put at all, by the workspace's effective set */
export type Narrow = (isAsked: (question: number) => boolean) => Scope;

/** Nothing is left out: every text is asked about everything. */
const askEverywhere: Narrow = () => {
  let placements: readonly Placement[] = [];
  let hasAny = false;
  return {
    // biome-ignore lint/correctness/useYield: there is nothing to look through
    *enter({ distinct }) {
      placements = distinct;
      hasAny ||= distinct.length > 0;
    },
    open: null,
    placementsOf: () => placements,
    mayHit: () => hasAny,
    find: (_question, pattern, { bytes }) => findIn(pattern, bytes),
  };
};

/** The leftmost match in all of the bytes. To ask first whether there is any is much quicker. */
export function findIn(pattern: Pattern, bytes: Buffer): ByteRange | null {
  if (!pattern.test(bytes)) return null;
  const found = pattern.find(bytes);
  if (found === null) throw new Error('RE2 reports a match it cannot find');
  return found;
}

/**
 * The plain matcher.
 *
 * An `any` rule is answered by the first step in time order that one of its conditions hits, and by
 * the first such condition. An `all` rule needs every condition to hit within one step, as the
 * corpus's reference engine needs them within one event.
 * @param rules plain data; only supported conditions are asked, unsupported rules never hit
 * @param compile shared compiler; programs are compiled when first needed and kept by it
 */
export function createMatcher(
  rules: readonly Rule[],
  compile: PatternCompiler = createPatternCompiler(),
): Matcher {
  return createMatcherOver(rules, questionsOf(rules), compile, askEverywhere);
}

/** A condition that is asked, and where it stands. */
export interface Question {
  readonly ruleIndex: number;
  readonly condition: RuleCondition;
}

/** Every supported condition of every rule that is not unsupported, rule by rule. */
export function questionsOf(rules: readonly Rule[]): Question[] {
  return rules.flatMap((rule, ruleIndex) =>
    rule.support === 'unsupported'
      ? []
      : rule.conditions
          .filter((condition) => condition.supported)
          .map((condition) => ({ ruleIndex, condition })),
  );
}

/**
 * A matcher that asks where `narrow` says, with exactly the plain matcher's answers.
 * @param questions of the rules, as `questionsOf` tells them: `narrow` counts in this order
 */
export function createMatcherOver(
  rules: readonly Rule[],
  questions: readonly Question[],
  compile: PatternCompiler,
  narrow: Narrow,
): Matcher {
  const asked = questions.map((question, index) => new Asked(question, index, compile));
  const byRule = rules.map((): Asked[] => []);
  for (const one of asked) byRule[one.ruleIndex]?.push(one);
  const needAll = [...rules.keys()].filter((index) => rules[index]?.condition !== 'any');
  const table: AskedRules = { rules, questions, byRule, needAll };
  return {
    rules,
    match(texts, settings) {
      const run = new PortionedMatch(table, narrow, settings);
      const hits: Hit[] = [];
      run.portion(texts, hits, () => false).next();
      return { hits, ...run.result };
    },
    begin: (settings) => new PortionedMatch(table, narrow, settings),
  };
}

/** The rules of a matcher, with the questions of each. */
interface AskedRules {
  readonly rules: readonly Rule[];
  readonly questions: readonly Question[];
  /** by rule index */
  readonly byRule: readonly (readonly Asked[])[];
  /** rules that need all their conditions */
  readonly needAll: readonly number[];
}

/**
 * A run that is matched portion by portion. The steps of a portion come after those of the previous
 * one, so a rule that has hit is not matched again. Rules that need all their conditions in one
 * step may need texts of an earlier portion, so their partial results are kept.
 */
class PortionedMatch implements RunMatch {
  readonly #table: AskedRules;
  readonly #texts: RunTexts;
  readonly #scope: Scope;
  readonly #isEnabled: (ruleIndex: number) => boolean;
  readonly #hit = new Set<number>();
  /** rule → its first error, for rules that have not hit */
  readonly #failures = new Map<number, string>();
  /** for rules that need all their conditions: the result of each question per text */
  readonly #answers = new Map<Asked, Map<PreparedText, Found | null>>();

  constructor(table: AskedRules, narrow: Narrow, { enabled, capBytes }: MatchSettings) {
    this.#table = table;
    this.#texts = new RunTexts(capBytes);
    // Closures without `this`: with it every run was promoted to V8's old space, a sixth of the CPU
    // time of short runs (2026-11-22, Node 20.20).
    const hit = this.#hit;
    const isEnabled = (ruleIndex: number): boolean => enabled(ruleIndex) && !hit.has(ruleIndex);
    this.#isEnabled = isEnabled;
    this.#scope = narrow((index) => {
      const ruleIndex = table.questions[index]?.ruleIndex;
      return ruleIndex !== undefined && isEnabled(ruleIndex);
    });
  }

  *portion(texts: readonly SurfaceText[], hits: Hit[], isOver: IsOver): Generator<void, void> {
    const { rules, byRule } = this.#table;
    const scope = this.#scope;
    const portion = yield* this.#texts.prepare(texts, isOver);
    yield* scope.enter(portion, isOver);
    for (const ruleIndex of rulesToAsk(scope, this.#table)) {
      const rule = rules[ruleIndex];
      const those = byRule[ruleIndex] ?? [];
      if (rule === undefined || those.length === 0 || !this.#isEnabled(ruleIndex)) continue;
      const answer =
        rule.condition === 'any'
          ? askAny(those, scope)
          : askAll(those, portion, scope, this.#answers);
      this.#note(ruleIndex, answer, hits);
      if (isOver()) yield;
    }
  }

  #note(ruleIndex: number, { found, failure }: Answer, hits: Hit[]): void {
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
 * The rules with an open question, in order. A rule that needs all its conditions may be completed
 * by a text of an earlier portion.
 */
function rulesToAsk(scope: Scope, table: AskedRules): Iterable<number> {
  const { rules, questions, byRule, needAll } = table;
  if (scope.open === null) return rules.keys();
  const those = new Set<number>();
  for (const index of scope.open) those.add(questions[index]?.ruleIndex ?? 0);
  for (const ruleIndex of needAll) {
    if (byRule[ruleIndex]?.every(({ index }) => scope.mayHit(index))) those.add(ruleIndex);
  }
  return [...those].sort((a, b) => a - b);
}

/** A question and its program, which is compiled when the question is first put. */
class Asked {
  readonly index: number;
  readonly ruleIndex: number;
  readonly condition: RuleCondition;
  readonly reads: ReadonlySet<Surface>;
  readonly #compile: PatternCompiler;
  #compiled: Compiled | null = null;

  constructor({ ruleIndex, condition }: Question, index: number, compile: PatternCompiler) {
    this.index = index;
    this.ruleIndex = ruleIndex;
    this.condition = condition;
    this.reads = new Set(condition.surfaces);
    this.#compile = compile;
  }

  /** @throws what RE2 throws, or why there is no program */
  search(text: PreparedText, scope: Scope): TextHit | null {
    this.#compiled ??= this.#compile(this.condition.pattern);
    const { pattern, reason } = this.#compiled;
    if (pattern === null) {
      throw new Error(`condition ${this.condition.index}: ${reason.message}`);
    }
    return search(pattern, text, (reading) => scope.find(this.index, pattern, reading));
  }
}

/** What came of asking one rule. With nothing found, a failure means undecided, not clean. */
interface Answer {
  found: Found | null;
  /** the first one */
  failure: string | null;
}

/** Puts a question about one text on one surface; a failure is noted in the answer. */
function ask(question: Asked, placement: Placement, scope: Scope, answer: Answer): Found | null {
  const { condition, reads } = question;
  const { surface, text, textIndex } = placement;
  if (!reads.has(surface)) return null;
  try {
    const hit = question.search(text, scope);
    return hit === null ? null : { ...hit, conditionIndex: condition.index, textIndex };
  } catch (error) {
    answer.failure ??= error instanceof Error ? error.message : String(error);
    return null;
  }
}

/**
 * The hit of the earliest step, there of the first condition. Condition by condition over all
 * texts, not step by step: so that the automaton RE2 builds for a pattern stays in the cache.
 */
function askAny(questions: readonly Asked[], scope: Scope): Answer {
  const answer: Answer = { found: null, failure: null };
  let stepsBefore = Number.POSITIVE_INFINITY;
  for (const question of questions) {
    for (const placement of scope.placementsOf(question.index)) {
      if (placement.step >= stepsBefore) break;
      // The same text on another surface that the field reads: it was no hit there.
      if (placement.earlier.some((surface) => question.reads.has(surface))) continue;
      const found = ask(question, placement, scope, answer);
      if (found === null) continue;
      answer.found = found;
      stepsBefore = placement.step;
    }
  }
  return answer;
}

/** The first step in which every condition hits, told by its first condition's hit. */
function askAll(
  questions: readonly Asked[],
  run: PreparedRun,
  scope: Scope,
  answers: Map<Asked, Map<PreparedText, Found | null>>,
): Answer {
  const answer: Answer = { found: null, failure: null };
  // Every text of a step stands among the distinct ones: a condition that can hit none, hits none.
  if (questions.some(({ index }) => !scope.mayHit(index))) return answer;
  const hitIn = (placements: readonly Placement[], question: Asked): Found | null => {
    const known = answers.get(question) ?? new Map<PreparedText, Found | null>();
    answers.set(question, known);
    for (const placement of placements) {
      if (!question.reads.has(placement.surface)) continue;
      const before = known.get(placement.text);
      const found = before === undefined ? ask(question, placement, scope, answer) : before;
      known.set(placement.text, found);
      if (found !== null) return { ...found, textIndex: placement.textIndex };
    }
    return null;
  };
  // Repetitions count here: what completes a step may have been shown by an earlier one.
  for (const placements of run.steps) {
    let first: Found | null = null;
    const isComplete = questions.every((question) => {
      const found = hitIn(placements, question);
      first ??= found;
      return found !== null;
    });
    if (isComplete) return { found: first, failure: null };
  }
  return answer;
}
