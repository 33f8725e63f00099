/**
 * Owns the decision whether a rule runs for a workspace, in the specification's order: engine
 * support, own examples, tier, override. Pure functions of a rule and the workspace's settings.
 *
 * Must never let an override enable a rule that the engine or the corpus excludes.
 */
import { createHash } from 'node:crypto';
import {
  type DecidedBy,
  exampleFailure,
  type OrphanedOverride,
  RULE_STATES,
  type Rule,
  type RuleRefusal,
  type RuleSettings,
  type RuleState,
  type Snapshot,
  type StateCounts,
  type SupportCounts,
} from '../../model/rules.ts';

interface Decision {
  readonly enabled: boolean;
  readonly decidedBy: DecidedBy;
  readonly state: RuleState;
}

/** The obstacle that keeps a rule from running in any workspace: the decision, and the reason of the 409. */
interface Barrier {
  readonly decision: Decision;
  readonly reason: RuleRefusal['reason'];
}

const UNSUPPORTED: Barrier = {
  decision: { enabled: false, decidedBy: 'support', state: 'unsupported' },
  reason: 'engine_unsupported',
};
const FAILING: Barrier = {
  decision: { enabled: false, decidedBy: 'own_examples', state: 'fails_own_examples' },
  reason: 'fails_own_examples',
};
const UNPUBLISHED: Barrier = {
  decision: { enabled: false, decidedBy: 'tier', state: 'draft_or_deprecated' },
  reason: 'status_refused',
};

/** The first barrier in the specification's order, for decision and refusal alike. */
function barrierOf({ support, status }: Pick<Rule, 'support' | 'status'>): Barrier | null {
  if (support === 'unsupported') return UNSUPPORTED;
  if (support === 'fails_own_examples') return FAILING;
  return status === 'draft' || status === 'deprecated' ? UNPUBLISHED : null;
}

/** Checks whether the rule runs for a workspace with these settings, and what decided it. */
export function decide(
  rule: Pick<Rule, 'id' | 'status' | 'support'>,
  { experimental, overrides }: RuleSettings,
): Decision {
  const barrier = barrierOf(rule);
  if (barrier !== null) return barrier.decision;
  const override = overrides.get(rule.id);
  const enabled = override ?? (rule.status === 'stable' || experimental);
  const decidedBy = override === undefined ? 'tier' : 'override';
  if (!enabled) return { enabled, decidedBy, state: `off_by_${decidedBy}` };
  return { enabled, decidedBy, state: rule.support === 'degraded' ? 'degraded' : 'as_written' };
}

/** Why this rule cannot run, and so not be overridden, in any workspace; null if it can. */
export function refusal(rule: Rule): RuleRefusal | null {
  const barrier = barrierOf(rule);
  return barrier === null ? null : { reason: barrier.reason, detail: detailOf(rule, barrier) };
}

function detailOf(rule: Rule, { reason }: Barrier): string {
  const { id, status, unsupportedReasons, ownExamples } = rule;
  switch (reason) {
    case 'engine_unsupported':
      return `${id} cannot run here: ${unsupportedReasons.map(({ message }) => message).join('; ')}`;
    case 'fails_own_examples':
      return `${id} ${exampleFailure(ownExamples)} on this engine`;
    case 'status_refused':
      return `${id} is ${status} in the corpus; such rules never run`;
  }
}

export function stateCounts(rules: readonly Rule[], settings: RuleSettings): StateCounts {
  const counts = Object.fromEntries(RULE_STATES.map((state) => [state, 0])) as Record<
    RuleState,
    number
  >;
  for (const rule of rules) counts[decide(rule, settings).state] += 1;
  return counts;
}

/**
 * The overrides that have no effect, by rule id.
 * @param rules all rules of the snapshot
 */
export function orphanedOverrides(
  rules: readonly Rule[],
  { overrides }: Pick<RuleSettings, 'overrides'>,
): OrphanedOverride[] {
  if (overrides.size === 0) return [];
  const known = new Map(rules.map((rule) => [rule.id, rule]));
  return [...overrides]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([ruleId, enabled]) => {
      const rule = known.get(ruleId);
      if (rule === undefined) {
        const detail = `${ruleId} is not a rule of this snapshot`;
        return { ruleId, enabled, reason: 'not_in_snapshot', detail };
      }
      const why = refusal(rule);
      return why === null ? [] : { ruleId, enabled, ...why };
    });
}

/** The rules that can be enabled. Matchers are created for these. */
export function runnableRules(rules: readonly Rule[]): Rule[] {
  return rules.filter((rule) => refusal(rule) === null);
}

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
