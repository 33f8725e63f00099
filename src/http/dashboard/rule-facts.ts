/** Facts of a workspace's rules that several pages show. */
import type { RuleBook, RuleSettings } from '../../model/rules.ts';
import type { RuleFacts } from '../../web/app/rule-counts.ts';
import { ORPHANS_LISTED } from '../api/rules/rule-routes.ts';

export function ruleFactsOf(
  { snapshot, counts, countStates, orphans }: RuleBook,
  settings: RuleSettings,
): RuleFacts {
  const { experimental, overrides } = settings;
  return {
    snapshot,
    corpus: counts,
    states: countStates(settings),
    experimental,
    overrides: overrides.size,
    orphans: orphans(settings).slice(0, ORPHANS_LISTED),
  };
}
