/** The page that says how much of the corpus runs, and the sentence about each rule. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { coveragePage } from '../../src/cli/coverage.ts';
import { activationOf, verdictOf } from '../../src/cli/verdict.ts';
import type { Catalog } from '../../src/engine/rules/catalog.ts';
import { refusal, runnableRules, stateCounts } from '../../src/engine/rules/effective-set.ts';
import type { Rule } from '../../src/model/rules.ts';
import { tinyRule } from '../engine/tiny-rules.ts';
import { someOf } from '../support/cases.ts';
import { keptMatching } from '../support/kept-catalogue.ts';

const ROOT = join(import.meta.dirname, '../..');

let catalog: Catalog;
beforeAll(() => {
  ({ catalog } = keptMatching());
});

test('docs/rules-coverage.md says what is so today (else: sluice corpus refresh)', () => {
  expect(readFileSync(join(ROOT, 'docs/rules-coverage.md'), 'utf8')).toBe(coveragePage(catalog));
});

test('the headline counts the rules that can run, and not the draft and deprecated ones', () => {
  const { rules } = catalog;
  const can = runnableRules(rules);
  const drafts = stateCounts(rules, { experimental: true, overrides: new Map() });
  const page = coveragePage(catalog);
  expect(drafts.draft_or_deprecated).toBeGreaterThan(0);
  expect(page).toContain(`**${can.length} of ${rules.length} rules can run**`);
  const supported = can.length + drafts.draft_or_deprecated;
  expect(page).toContain(
    `The engine supports ${supported} rules; ${drafts.draft_or_deprecated} of`,
  );
});

test('the page names every rule that does not run as written, and no pattern', () => {
  const page = coveragePage(catalog);
  const [classes = '', evasion = ''] = page.split('## Evasion tests');
  for (const { id, support } of catalog.rules) {
    expect(classes.includes(`| ${id} |`), id).toBe(support !== 'as_written');
  }
  expect(page).not.toContain('(?i)');
  // Written down when the texts were first measured; a refresh of the corpus changes it.
  expect(evasion).toMatch(/ 247 of 276 that are marked as found are found/);
});

test('docs/matching.md says how many prompt-injection rules read user input only', () => {
  const page = readFileSync(join(ROOT, 'docs/matching.md'), 'utf8');
  const said = /<!-- fields -->(.*?)<!-- \/fields -->/s.exec(page)?.[1] ?? '';
  const running = runnableRules(catalog.rules).filter(
    ({ category }) => category === 'prompt-injection',
  );
  const readsInputOnly = ({ conditions }: Rule) =>
    conditions.every(({ supported, field }) => !supported || field === 'user_input');
  const stable = running.filter(({ status }) => status === 'stable');
  expect(said.match(/\d+/g)?.map(Number)).toEqual([
    running.length,
    running.filter(readsInputOnly).length,
    stable.filter(readsInputOnly).length,
    stable.length,
    running.filter((rule) => !readsInputOnly(rule)).length,
  ]);
});

test('a rule never runs exactly when switching it on is refused', () => {
  for (const rule of someOf(catalog.rules)) {
    expect(activationOf(rule) === 'never', rule.id).toBe(refusal(rule) !== null);
    expect(verdictOf(rule).startsWith('Never'), rule.id).toBe(refusal(rule) !== null);
  }
});

test.each([
  [
    'stable',
    { status: 'stable', conditions: [['content', 'a']] },
    'Fully supported. On by default; a workspace can switch it off.',
  ],
  [
    'degraded',
    {
      conditions: [
        ['content', 'a'],
        ['content', '(?=b)'],
      ],
    },
    'Partly supported, without 1 of its 2 conditions. On by default; a workspace can switch it off.',
  ],
  [
    'experimental',
    { status: 'experimental', conditions: [['content', 'a']] },
    'Fully supported. Off by default; on with the experimental tier, or when switched on manually.',
  ],
  [
    'deprecated',
    { status: 'deprecated', conditions: [['content', 'a']] },
    'Never runs: it is deprecated in the corpus.',
  ],
  [
    'unsupported',
    { conditions: [['content', 'a(?!b)']] },
    'Never runs here: not supported, it needs a negative look-ahead, (?!…), which RE2 has not.',
  ],
  [
    'failing',
    {
      conditions: [
        ['content', 'a'],
        ['content', '(?<=c)b'],
      ],
      truePositives: [{ input: 'cb' }, { input: 'a' }],
    },
    'Never runs: it fails 1 of its 2 test cases; 1 of its 2 conditions cannot run here.',
  ],
  [
    'failing on a text that no run has',
    { conditions: [['content', 'a']], truePositives: [{ tool_description: 'a' }] },
    'Never runs: it fails 1 of its 1 test cases.',
  ],
  [
    'semantic',
    { conditions: [['content', 'a']], extra: 'detection_tier: semantic' },
    'Never runs here: not supported, it is declared semantic; its patterns are not run.',
  ],
] as const)('verdict: %s', (_name, rule, expected) => {
  expect(verdictOf(tinyRule(rule))).toBe(expected);
});
