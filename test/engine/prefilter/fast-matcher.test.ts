import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createMatcher } from '../../../src/engine/matcher/matcher.ts';
import { createPatternCompiler } from '../../../src/engine/matcher/pattern.ts';
import { createFastMatcher, tablesOf } from '../../../src/engine/prefilter/fast-matcher.ts';
import { casesOf } from '../../support/cases.ts';
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

it('finds what the plain matcher finds where a letter of a pattern is everywhere', () => {
  const rules = [
    tinyRule({ conditions: [['content', '[аео][a-z]|[a-z][аео]']] }),
    tinyRule({ conditions: [['content', '[аео]{4,}[яю]']] }),
    tinyRule({ conditions: [['content', 'я.{0,9}[аео].{0,9}needle']] }),
    tinyRule({ conditions: [['content', 'needle[\\s\\S]{0,9}[аео]']] }),
    tinyRule({ conditions: [['content', '(?i)слово|[аео] [аео]']] }),
  ];
  const [plain, fast] = [createMatcher(rules), createFastMatcher(rules)];
  const settings = { enabled: () => true, capBytes: 65_536, everyPlace: true };
  const piece = fc.constantFrom(
    'а',
    'е',
    'я',
    'ж',
    ' ',
    'x',
    '\n',
    'needle',
    'слово',
    'Ж'.repeat(40),
  );
  const many = fc.constantFrom('', 'а'.repeat(31), 'ажож'.repeat(9), 'а ж е'.repeat(40));
  fc.assert(
    fc.property(many, fc.array(piece, { maxLength: 12 }), many, (before, pieces, after) => {
      const texts = [
        { step: 0, surface: 'step_input', text: before + pieces.join('') + after },
      ] as const;
      expect(fast.match(texts, settings)).toEqual(plain.match(texts, settings));
    }),
    { numRuns: casesOf(500) },
  );
});
