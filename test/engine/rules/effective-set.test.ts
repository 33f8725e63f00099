import { describe, expect, it } from 'vitest';
import {
  decide,
  refusal,
  ruleSetDigest,
  runnableRules,
  supportCounts,
} from '../../../src/engine/rules/effective-set.ts';
import type { Rule } from '../../../src/model/rules.ts';
import { tinyRule } from '../tiny-rules.ts';

const base = tinyRule({ conditions: [['content', 'a']] });
const rule = (parts: Partial<Rule>): Rule => ({ ...base, ...parts });
const settings = (experimental: boolean, override?: boolean) => ({
  experimental,
  overrides: new Map(override === undefined ? [] : [[base.id, override]]),
});

describe('decide', () => {
  it.each([
    ['unsupported, forced on', { support: 'unsupported' }, true, true, false, 'support'],
    ['fails, forced on', { support: 'fails_own_examples' }, true, true, false, 'own_examples'],
    [
      'unsupported draft',
      { support: 'unsupported', status: 'draft' },
      true,
      true,
      false,
      'support',
    ],
    ['draft, forced on', { status: 'draft' }, true, true, false, 'tier'],
    ['deprecated, forced on', { status: 'deprecated' }, true, true, false, 'tier'],
    ['stable', {}, false, undefined, true, 'tier'],
    ['stable, switched off', {}, true, false, false, 'override'],
    ['degraded stable', { support: 'degraded' }, false, undefined, true, 'tier'],
    ['experimental', { status: 'experimental' }, false, undefined, false, 'tier'],
    ['experimental, tier on', { status: 'experimental' }, true, undefined, true, 'tier'],
    ['experimental, switched on', { status: 'experimental' }, false, true, true, 'override'],
    ['experimental, switched off', { status: 'experimental' }, true, false, false, 'override'],
  ] as const)('%s', (_name, parts, experimental, override, enabled, decidedBy) => {
    expect(decide(rule(parts), settings(experimental, override))).toEqual({ enabled, decidedBy });
  });
});

describe('refusal', () => {
  it.each([
    [{ status: 'draft' }, 'status_refused'],
    [{ status: 'deprecated', support: 'unsupported' }, 'status_refused'],
    [{ support: 'unsupported' }, 'engine_unsupported'],
    [{ support: 'fails_own_examples' }, 'fails_own_examples'],
  ] as const)('%o', (parts, reason) => {
    expect(refusal(rule(parts))).toMatchObject({
      reason,
      detail: expect.stringContaining(base.id),
    });
  });

  it('lets a runnable rule be switched', () => {
    expect(refusal(rule({ status: 'experimental', support: 'degraded' }))).toBeNull();
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
  const snapshot = { version: '1', date: '2026-01-01', files: 1, sha256: 'ab' };

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
