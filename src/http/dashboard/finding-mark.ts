/** Locates a finding's hit in its excerpt, by the condition of the rule that found it. */
import type { Finding } from '../../model/findings.ts';
import type { Rule } from '../../model/rules.ts';
import type { MarkedRange } from '../../web/app/finding.ts';

/**
 * @param locate finds a pattern's hit in an excerpt
 * @returns null without an excerpt, when the snapshot has another version of the rule, and when the
 *   excerpt is too short to locate the hit
 */
export function marker(
  rules: readonly Rule[],
  locate: (pattern: string, excerpt: string) => MarkedRange | null,
): (finding: Finding) => MarkedRange | null {
  const byId = new Map(rules.map((rule) => [rule.id, rule]));
  return ({ ruleId, ruleVersion, conditionIndex, excerpt }) => {
    const rule = byId.get(ruleId);
    // Another version may have other conditions.
    if (rule === undefined || rule.version !== ruleVersion) return null;
    const condition = rule.conditions.find(({ index }) => index === conditionIndex);
    return condition === undefined || excerpt === null ? null : locate(condition.pattern, excerpt);
  };
}
