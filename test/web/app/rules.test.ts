/** Rules: the upgrade card, who has switches, and that a refused rule has none. */
import { describe, expect, test } from 'vitest';

import { rulePage } from '../../../src/web/app/rule.ts';
import {
  type DecidedRule,
  type RulesPage,
  rulesPage,
  upgradePage,
} from '../../../src/web/app/rules.ts';
import { HOSTILE, holdsAsText, LOOK, MEMBER, rule, viewer } from './fixtures.ts';

function decided(fields: Partial<DecidedRule> = {}): DecidedRule {
  return { rule: rule(), enabled: true, decidedBy: 'tier', override: null, ...fields };
}

function data(fields: Partial<RulesPage> = {}): RulesPage {
  return {
    snapshot: { version: '4.0.0', date: '2026-09-19', files: 825, sha256: 'a'.repeat(64) },
    counts: { as_written: 657, degraded: 10, unsupported: 53, fails_own_examples: 1065 },
    experimental: false,
    rules: [decided()],
    query: '',
    page: 1,
    pages: 1,
    total: 1,
    ...fields,
  };
}

const page = (fields: Partial<RulesPage> = {}, who = viewer()): string =>
  rulesPage(LOOK, who, data(fields)).text;

test('on a plan without the rules a card says what the plan has, and no rule is shown', () => {
  const { text } = upgradePage(LOOK, viewer({ plan: 'free' }));
  expect(text).toContain('Part of the Team plan');
  expect(text).toContain('on the free plan');
  expect(text).toContain('href="/app/findings"');
  expect(text).not.toMatch(/ATR-\d|<table/);
});

describe('the list', () => {
  test('counts rules by what the engine makes of them', () => {
    const text = page();
    for (const [support, number] of [
      ['as_written', '657'],
      ['degraded', '10'],
      ['unsupported', '53'],
      ['fails_own_examples', '1,065'],
    ]) {
      expect(text).toContain(`<a href="/app/rules?support=${support}">${number}</a>`);
    }
  });

  test('links to other pages with its filter', () => {
    const text = page({ query: 'q=key&page=2', page: 2, pages: 3 });
    expect(text).toContain('href="/app/rules?q=key&amp;page=1">Previous');
    expect(text).toContain('href="/app/rules?q=key&amp;page=3">Next');
    expect(text).toContain('page 2 of 3');
  });

  test('says so when no rule fits', () => {
    expect(page({ rules: [], total: 0 })).toContain('No rule matches this filter');
  });
});

describe('switches', () => {
  const SWITCH =
    '<form class="switch" method="post" action="/app/rules/ATR-2026-00001?workspace=crew"';

  test('are buttons of a form, the one that counts pressed', () => {
    const text = page({ rules: [decided({ override: false, enabled: false })] });
    expect(text).toContain(SWITCH);
    expect(text).toContain('value="false" aria-pressed="true">off</button>');
    expect(text).toContain('value="true" aria-pressed="false">on</button>');
    expect(text).toContain('value="null" aria-pressed="false">by tier</button>');
    expect(text).toContain('<form method="post" action="/app/rules?workspace=crew" data-stay>');
  });

  test('are not for members, who see how they stand', () => {
    const text = page({ rules: [decided({ override: true })] }, MEMBER);
    expect(text).not.toContain('<form class="switch"');
    expect(text).not.toContain('data-api');
    expect(text).toContain('<span class="soft">on</span>');
  });

  test.each([
    rule({ status: 'draft' }),
    rule({ status: 'deprecated' }),
    rule({ support: 'unsupported' }),
    rule({ support: 'fails_own_examples' }),
  ])('are missing where nobody may switch: $status, $support', (refused) => {
    const text = page({ rules: [decided({ rule: refused, enabled: false })] });
    expect(text).not.toContain(SWITCH);
    expect(text).toContain('cannot be switched');
  });
});

describe('a rule', () => {
  test('explains why it runs degraded, and which condition was lost', () => {
    const reason = { code: 'lookaround', message: 'needs a look-ahead' };
    const [condition] = rule().conditions;
    if (condition === undefined) throw new Error('the rule has a condition');
    const lost = { ...condition, supported: false, reason };
    const degraded = rule({
      support: 'degraded',
      conditions: [lost],
      unsupportedReasons: [reason],
    });
    const { text } = rulePage(LOOK, viewer(), decided({ rule: degraded }));
    expect(text).toContain('Why it runs degraded');
    expect(text).toContain('<span class="medium">needs a look-ahead</span>');
    expect(text).toContain('any one is enough');
  });

  test('tells which of its own examples fail', () => {
    const failed = [{ kind: 'true_positive', index: 2, why: 'did not match' }] as const;
    const failing = rule({ ownExamples: { truePositives: 3, trueNegatives: 4, failed } });
    const { text } = rulePage(LOOK, viewer(), decided({ rule: failing }));
    expect(text).toContain('<li>true positive 3: did not match</li>');
  });

  test('is text, whatever the corpus contains', () => {
    const hostile = rule({
      title: HOSTILE,
      description: HOSTILE,
      author: HOSTILE,
      conditions: rule().conditions.map((one) => ({ ...one, pattern: HOSTILE })),
    });
    expect(holdsAsText(rulePage(LOOK, viewer(), decided({ rule: hostile })).text)).toBe(true);
  });
});
