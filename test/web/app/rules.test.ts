/** Rules: the upgrade card, who has switches, and that a refused rule has none. */
import { describe, expect, test } from 'vitest';

import { NO_RECORD } from '../../../src/model/findings.ts';
import {
  RULE_STATES,
  type Rule,
  STATE_LABELS,
  SUPPORT_LABELS,
  SUPPORTS,
} from '../../../src/model/rules.ts';
import { rulePage } from '../../../src/web/app/rule.ts';
import {
  type DecidedRule,
  type RulesPage,
  rulesPage,
  upgradePage,
} from '../../../src/web/app/rules.ts';
import { HOSTILE, holdsAsText, LOOK, MEMBER, NOW_MS, rule, ruleFacts, viewer } from './fixtures.ts';

function decided(fields: Partial<DecidedRule> = {}): DecidedRule {
  return {
    rule: rule(),
    enabled: true,
    decidedBy: 'tier',
    state: 'as_written',
    override: null,
    ...fields,
  };
}

function data(fields: Partial<RulesPage> = {}): RulesPage {
  return {
    ...ruleFacts(),
    tier: { last: null, open: null, noisy: [] },
    rules: [decided()],
    records: new Map(),
    nowMs: NOW_MS,
    query: '',
    page: 1,
    pages: 1,
    total: 1,
    ...fields,
  };
}

const page = (fields: Partial<RulesPage> = {}, who = viewer()): string =>
  rulesPage(LOOK, who, data(fields)).text;

const RESET = 'action="/app/rules/reset?workspace=crew"';

describe('on a plan without the rules tab', () => {
  const free = viewer({ plan: 'free' });

  test('a card says what the plan has, what runs, and shows no rule', () => {
    const { text } = upgradePage(LOOK, free, ruleFacts());
    expect(text).toContain('Available on the Team plan');
    expect(text).toContain('on the free plan');
    expect(text).toContain('href="/app/incidents"');
    expect(text).toContain('51 of 1,800 rules run');
    expect(text).not.toMatch(/ATR-\d|\/app\/rules\?|settings still apply/);
    expect(text).not.toContain(RESET);
  });

  test('settings of an earlier plan are named, and removed by an owner', () => {
    const kept = ruleFacts({ experimental: true, overrides: 2 });
    const { text } = upgradePage(LOOK, free, kept);
    expect(text).toContain('These settings still apply on the free plan.');
    expect(text).toContain('The experimental tier is on; 2 rules are set manually.');
    expect(text).toContain(RESET);
    const admin = upgradePage(LOOK, viewer({ plan: 'free', role: 'admin' }), kept).text;
    expect(admin).toContain('Only an owner can reset the rules.');
    expect(admin).not.toContain(RESET);
  });
});

