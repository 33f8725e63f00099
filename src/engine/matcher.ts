/**
 * Owns the question "which rules hit which texts of a run", behind an interface that a faster
 * matcher can implement. This one is the plain one: every pattern of every enabled rule over
 * every distinct text its field reads. It is the measure for any other; it must never report as
 * clean what it could not decide.
 */
import type { Rule, RuleCondition, Surface, SurfaceText } from '../model.ts';
import { type Compiled, createPatternCompiler, type PatternCompiler } from './pattern.ts';
import {
  type Placement,
  type PreparedRun,
  type PreparedText,
  prepareTexts,
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
  const questions = rules.map((rule) =>
    rule.support === 'unsupported'
      ? []
      : rule.conditions.filter((one) => one.supported).map((one) => createQuestion(one, compile)),
  );
  return {
    rules,
    match(texts, settings) {
      const run = prepareTexts(texts, settings.capBytes);
      const hits: Hit[] = [];
      const undecided: Undecided[] = [];
      rules.forEach((rule, ruleIndex) => {
        const asked = questions[ruleIndex] ?? [];
        if (asked.length === 0 || !settings.enabled(ruleIndex)) return;
        const answer = rule.condition === 'any' ? askAny(asked, run) : askAll(asked, run);
        if (answer.found !== null) hits.push({ ruleIndex, ...answer.found });
        else if (answer.failure !== null) undecided.push({ ruleIndex, message: answer.failure });
      });
      return { hits, undecided, texts: run.texts, truncated: run.truncated };
    },
  };
}

/** A condition and its program, which is compiled when the question is first put. */
interface Question {
  readonly condition: RuleCondition;
  readonly reads: ReadonlySet<Surface>;
  /** @throws what RE2 throws, or why there is no program */
  readonly search: (text: PreparedText) => TextHit | null;
}

function createQuestion(condition: RuleCondition, compile: PatternCompiler): Question {
  let compiled: Compiled | null = null;
  return {
    condition,
    reads: new Set(condition.surfaces),
    search(text) {
      compiled ??= compile(condition.pattern);
      const { pattern, reason } = compiled;
      if (pattern === null) throw new Error(`condition ${condition.index}: ${reason.message}`);
      return search(pattern, text);
    },
  };
}

/** What came of asking one rule. With nothing found, a failure means undecided, not clean. */
interface Answer {
  found: Found | null;
  /** the first one */
  failure: string | null;
}

/** Puts a question about one text on one surface; a failure is noted in the answer. */
function ask(question: Question, placement: Placement, answer: Answer): Found | null {
  const { condition, reads } = question;
  const { surface, text, textIndex } = placement;
  if (!reads.has(surface)) return null;
  try {
    const hit = question.search(text);
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
function askAny(questions: readonly Question[], run: PreparedRun): Answer {
  const answer: Answer = { found: null, failure: null };
  let stepsBefore = Number.POSITIVE_INFINITY;
  for (const question of questions) {
    for (const placement of run.distinct) {
      if (placement.step >= stepsBefore) break;
      // The same text on another surface that the field reads: it was no hit there.
      if (placement.earlier.some((surface) => question.reads.has(surface))) continue;
      const found = ask(question, placement, answer);
      if (found === null) continue;
      answer.found = found;
      stepsBefore = placement.step;
    }
  }
  return answer;
}

/** The first step in which every condition hits, told by its first condition's hit. */
function askAll(questions: readonly Question[], run: PreparedRun): Answer {
  const answer: Answer = { found: null, failure: null };
  const known = questions.map(() => new Map<PreparedText, Found | null>());
  const hitIn = (placements: readonly Placement[], question: Question, index: number) => {
    for (const placement of placements) {
      if (!question.reads.has(placement.surface)) continue;
      const before = known[index]?.get(placement.text);
      const found = before === undefined ? ask(question, placement, answer) : before;
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
