/** Where a finding's hit stands in its excerpt, by the condition of the rule that found it. */
import type { Finding, Rule } from '../../model.ts';
import type { MarkedRange } from '../../web/app/finding.ts';

/**
 * @param locate where a pattern hits in an excerpt
 * @returns null when there is no excerpt, the rule is no longer in the snapshot as it was, or the excerpt alone
 *   does not tell
 */
export function marker(
  rules: readonly Rule[],
  locate: (pattern: string, excerpt: string) => MarkedRange | null,
): (finding: Finding) => MarkedRange | null {
  const byId = new Map(rules.map((rule) => [rule.id, rule]));
  return ({ ruleId, ruleVersion, conditionIndex, excerpt }) => {
    const rule = byId.get(ruleId);
    // Another version may ask something else.
    if (rule === undefined || rule.version !== ruleVersion) return null;
    const condition = rule.conditions.find(({ index }) => index === conditionIndex);
    return condition === undefined || excerpt === null ? null : locate(condition.pattern, excerpt);
  };
}
