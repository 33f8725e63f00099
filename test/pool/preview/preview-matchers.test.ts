/** The matcher of a preview gives the same hits, whether it has the previewed rules only or masks the others. */
import { expect, it } from 'vitest';
import { createPatternCompiler } from '../../../src/engine/matcher/pattern.ts';
import { createFastMatcher, tablesOf } from '../../../src/engine/prefilter/fast-matcher.ts';
import { FEW_RULES_MAX, PreviewMatchers } from '../../../src/pool/preview/preview-matchers.ts';
import { tinyRule } from '../../engine/tiny-rules.ts';

const rules = Array.from({ length: FEW_RULES_MAX + 4 }, (_, index) =>
  tinyRule({
    id: `ATR-2026-9${String(index).padStart(4, '0')}`,
    conditions: [['content', `word${index}`]],
  }),
);
const compile = createPatternCompiler();
const matchers = new PreviewMatchers(createFastMatcher(rules, compile, tablesOf(rules)), compile);
const text = rules.map((_, index) => `word${index}`).join(' ');

function found(ruleIds: readonly string[]): string[] {
  const { matcher, enabled } = matchers.of(ruleIds);
  const texts = [{ step: 0, surface: 'step_input', text } as const];
  const { hits } = matcher.match(texts, { enabled, capBytes: 65_536 });
  return hits.map(({ ruleIndex }) => matcher.rules[ruleIndex]?.id ?? '').sort();
}

it.each([1, FEW_RULES_MAX, FEW_RULES_MAX + 1, FEW_RULES_MAX + 4])('%d rules', (count) => {
  const ids = rules.slice(-count).map(({ id }) => id);
  expect(found(ids)).toEqual(ids);
});

it('is kept for the batches of one preview, and ignores rules that are not there', () => {
  const ids = [rules[0]?.id ?? '', 'ATR-2020-00001'];
  expect(matchers.of(ids)).toBe(matchers.of([...ids]));
  expect(found(ids)).toEqual(ids.slice(0, 1));
});
