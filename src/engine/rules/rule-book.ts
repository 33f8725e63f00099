/** A catalogue with what follows from it for a workspace: decisions, counts, refusals. */
import { referenceIndex } from '../../model/references/rule-references.ts';
import type { Rule, RuleBook } from '../../model/rules.ts';
import { normalise } from '../matcher/normalised-text.ts';
import { createPatternCompiler } from '../matcher/pattern.ts';
import type { Catalog } from './catalog.ts';
import { decide, orphanedOverrides, refusal, stateCounts, supportCounts } from './effective-set.ts';

export function createRuleBook({ snapshot, rules }: Catalog): RuleBook {
  const byId = new Map(rules.map((rule) => [rule.id, rule]));
  return {
    snapshot,
    rules,
    find: (ruleId) => byId.get(ruleId) ?? null,
    titleOf: (ruleId) => byId.get(ruleId)?.title ?? ruleId,
    describedBy: createDescriptionMatcher(rules),
    references: referenceIndex(rules),
    counts: supportCounts(rules),
    decide,
    refusal,
    countStates: (settings) => stateCounts(rules, settings),
    orphans: (settings) => orphanedOverrides(rules, settings),
  };
}

const FIELD = 'tool_description';

/**
 * Finds rules about descriptions of tools with a pattern that matches one. These rules have no surface here and
 * never run: people see the matches on the page of a tool, and nothing counts them.
 *
 * @returns a function that compiles the patterns when it is first called
 */
export function createDescriptionMatcher(rules: readonly Rule[]): (text: string) => Rule[] {
  let patterns: { rule: Rule; test: (bytes: Buffer) => boolean }[] | null = null;
  const compiled = () => {
    const compile = createPatternCompiler();
    return rules.flatMap((rule) =>
      rule.conditions.flatMap(({ field, operator, pattern: source }) => {
        const { pattern } =
          field === FIELD && operator === 'regex' ? compile(source) : { pattern: null };
        return pattern === null ? [] : [{ rule, test: (bytes: Buffer) => pattern.test(bytes) }];
      }),
    );
  };
  return (text) => {
    patterns ??= compiled();
    const forms = [...new Set([text, normalise(text)])].map((form) => Buffer.from(form));
    const matching = patterns.filter(({ test }) => forms.some(test));
    return [...new Set(matching.map(({ rule }) => rule))];
  };
}
