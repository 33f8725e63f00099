/** The page that says how much of the corpus runs, and the sentence about each rule. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { coveragePage } from '../../src/cli/coverage.ts';
import { activationOf, verdictOf } from '../../src/cli/verdict.ts';
import type { Catalog } from '../../src/engine/rules/catalog.ts';
import { refusal } from '../../src/engine/rules/effective-set.ts';
import { tinyRule } from '../engine/tiny-rules.ts';
import { keptMatching } from '../support/kept-catalogue.ts';

const ROOT = join(import.meta.dirname, '../..');

let catalog: Catalog;
beforeAll(() => {
  ({ catalog } = keptMatching());
});

test('docs/rules-coverage.md says what is so today (else: sluice corpus coverage --write)', () => {
  expect(readFileSync(join(ROOT, 'docs/rules-coverage.md'), 'utf8')).toBe(coveragePage(catalog));
});

test('the page names every rule that does not run as written, and no pattern', () => {
  const page = coveragePage(catalog);
  for (const { id, support } of catalog.rules) {
    expect(page.includes(`| ${id} |`), id).toBe(support !== 'as_written');
  }
  expect(page).not.toContain('(?i)');
});

test('a rule never runs exactly when switching it on is refused', () => {
  for (const rule of catalog.rules) {
    expect(activationOf(rule) === 'never', rule.id).toBe(refusal(rule) !== null);
    expect(verdictOf(rule).startsWith('Never'), rule.id).toBe(refusal(rule) !== null);
  }
});

test.each([
  [
    'stable',
    { status: 'stable', conditions: [['content', 'a']] },
    'Runs by default, as written; an override can switch it off.',
  ],
  [
    'degraded',
    {
      conditions: [
        ['content', 'a'],
        ['content', '(?=b)'],
      ],
    },
    'Runs by default, degraded, without 1 of its 2 conditions; an override can switch it off.',
  ],
  [
    'experimental',
    { status: 'experimental', conditions: [['content', 'a']] },
    'Runs, as written, where the experimental tier is on or an override switches it on.',
  ],
  [
    'deprecated',
    { status: 'deprecated', conditions: [['content', 'a']] },
    'Never runs: it is deprecated in the corpus.',
  ],
  [
    'unsupported',
    { conditions: [['content', 'a(?!b)']] },
    'Never runs here: it needs a negative look-ahead, (?!…), which RE2 has not.',
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
    'Never runs: 1 of its 2 conditions cannot run here, and what is left fails 1 of its own 2 examples.',
  ],
] as const)('verdict: %s', (_name, rule, expected) => {
  expect(verdictOf(tinyRule(rule))).toBe(expected);
});
