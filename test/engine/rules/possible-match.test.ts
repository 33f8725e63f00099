import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPatternCompiler } from '../../../src/engine/matcher/pattern.ts';
import { canMatch } from '../../../src/engine/rules/possible-match.ts';
import { casesOf } from '../../support/cases.ts';
import { tinyRule } from '../tiny-rules.ts';

const compile = createPatternCompiler();

/** Every text of up to five characters, of each kind. */
const TEXTS = [''];
for (let at = 0; TEXTS.length < 9331; at += 1) {
  TEXTS.push(...['a', 'b', '-', ' ', '\n', '\u017f'].map((letter) => `${TEXTS[at]}${letter}`));
}
const BYTES = TEXTS.map((text) => Buffer.from(text));

const quantified = (part: fc.Arbitrary<string>) =>
  fc.tuple(part, fc.constantFrom('', '', '', '?', '*', '+')).map((parts) => parts.join(''));
const character = quantified(
  fc.constantFrom('a', ' ', '\\n', '.', '\\w', '\\s', '\\S', '[^\\s\\S]', '[^a]'),
);
const element = fc.oneof(character, fc.constantFrom('^', '$', '\\b', '\\B'));
const sequence = fc.array(element, { minLength: 1, maxLength: 2 }).map((parts) => parts.join(''));
const group = quantified(
  fc.array(sequence, { minLength: 1, maxLength: 2 }).map((some) => `(?:${some.join('|')})`),
);
const pattern = fc
  .tuple(
    fc.constantFrom('', '(?m)', '(?s)'),
    fc.array(fc.oneof(element, group), { minLength: 1, maxLength: 2 }),
  )
  .map(([flags, parts]) => flags + parts.join(''));

describe('canMatch', () => {
  it.each([
    ['a', true],
    ['a\\bb', false],
    ['a\\Bb', true],
    ['x^', false],
    ['(?m)\\n^x', true],
    ['(?m)x^', false],
    ['$x', false],
    ['(?:$x|y)', true],
    ['(?:$x)?', true],
    ['(?:$x){2}', false],
    ['[^\\s\\S]', false],
    ['[^\\x{0}-\\x{10FFFF}]', true], // syntax that is not read here
    ['[^\\u{0}-\\u{10FFFF}]', false],
    ['s\\bx', true], // U+017F is an s, but no word character
    ['(?:\\uDB40[\\uDC00-\\uDC7F]){3,}', true],
    ['[\\u{D800}-\\u{DFFF}]', false],
  ])('%s: %s', (source, expected) => {
    expect(canMatch(source)).toBe(expected);
  });

  it('is yes exactly for patterns that match some text', () => {
    fc.assert(
      fc.property(pattern, (source) => {
        const program = compile(source).pattern;
        expect(canMatch(source), source).toBe(BYTES.some((text) => program?.test(text) === true));
      }),
      { numRuns: casesOf(1000) },
    );
  });

  it('decides whether a condition is supported', () => {
    const rule = tinyRule({
      conditions: [
        ['content', 'a\\bb'],
        ['content', 'c'],
      ],
    });
    expect(rule.support).toBe('degraded');
    expect(rule.unsupportedReasons).toEqual([
      { code: 'matches_no_text', message: 'has a pattern that no text can match' },
    ]);
  });
});
