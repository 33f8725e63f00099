import { describe, expect, it } from 'vitest';
import { createMatcher } from '../../../src/engine/matcher/matcher.ts';
import { createPatternCompiler } from '../../../src/engine/matcher/pattern.ts';
import { loneSurrogate, withoutSurrogates } from '../../../src/engine/matcher/surrogate-pairs.ts';
import { createFastMatcher } from '../../../src/engine/prefilter/fast-matcher.ts';
import { tinyRule } from '../tiny-rules.ts';

const compile = createPatternCompiler();
const TAGS = '(?:\\uDB40[\\uDC00-\\uDC7F]){3,}';

describe('surrogate pairs in a pattern', () => {
  it.each([
    ['\\uD83D\\uDE00', '😀'],
    ['\\ud83d\\ude00+', '😀+'],
    ['[\\uD83D\\uDE00-\\uD83D\\uDE4F]', '[😀-🙏]'],
    ['\\uD83D[\\uDE00-\\uDE4F]', '[😀-🙏]'],
    ['\\uD83D[\\uDE00\\uDE4F]', '[😀🙏]'],
    ['[\\uD83C\\uD83D][\\uDC00-\\uDFFF]', '[🀀-🏿🐀-\u{1f7ff}]'],
    ['[\\uD83C-\\uD83D]\\uDC00', '[🀀🐀]'],
    ['\ud83d[\ude00-\ude4f]', '[😀-🙏]'],
    ['😀', '😀'],
    ['\\\\uD83D', '\\\\uD83D'],
    ['\\uD83D\\\\uDE00', '\\uD83D\\\\uDE00'],
    ['\\u0041\\uFFFF', '\\u0041\\uFFFF'],
  ])('%s is %s', (source, expected) => {
    expect(withoutSurrogates(source)).toBe(expected);
  });

  it.each([
    ['\\uD83Dx', '\\uD83D'],
    ['[a\\uDC00]', '\\uDC00'],
    ['x\udc00', '\\uDC00'],
    ['\\\\uD83D', null],
    ['😀', null],
  ])('half a pair in %j: %s', (source, half) => {
    expect(loneSurrogate(source)).toBe(half);
    if (half !== null) {
      expect(compile(source)).toMatchObject({ pattern: null, reason: { code: 'lone_surrogate' } });
    }
  });

  it('match what JavaScript matches', () => {
    const texts = [
      '\u{e0041}',
      '\u{e0041}\u{e0042}\u{e007f}',
      'a\u{e0080}\u{e0080}\u{e0080}',
      'abc',
    ];
    for (const text of texts) {
      const expected = new RegExp(TAGS, 'i').exec(text);
      expect(compile(TAGS).pattern?.test(Buffer.from(text)), text).toBe(expected !== null);
    }
  });

  it('are found by both matchers, away from the beginning of a text', () => {
    const rules = [tinyRule({ conditions: [['content', TAGS]] })];
    const text = `${'hidden: '.repeat(50)}\u{e0049}\u{e0067}\u{e006e}\u{e006f}`;
    const settings = { enabled: () => true, capBytes: 65_536 };
    for (const matcher of [createMatcher(rules), createFastMatcher(rules)]) {
      const { hits } = matcher.match([{ step: 0, surface: 'tool_result', text }], settings);
      expect(hits).toMatchObject([{ start: 400, end: 408 }]);
    }
  });
});
