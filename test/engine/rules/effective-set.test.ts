import { describe, expect, it } from 'vitest';
import {
  decide,
  orphanedOverrides,
  refusal,
  ruleSetDigest,
  runnableRules,
  stateCounts,
  supportCounts,
} from '../../../src/engine/rules/effective-set.ts';
import type { Rule } from '../../../src/model/rules.ts';
import { someOf } from '../../support/cases.ts';
import { keptMatching } from '../../support/kept-catalogue.ts';
import { tinyRule } from '../tiny-rules.ts';

const base = tinyRule({ conditions: [['content', 'a']] });
const rule = (parts: Partial<Rule>): Rule => ({ ...base, ...parts });
const settings = (experimental: boolean, override?: boolean) => ({
  experimental,
  overrides: new Map(override === undefined ? [] : [[base.id, override]]),
});

describe('decide', () => {
  it.each([
    ['unsupported, forced on', { support: 'unsupported' }, true, true, 'support', 'unsupported'],
    [
      'fails, forced on',
      { support: 'fails_own_examples' },
      true,
      true,
      'own_examples',
      'fails_own_examples',
    ],
    [
      'unsupported draft',
      { support: 'unsupported', status: 'draft' },
      true,
      true,
      'support',
      'unsupported',
    ],
    ['draft, forced on', { status: 'draft' }, true, true, 'tier', 'draft_or_deprecated'],
    ['deprecated, forced on', { status: 'deprecated' }, true, true, 'tier', 'draft_or_deprecated'],
    ['stable', {}, false, undefined, 'tier', 'as_written'],
    ['stable, switched off', {}, true, false, 'override', 'off_by_override'],
    ['degraded stable', { support: 'degraded' }, false, undefined, 'tier', 'degraded'],
    ['experimental', { status: 'experimental' }, false, undefined, 'tier', 'off_by_tier'],
    ['experimental, tier on', { status: 'experimental' }, true, undefined, 'tier', 'as_written'],
    [
      'experimental, switched on',
      { status: 'experimental' },
      false,
      true,
      'override',
      'as_written',
    ],
    [
      'experimental, switched off',
      { status: 'experimental' },
      true,
      false,
      'override',
      'off_by_override',
    ],
  ] as const)('%s', (_name, parts, experimental, override, decidedBy, state) => {
    const enabled = state === 'as_written' || state === 'degraded';
    expect(decide(rule(parts), settings(experimental, override))).toEqual({
      enabled,
      decidedBy,
      state,
    });
  });
});

describe('refusal', () => {
  it.each([
    [{ status: 'draft' }, 'status_refused'],
    [{ status: 'deprecated', support: 'unsupported' }, 'engine_unsupported'],
    [{ status: 'draft', support: 'fails_own_examples' }, 'fails_own_examples'],
    [{ support: 'unsupported' }, 'engine_unsupported'],
    [{ support: 'fails_own_examples' }, 'fails_own_examples'],
  ] as const)('%o', (parts, reason) => {
    expect(refusal(rule(parts))).toMatchObject({
      reason,
      detail: expect.stringContaining(base.id),
    });
  });

  it('allows overrides of a rule that can run', () => {
    expect(refusal(rule({ status: 'experimental', support: 'degraded' }))).toBeNull();
  });
});

describe('every rule of the corpus, under every setting', () => {
  const { rules } = keptMatching().catalog;
  const DECIDER = {
    engine_unsupported: 'support',
    fails_own_examples: 'own_examples',
    status_refused: 'tier',
  } as const;
  const everySetting = (id: string) =>
    [false, true].flatMap((experimental) =>
      [undefined, false, true].map((override) => ({
        experimental,
        overrides: new Map(override === undefined ? [] : [[id, override]]),
        override,
      })),
    );

  it('is decided by what the refusal of an override names', () => {
    for (const rule of someOf(rules)) {
      const refused = refusal(rule);
      for (const { override, ...under } of someOf(everySetting(rule.id))) {
        const { enabled, decidedBy, state } = decide(rule, under);
        if (refused !== null) {
          expect({ enabled, decidedBy }, rule.id).toEqual({
            enabled: false,
            decidedBy: DECIDER[refused.reason],
          });
        } else {
          expect(decidedBy, rule.id).toBe(override === undefined ? 'tier' : 'override');
          const byTier = rule.status === 'stable' || under.experimental;
          expect(enabled, rule.id).toBe(override ?? byTier);
        }
        expect(enabled, rule.id).toBe(state === 'as_written' || state === 'degraded');
        const orphans = orphanedOverrides(rules, under);
        const isOrphan = refused !== null && override !== undefined;
        expect(orphans, rule.id).toEqual(
          isOrphan ? [{ ruleId: rule.id, enabled: override, ...refused }] : [],
        );
      }
    }
  });

  it('is counted in one state: the counts add up, and follow the settings', () => {
    const one = rules.find((rule) => rule.status === 'stable' && refusal(rule) === null);
    const overrides = new Map([[one?.id ?? '', false]]);
    const sum = (counts: object) => Object.values(counts).reduce((all, count) => all + count, 0);
    const normal = stateCounts(rules, settings(false));
    const tier = stateCounts(rules, settings(true));
    const byHand = stateCounts(rules, { experimental: true, overrides });
    for (const counts of [normal, tier, byHand]) expect(sum(counts)).toBe(rules.length);
    expect(normal.off_by_tier).toBeGreaterThan(0);
    expect(tier.off_by_tier).toBe(0);
    expect(tier.as_written + tier.degraded).toBe(runnableRules(rules).length);
    expect(byHand.off_by_override).toBe(1);
    expect(byHand.as_written + byHand.degraded).toBe(runnableRules(rules).length - 1);
  });

  it('overrides of rules that the snapshot does not have are orphans', () => {
    const overrides = new Map([['ATR-2020-00001', true]]);
    expect(orphanedOverrides(rules, { overrides })).toEqual([
      {
        ruleId: 'ATR-2020-00001',
        enabled: true,
        reason: 'not_in_snapshot',
        detail: 'ATR-2020-00001 is not a rule of this snapshot',
      },
    ]);
  });
});

describe('supportCounts', () => {
  it('counts every class, also the empty ones', () => {
    expect(supportCounts([base, base, rule({ support: 'degraded' })])).toEqual({
      as_written: 2,
      degraded: 1,
      unsupported: 0,
      fails_own_examples: 0,
    });
  });
});

describe('ruleSetDigest', () => {
  const snapshot = { version: '1', date: '2026-01-01', files: 1, sha256: 'ab', identity: 'cd' };

  it('does not depend on order, and depends on everything else', () => {
    const digest = ruleSetDigest(snapshot, ['a', 'b']);
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(ruleSetDigest(snapshot, ['b', 'a'])).toBe(digest);
    expect(ruleSetDigest(snapshot, ['a'])).not.toBe(digest);
    expect(ruleSetDigest({ ...snapshot, sha256: 'cd' }, ['a', 'b'])).not.toBe(digest);
  });
});

it('runnable is what some workspace can have run', () => {
  const all: Partial<Rule>[] = [
    { id: 'a' },
    { id: 'b', status: 'experimental', support: 'degraded' },
    { id: 'c', status: 'draft' },
    { id: 'd', status: 'deprecated' },
    { id: 'e', support: 'unsupported' },
    { id: 'f', support: 'fails_own_examples' },
  ];
  expect(runnableRules(all.map(rule)).map(({ id }) => id)).toEqual(['a', 'b']);
});
