/**
 * Owns the decision whether a rule runs for a workspace, in the specification's order: engine
 * support, own examples, tier, override. Pure functions of a rule and the workspace's settings.
 *
 * Must never let an override enable a rule that the engine or the corpus excludes.
 */
import { createHash } from 'node:crypto';
import type { DecidedBy, Rule, RuleSettings, Snapshot, SupportCounts } from '../../model/rules.ts';

interface Decision {
  readonly enabled: boolean;
  readonly decidedBy: DecidedBy;
}

/** Why a rule cannot be enabled (409), in words for the user. */
interface OverrideRefusal {
  readonly reason: 'status_refused' | 'engine_unsupported' | 'fails_own_examples';
  readonly detail: string;
}

/** Whether the rule runs for a workspace with these settings, and what decided it. */
export function decide(rule: Rule, settings: RuleSettings): Decision {
  if (rule.support === 'unsupported') return { enabled: false, decidedBy: 'support' };
  if (rule.support === 'fails_own_examples') return { enabled: false, decidedBy: 'own_examples' };
  if (neverRuns(rule)) return { enabled: false, decidedBy: 'tier' };
  const override = settings.overrides.get(rule.id);
  if (override !== undefined) return { enabled: override, decidedBy: 'override' };
  return { enabled: rule.status === 'stable' || settings.experimental, decidedBy: 'tier' };
}

/** Why this rule cannot be enabled in any workspace; null if it can. */
export function refusal(rule: Rule): OverrideRefusal | null {
  if (neverRuns(rule)) {
    return {
      reason: 'status_refused',
      detail: `${rule.id} is ${rule.status} in the corpus; such rules never run`,
    };
  }
  if (rule.support === 'unsupported') {
    const reasons = rule.unsupportedReasons.map((reason) => reason.message).join('; ');
    return { reason: 'engine_unsupported', detail: `${rule.id} cannot run here: ${reasons}` };
  }
  if (rule.support === 'fails_own_examples') {
    const { truePositives, trueNegatives, failed } = rule.ownExamples;
    return {
      reason: 'fails_own_examples',
      detail:
        `${rule.id} fails ${failed.length} of its own ` +
        `${truePositives + trueNegatives} test cases on this engine`,
    };
  }
  return null;
}

/** The rules that can be enabled. Matchers are created for these. */
export function runnableRules(rules: readonly Rule[]): Rule[] {
  return rules.filter((rule) => refusal(rule) === null);
}

/** The number of rules per support class. */
export function supportCounts(rules: readonly Rule[]): SupportCounts {
  const counts = { as_written: 0, degraded: 0, unsupported: 0, fails_own_examples: 0 };
  for (const { support } of rules) counts[support] += 1;
  return counts;
}

/**
 * The digest of a set of rules of a snapshot, stored with the runs that were evaluated with it.
 * @param ruleIds in any order, without repetition
 * @returns 64 lower-case hexadecimal digits
 */
export function ruleSetDigest(snapshot: Snapshot, ruleIds: Iterable<string>): string {
  const lines = [snapshot.sha256, ...[...ruleIds].sort()];
  return createHash('sha256').update(lines.join('\n')).digest('hex');
}

function neverRuns(rule: Rule): boolean {
  return rule.status === 'draft' || rule.status === 'deprecated';
}
