/** A catalogue with what follows from it for a workspace: decisions, counts, refusals. */
import { referenceIndex } from '../../model/references/rule-references.ts';
import type { RuleBook } from '../../model/rules.ts';
import type { Catalog } from './catalog.ts';
import { decide, orphanedOverrides, refusal, stateCounts, supportCounts } from './effective-set.ts';
import { createDescriptionMatcher } from './tool-descriptions.ts';

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
