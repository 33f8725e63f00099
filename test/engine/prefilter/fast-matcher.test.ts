import { expect, it } from 'vitest';
import { createPatternCompiler } from '../../../src/engine/matcher/pattern.ts';
import { createFastMatcher, tablesOf } from '../../../src/engine/prefilter/fast-matcher.ts';
import { describeMatcher } from '../matcher/matcher-suite.ts';
import { tinyRule } from '../tiny-rules.ts';

describeMatcher('fast matcher', (rules) => createFastMatcher(rules));

it('tables of other rules are refused', () => {
  const one = [
    tinyRule({
      conditions: [
        ['content', 'b'],
        ['content', 'a'],
      ],
    }),
  ];
  const two = [
    tinyRule({
      conditions: [
        ['content', 'a'],
        ['content', 'b'],
      ],
    }),
  ];
  expect(() => createFastMatcher(two, createPatternCompiler(), tablesOf(one))).toThrow(
    'the tables are those of other rules',
  );
});
