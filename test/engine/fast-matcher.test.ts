import { expect, it } from 'vitest';
import { createFastMatcher, tablesOf } from '../../src/engine/fast/fast-matcher.ts';
import { createPatternCompiler } from '../../src/engine/pattern.ts';
import { describeMatcher } from './matcher-suite.ts';
import { tinyRule } from './tiny-rules.ts';

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
