/** The coverage page: what each cell says, and where it leads. */
import { expect, test } from 'vitest';
import type { Coverage } from '../../../../src/model/references/coverage.ts';
import { coveragePage } from '../../../../src/web/app/rules/coverage.ts';
import { HOSTILE, holdsAsText, LOOK, viewer } from '../fixtures.ts';

const ENTRY: Coverage = {
  id: 'LLM01:2025',
  name: 'Prompt Injection',
  rules: 1200,
  stable: 40,
  experimental: 1158,
  on: 34,
  findings: 1,
};

function page(entry: Partial<Coverage> = {}, group = { id: '', name: '' }): string {
  const entries = [{ ...ENTRY, ...entry }];
  const framework = { kind: 'owasp_llm', label: 'A list', groups: [{ ...group, entries }] };
  return coveragePage(LOOK, viewer(), { frameworks: [framework], since: '2026-10-22' }).text;
}

test('a cell leads to its rules and to their findings of the thirty days', () => {
  const text = page();
  expect(text).toContain(
    '<li class="cover on"><h3><span class="soft">LLM01</span> Prompt Injection',
  );
  expect(text).toContain('<a href="/app/rules?reference=LLM01%3A2025">34 of 1,200 rules on</a>');
  expect(text).toContain(
    '<a class="found" href="/app/findings?reference=LLM01%3A2025&amp;state=all&amp;since=2026-10-22">1 finding</a>',
  );
  expect(text).toContain('40 stable, 1,158 experimental, 2 draft or deprecated');
  expect(text).toContain('1 <span class="soft">of 1</span>');
});

test('a cell whose rules are off, and one without rules, say so', () => {
  const off = page({ on: 0, rules: 1, stable: 0, experimental: 1, findings: 0 });
  expect(off).toContain('<li class="cover off">');
  expect(off).toContain('0 of 1 rule on</a></p>');
  expect(off).toContain('1 with rules that are all off');
  const none = page({ on: 0, rules: 0, stable: 0, experimental: 0, findings: 0 });
  expect(none).toMatch(/<li class="cover none">.*\n<p class="soft">No rules<\/p><\/li>/);
  expect(none).toContain('1 without a rule');
  expect(none).not.toContain('/app/rules?reference');
});

test('a tactic leads to the rules of its techniques', () => {
  const text = page({}, { id: 'AML.TA0005', name: 'Execution' });
  expect(text).toContain('<a href="/app/rules?reference=AML.TA0005">Execution</a>');
  expect(text).toContain('<h4><span class="soft">LLM01</span>');
});

test('names of a corpus are text', () => {
  expect(holdsAsText(page({ name: HOSTILE }))).toBe(true);
});