describe('the list', () => {
  test('counts the rules of the workspace by state, beside those of the corpus', () => {
    const text = page();
    expect(text).toContain('51 of 1,800 rules run');
    const { states, corpus } = ruleFacts();
    const row = (query: string, label: string, number: number) =>
      new RegExp(
        `<a href="/app/rules\\?${query}">${label}</a>(?:(?!<tr)[\\s\\S])*<td class="number">${number.toLocaleString(
          'en-US',
        )}</td>`,
      );
    for (const state of RULE_STATES) {
      expect(text).toMatch(row(`state=${state}`, STATE_LABELS[state], states[state]));
    }
    for (const support of SUPPORTS) {
      expect(text).toMatch(row(`support=${support}`, SUPPORT_LABELS[support], corpus[support]));
    }
  });

  test('names the corpus by its identity', () => {
    expect(page()).toMatch(/Corpus 4\.0\.0 \(<code title="identity [0-9a-f]{40}">0123456789ab</);
  });

  test('lists settings without effect, with their removal', () => {
    expect(page()).not.toContain('Settings without effect');
    const orphan = {
      ruleId: 'ATR-2020-00001',
      enabled: false,
      reason: 'not_in_snapshot',
      detail: 'ATR-2020-00001 is not a rule of this snapshot',
    } as const;
    const text = page({ orphans: [orphan], overrides: 1 });
    expect(text).toContain('ATR-2020-00001 is not a rule of this snapshot');
    expect(text).toContain('action="/app/rules/ATR-2020-00001?workspace=crew"');
    expect(page({ orphans: [orphan] }, MEMBER)).not.toContain('action="/app/rules/ATR-2020');
  });

  test('links to other pages with its filter', () => {
    const text = page({ query: 'q=key&page=2', page: 2, pages: 3 });
    expect(text).toContain('href="/app/rules?q=key&amp;page=1">Previous');
    expect(text).toContain('href="/app/rules?q=key&amp;page=3">Next');
    expect(text).toContain('Page 2 of 3');
  });

  test('marks the quality that its authors state, and offers the noisiest first', () => {
    expect(page()).toMatch(/<strong class="medium">52\.6% false positives<\/strong>/);
    expect(page()).toContain('confidence 57, maturity test');
    expect(page({ query: 'sort=noise' })).toContain('<option value="noise" selected>');
    const { quality } = rule();
    const quiet = rule({ quality: { ...quality, wildFpRate: 0.0019, maturity: null } });
    expect(page({ rules: [decided({ rule: quiet })] })).toContain('&lt;0.01% false positives');
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
    expect(text).toContain('value="false" aria-pressed="true">Off</button>');
    expect(text).toContain('value="true" aria-pressed="false">On</button>');
    expect(text).toContain('value="null" aria-pressed="false">Default</button>');
    expect(text).toContain('<form method="post" action="/app/rules?workspace=crew" data-stay>');
  });

  test('are not for members, who see how they stand', () => {
    const text = page({ rules: [decided({ override: true })] }, MEMBER);
    expect(text).not.toContain('<form class="switch"');
    expect(text).not.toContain('data-api');
    expect(text).toContain('<span class="soft">On</span>');
  });

  const REFUSED = [
    [rule({ status: 'draft' }), 'draft_or_deprecated', 'draft or deprecated'],
    [rule({ support: 'unsupported' }), 'unsupported', 'not supported'],
    [rule({ support: 'fails_own_examples' }), 'fails_own_examples', 'fails its own tests'],
  ] as const;

  test.each(REFUSED)('are missing on a rule that cannot run: %#', (refused, state, why) => {
    const off = { rule: refused, enabled: false, state };
    const text = page({ rules: [decided(off)] });
    expect(text).not.toContain(SWITCH);
    expect(text).toContain('Cannot be switched on');
    expect(text).toContain(`Off</span> <span class="soft below">${why}`);
    expect(text).not.toContain('Remove<span');
    expect(page({ rules: [decided({ ...off, override: false })] })).toContain('Remove<span');
  });

  test.each([
    [{}, 'On (default)'],
    [{ decidedBy: 'override', override: true }, 'On (set manually)'],
    [{ enabled: false, state: 'off_by_tier' }, 'the experimental tier is off'],
    [
      { enabled: false, decidedBy: 'override', state: 'off_by_override', override: false },
      'set manually',
    ],
  ] as const)('say whether a rule runs, and why: %j', (fields, words) => {
    expect(page({ rules: [decided(fields)] })).toContain(words);
  });
});

describe('a rule', () => {
  test('links what it refers to, and shows nothing where it refers to nothing', () => {
    const references = { mitre_atlas: ['AML.T0054 - LLM <Jailbreak>'], research: ['javascript:1'] };
    const { text } = rulePage(LOOK, viewer(), decided({ rule: rule({ references }) }));
    expect(text).toContain(
      '<a href="https://atlas.mitre.org/techniques/AML.T0054" rel="noreferrer">AML.T0054</a> LLM &lt;Jailbreak&gt;',
    );
    expect(text).not.toContain('href="javascript');
    expect(rulePage(LOOK, viewer(), decided()).text).not.toContain('<h2>References</h2>');
  });

  test('explains why it is partly supported, and which condition was lost', () => {
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
    expect(text).toContain('Why it is partly supported');
    expect(text).toContain('<span class="medium">needs a look-ahead</span>');
    expect(text).toContain('any one must match');
  });

  test('says how its own tests ended, and that those of an unsupported rule were not run', () => {
    const about = (support: Rule['support']) =>
      rulePage(LOOK, viewer(), decided({ rule: rule({ support }) })).text;
    expect(about('as_written')).toContain('3 must match, 4 must not match: all pass');
    expect(about('unsupported')).toContain('not run, because the rule is not supported');
    expect(about('unsupported')).not.toContain('all pass');
  });

  test('shows what it found in thirty days, and how much of it people called false', () => {
    const shown = (findings: number, falsePositives: number) => {
      const record = { ...NO_RECORD, findings, falsePositives };
      return rulePage(LOOK, viewer(), decided(), { last: null, record, nowMs: 0 }).text;
    };
    expect(shown(1200, 7)).toContain('1,200 findings, 7 false positives');
    expect(shown(0, 0)).toContain('no findings');
    expect(shown(0, 0)).not.toContain('Matcher time');
    const timed = { ...NO_RECORD, matcherShare: 0.031, matcherUs: 1500 };
    const text = rulePage(LOOK, viewer(), decided(), { last: null, record: timed, nowMs: 0 }).text;
    expect(text).toContain('3.1% of all rules, 1,500 µs a search');
  });

  test('shows which of its own tests fail', () => {
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

test('a rule shows what it found in thirty days, and the list can be sorted by it', () => {
  const lastSeenAt = new Date(NOW_MS - 2 * 3_600_000);
  const records = new Map([
    [
      rule().id,
      { findings: 1200, falsePositives: 3, lastSeenAt, matcherShare: 0.125, matcherUs: 41.6 },
    ],
  ]);
  const text = page({ records, query: 'status=stable&page=2' });
  expect(text).toContain(
    '<a href="/app/findings?rule_id=ATR-2026-00001&amp;state=all">1,200</a> <span class="below">3 false</span>',
  );
  expect(text).toContain('12.5% <span class="soft below">42 µs</span>');
  expect(text).toContain('href="/app/rules?status=stable&amp;sort=findings"');
  expect(text).not.toContain('aria-sort');
  expect(page({ query: 'sort=findings' })).toMatch(/aria-sort="descending"><a [^>]*>Findings/);
  expect(page()).toContain('<span class="soft">none</span>');
});
