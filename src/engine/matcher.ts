/**
 * Owns the question "which rules hit which texts of a run". The plain matcher puts every pattern of
 * every enabled rule to every distinct text its field reads; it is the measure for any other. One
 * that narrows (`fast/`) shares everything here but where it asks. Neither may report as clean what
 * it could not decide.
 */
import type { Rule, RuleCondition, Surface, SurfaceText } from '../model.ts';
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
  prepareTexts,
  type Reading,
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

export interface Matcher {
  readonly rules: readonly Rule[];
  /** @param texts surface texts of one run, in time order (ascending `step`) */
  match(texts: readonly SurfaceText[], settings: MatchSettings): MatchResult;
}

/** A hit, before it is known whose. */
type Found = Omit<Hit, 'ruleIndex'>;

/**
 * Where it is worth asking, for one run. Whoever narrows must leave nothing out: a place that is
 * not named holds no match.
 */
export interface Scope {
  /** questions that may hit somewhere, each once; null for all of them */
  readonly open: Iterable<number> | null;
  /** where a question may hit, in time order, each text once per surface */
  readonly placementsOf: (question: number) => readonly Placement[];
  /** The leftmost match of the question's pattern in the reading. Throws what RE2 throws. */
  readonly find: (question: number, pattern: Pattern, reading: Reading) => ByteRange | null;
}

/** @param isAsked whether a question is put at all, by the workspace's effective set */
export type Narrow = (run: PreparedRun, isAsked: (question: number) => boolean) => Scope;

/** Nothing is left out: every text is asked about everything. */
const askEverywhere: Narrow = (run) => ({
  open: null,
  placementsOf: () => run.distinct,
  find: (_question, pattern, { bytes }) => findIn(pattern, bytes),
});

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
  return {
    rules,
    match(texts, settings) {
      const run = prepareTexts(texts, settings.capBytes);
      const scope = narrow(run, (index) => {
        const ruleIndex = questions[index]?.ruleIndex;
        return ruleIndex !== undefined && settings.enabled(ruleIndex);
      });
      const hits: Hit[] = [];
      const undecided: Undecided[] = [];
      for (const ruleIndex of rulesToAsk(scope, questions, rules.length)) {
        const rule = rules[ruleIndex];
        const those = byRule[ruleIndex] ?? [];
        if (rule === undefined || those.length === 0 || !settings.enabled(ruleIndex)) continue;
        const answer = rule.condition === 'any' ? askAny(those, scope) : askAll(those, run, scope);
        if (answer.found !== null) hits.push({ ruleIndex, ...answer.found });
        else if (answer.failure !== null) undecided.push({ ruleIndex, message: answer.failure });
      }
      return { hits, undecided, texts: run.texts, truncated: run.truncated };
    },
  };
}

/** The rules of which a question is open, in their order. */
function rulesToAsk(
  { open }: Scope,
  questions: readonly Question[],
  rules: number,
): Iterable<number> {
  if (open === null) return Array(rules).keys();
  const those = new Set<number>();
  for (const index of open) those.add(questions[index]?.ruleIndex ?? 0);
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
function askAll(questions: readonly Asked[], run: PreparedRun, scope: Scope): Answer {
  const answer: Answer = { found: null, failure: null };
  // Every text of a step stands among the distinct ones: a condition that can hit none, hits none.
  if (questions.some(({ index }) => scope.placementsOf(index).length === 0)) return answer;
  const known = questions.map(() => new Map<PreparedText, Found | null>());
  const hitIn = (placements: readonly Placement[], question: Asked, index: number) => {
    for (const placement of placements) {
      if (!question.reads.has(placement.surface)) continue;
      const before = known[index]?.get(placement.text);
      const found = before === undefined ? ask(question, placement, scope, answer) : before;
      known[index]?.set(placement.text, found);
      if (found !== null) return { ...found, textIndex: placement.textIndex };
    }
    return null;
  };
  // Repetitions count here: what completes a step may have been shown by an earlier one.
  for (const placements of run.steps) {
    let first: Found | null = null;
    const isComplete = questions.every((question, index) => {
      const found = hitIn(placements, question, index);
      first ??= found;
      return found !== null;
    });
    if (isComplete) return { found: first, failure: null };
  }
  return answer;
}
