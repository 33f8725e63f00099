/**
 * The matcher of a preview. Of many rules it is the one of all rules, with the others masked; a few
 * have a separate matcher, which looks for their literals only.
 */
import type { Matcher } from '../../engine/matcher/matcher.ts';
import type { PatternCompiler } from '../../engine/matcher/pattern.ts';
import { createFastMatcher, tablesOf } from '../../engine/prefilter/fast-matcher.ts';

/** Maximum rules with a separate matcher, which is built in milliseconds. */
export const FEW_RULES_MAX = 8;

/** A matcher, and which of its rules are previewed. */
export interface PreviewMatcher {
  readonly matcher: Matcher;
  readonly enabled: (ruleIndex: number) => boolean;
}

export class PreviewMatchers {
  readonly #all: Matcher;
  readonly #compile: PatternCompiler;
  /** of the last preview: one works at a time */
  #last: { readonly key: string; readonly found: PreviewMatcher } | null = null;

  /** @param all the matcher of every rule that can run */
  constructor(all: Matcher, compile: PatternCompiler) {
    this.#all = all;
    this.#compile = compile;
  }

  of(ruleIds: readonly string[]): PreviewMatcher {
    const key = ruleIds.join(' ');
    if (this.#last?.key === key) return this.#last.found;
    const wanted = new Set(ruleIds);
    const found = wanted.size <= FEW_RULES_MAX ? this.#few(wanted) : this.#masked(wanted);
    this.#last = { key, found };
    return found;
  }

  #few(wanted: ReadonlySet<string>): PreviewMatcher {
    const rules = this.#all.rules.filter(({ id }) => wanted.has(id));
    const matcher = createFastMatcher(rules, this.#compile, tablesOf(rules));
    return { matcher, enabled: () => true };
  }

  #masked(wanted: ReadonlySet<string>): PreviewMatcher {
    const mask = this.#all.rules.map(({ id }) => wanted.has(id));
    return { matcher: this.#all, enabled: (index) => mask[index] === true };
  }
}
