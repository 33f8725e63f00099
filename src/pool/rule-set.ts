/** A workspace's effective rule set in the form that crosses to a worker: a mask and its digest. */
import { decide, ruleSetDigest } from '../engine/rules/effective-set.ts';
import type { Rule, RuleSettings, Snapshot } from '../model/rules.ts';
import type { RuleSet } from './tasks.ts';

/**
 * @param rules every rule that can run for anyone, in the order the workers have them
 * @param settings what the workspace has decided
 */
export function ruleSetOf(
  rules: readonly Rule[],
  snapshot: Snapshot,
  settings: RuleSettings,
): RuleSet {
  const mask = Uint8Array.from(rules, (rule) => (decide(rule, settings).enabled ? 1 : 0));
  const ids = rules.filter((_, index) => mask[index] === 1).map(({ id }) => id);
  return { mask, ruleSetSha256: ruleSetDigest(snapshot, ids) };
}
