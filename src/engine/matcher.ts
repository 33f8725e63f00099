/**
 * Owns the question "which rules hit which texts of a run", behind an interface that a faster
 * matcher can implement. This one is the plain one: every pattern of every enabled rule over
 * every distinct text its field reads. It is the measure for any other; it must never report as
 * clean what it could not decide.
 */
import type { Rule, RuleCondition, SurfaceText } from '../model.ts';
import { createPatternCompiler, type PatternCompiler } from './pattern.ts';
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
  const conditions = rules.map((rule) =>
    rule.support === 'unsupported' ? [] : rule.conditions.filter((one) => one.supported),
  );
  return {
    rules,
    match(texts, settings) {
      const run = prepareTexts(texts, settings.capBytes);
      const hits: Hit[] = [];
      const undecided: Undecided[] = [];
      rules.forEach((rule, ruleIndex) => {
        const asked = conditions[ruleIndex] ?? [];
        if (asked.length === 0 || !settings.enabled(ruleIndex)) return;
        const probe = createProbe(compile);
        const ask = rule.condition === 'any' ? askAny : askAll;
        const found = ask(asked, run, probe);
        const failure = probe.failure();
        if (found !== null) hits.push({ ruleIndex, ...found });
        else if (failure !== null) undecided.push({ ruleIndex, message: failure });
      });
      return { hits, undecided, truncated: run.truncated };
    },
  };
}

/** Asks one rule's conditions about texts, each pair once, and remembers the first failure. */
interface Probe {
  ask(condition: RuleCondition, placement: Placement): Found | null;
  failure(): string | null;
}

function createProbe(compile: PatternCompiler): Probe {
  const known = new Map<RuleCondition, Map<PreparedText, TextHit | null>>();
  let failure: string | null = null;
  const scan = (condition: RuleCondition, text: PreparedText): TextHit | null => {
    const { pattern, reason } = compile(condition.pattern);
    try {
      if (pattern === null) throw new Error(`condition ${condition.index}: ${reason.message}`);
      return search(pattern, text);
    } catch (error) {
      failure ??= error instanceof Error ? error.message : String(error);
      return null;
    }
  };
  return {
    ask(condition, { surface, text, textIndex }) {
      if (!condition.surfaces.includes(surface)) return null;
      const answers = known.get(condition) ?? new Map<PreparedText, TextHit | null>();
      known.set(condition, answers);
      let hit = answers.get(text);
      if (hit === undefined) {
        hit = scan(condition, text);
        answers.set(text, hit);
      }
      return hit === null ? null : { ...hit, conditionIndex: condition.index, textIndex };
    },
    failure: () => failure,
  };
}

function askAny(
  conditions: readonly RuleCondition[],
  run: PreparedRun,
  probe: Probe,
): Found | null {
  for (const placements of run.distinct) {
    for (const condition of conditions) {
      const found = firstFound(condition, placements, probe);
      if (found !== null) return found;
    }
  }
  return null;
}

function askAll(
  conditions: readonly RuleCondition[],
  run: PreparedRun,
  probe: Probe,
): Found | null {
  // Repetitions count here: what completes a step may have been shown by an earlier one.
  for (const placements of run.all) {
    const found = conditions.map((condition) => firstFound(condition, placements, probe));
    const [first] = found;
    if (first !== undefined && first !== null && !found.includes(null)) return first;
  }
  return null;
}

function firstFound(
  condition: RuleCondition,
  placements: readonly Placement[],
  probe: Probe,
): Found | null {
  for (const placement of placements) {
    const found = probe.ask(condition, placement);
    if (found !== null) return found;
  }
  return null;
}
