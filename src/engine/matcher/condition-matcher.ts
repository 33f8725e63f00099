/**
 * Owns a condition with its program, and where it is searched. Shared by all rules and texts.
 */
import type { RuleCondition } from '../../model/rules.ts';
import type { Surface } from '../../model/steps.ts';
import { isInCode } from './code-blocks.ts';
import type { ByteRange, Compiled, Pattern, PatternCompiler } from './pattern.ts';
import {
  type Counts,
  type FindIn,
  type FoundHit,
  type PreparedText,
  search,
  searchOn,
  type TextHit,
  type TextReading,
} from './prepared-text.ts';
import type { Placement, PreparedRun } from './run-texts.ts';

/** A condition that is matched. Its number is its index in `matchableConditions`. */
export interface MatchableCondition {
  readonly ruleIndex: number;
  readonly condition: RuleCondition;
}

/**
 * Where it is worth searching, for one run. A scope must leave nothing out: a text that it does not
 * name for a condition holds no match of it.
 */
export interface MatchScope {
  /** Scans the next portion of the run; yields between texts when `isOver` returns true. */
  readonly enter: (portion: PreparedRun, isOver: () => boolean) => Generator<void, void>;
  /** conditions that may hit in the portion, each once; null for all */
  readonly candidates: Iterable<number> | null;
  /** texts of the portion that a condition may hit, in time order, each text once per surface */
  readonly placementsOf: (condition: number) => readonly Placement[];
  /** whether a condition may hit in any portion so far */
  readonly mayHit: (condition: number) => boolean;
  /**
   * The leftmost match of the condition's pattern in the reading, or in what is behind `from`. Of a
   * normalised reading whose changes are known it need not see the matches that touch none of them.
   * Throws what RE2 throws.
   */
  readonly find: (
    condition: number,
    pattern: Pattern,
    reading: TextReading,
    from: number,
  ) => ByteRange | null;
}

/** A condition and its program, which is compiled at the first search. */
export class ConditionMatcher {
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
  search(text: PreparedText, scope: MatchScope): FoundHit | null {
    const pattern = this.#pattern();
    const found = search(pattern, text, this.#findIn(scope));
    return found === null || !this.#suppressInCodeBlocks ? found : searchOutsideCode(pattern, text);
  }

  /**
   * The hits in a text after its first one.
   * @throws what RE2 throws, while they are taken
   */
  searchOn(text: PreparedText, first: FoundHit, scope: MatchScope): Iterable<TextHit> {
    const pattern = this.#pattern();
    if (!this.#suppressInCodeBlocks) {
      return searchOn(pattern, text, first, this.#findIn(scope), null);
    }
    const find: FindIn = (reading, from) => findIn(pattern, reading, from);
    return searchOn(pattern, text, first, find, isOutsideCode(pattern, text));
  }

  #findIn(scope: MatchScope): FindIn {
    const pattern = this.#pattern();
    return (reading, from) => scope.find(this.number, pattern, reading, from);
  }

  #pattern(): Pattern {
    this.#compiled ??= this.#compile(this.condition.pattern);
    const { pattern, reason } = this.#compiled;
    if (pattern !== null) return pattern;
    throw new Error(`condition ${this.condition.index}: ${reason.message}`);
  }
}

/** The leftmost match that starts at `from` or later. `test` before `find` is much faster. */
export function findIn(pattern: Pattern, reading: TextReading, from: number): ByteRange | null {
  const { bytes } = reading;
  // Behind a match there may be no other: that takes no test.
  if (from > reading.from) return pattern.findFrom(bytes, from);
  if (!pattern.test(bytes)) return null;
  if (from > 0) return pattern.findFrom(bytes, from);
  const found = pattern.find(bytes);
  if (found === null) throw new Error('RE2 reports a match it cannot find');
  return found;
}

/**
 * The hit of a pattern that code suppresses: the leftmost match of a reading decides. A scope need not
 * find that one in the normalised reading, so every reading is searched again.
 */
function searchOutsideCode(pattern: Pattern, text: PreparedText): FoundHit | null {
  const find: FindIn = (reading, from) => findIn(pattern, reading, from);
  return search(pattern, text, find, isOutsideCode(pattern, text));
}

const isOutsideCode =
  (pattern: Pattern, text: PreparedText): Counts =>
  ({ start }, reading) =>
    reading.from === 0 ? !isInCode(pattern, start, text.code(reading)) : isUncutHit(pattern, text);

/**
 * Checks whether the pattern hits the whole of a cut text: its leftmost match may be where the text was left out.
 * Not if the text is too long for that.
 */
function isUncutHit(pattern: Pattern, text: PreparedText): boolean {
  const uncut = text.uncut();
  return uncut !== null && searchOutsideCode(pattern, uncut) !== null;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
