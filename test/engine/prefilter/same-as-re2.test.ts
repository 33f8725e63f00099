/** Where JavaScript and RE2 read patterns, white space, letters or halves of letters otherwise. */
import RE2 from 're2';
import { describe, expect, it } from 'vitest';
import { createMatcher, type Hit } from '../../../src/engine/matcher/matcher.ts';
import { withoutCaptures } from '../../../src/engine/matcher/pattern.ts';
import { caseEquivalentsIn } from '../../../src/engine/prefilter/case-equivalents.ts';
import { createFastMatcher } from '../../../src/engine/prefilter/fast-matcher.ts';
import { tinyRule } from '../tiny-rules.ts';

const SETTINGS = { enabled: () => true, capBytes: 1 << 20 };

/** The hits of both matchers. */
function hitsOf(pattern: string, text: string): { plain: readonly Hit[]; fast: readonly Hit[] } {
  const rules = [tinyRule({ conditions: [['content', pattern]] })];
  const texts = [{ step: 0, surface: 'step_input', text }] as const;
  const plain = createMatcher(rules).match(texts, SETTINGS).hits;
  return { plain, fast: createFastMatcher(rules).match(texts, SETTINGS).hits };
}

describe('both matchers hit', () => {
  it.each([
    ['foobar\\z', 'foobar'],
    ['\\Afoobar', 'foobar'],
    ['\\Qzq.b\\E', 'zq.b'],
    ['zq\\x{41}zq', 'zqazq'],
    ['\\-zq\\x{200b}zq', '-zq\u200bzq'],
    ['zq\\pLzq', 'zqazq'],
    ['zq\\pN\\-q', 'zq7-q'],
    ['\\-\\u{200b}zq', '-\u200bzq'],
    ['\\-\\p{Cyrillic}zq', '-жzq'],
    ['zq\\azq', 'zq\u0007zq'],
    ['zq[]a]zq', 'zqazq'],
    ['zq[^]a]zq', 'zqbzq'],
    ['x[]zqj[]y', 'xzy'],
    ['[[:alpha:]]zq', 'azq'],
    ['say\\-\\"hush\\"', 'say-"hush"'],
    // Only to JavaScript a vertical tab is white space.
    ['zq\\S*jx', `zq${'\va'.repeat(200)}jx`],
    ['zq[^\\s]*jx', `zq${'\va'.repeat(200)}jx`],
    ['zq\\vjx', 'zq\vjx'],
    // Equal by several letters' upper case.
    ['\u1fd3zq', '\u0390zq'],
    ['zq[\u03b0]zq', 'zq\u1fe3zq'],
    ['s\ufb05', 's\ufb06'],
  ])('%s', (pattern, text) => {
    const { plain, fast } = hitsOf(pattern, text);
    expect(plain).toMatchObject([{ form: 'written', start: 0, end: text.length }]);
    expect(fast).toEqual(plain);
  });

  it('behind halves of letters that would join without what hides between them', () => {
    const text = `${'\ud83d\u200b\ude00'.repeat(20)}${'lorem ipsum dolor '.repeat(300)}zqj\u200bxvw${' sit amet'.repeat(300)}`;
    const { plain, fast } = hitsOf('zqjxvw', text);
    const start = text.indexOf('zqj');
    expect(plain).toMatchObject([{ form: 'normalised', start, end: start + 7 }]);
    expect(fast).toEqual(plain);
  });
});

it('a bracket that is a member of its class begins no group', () => {
  expect(withoutCaptures('(x[](a)[]yq)')).toBe('(x[](a)[]yq)');
  expect(withoutCaptures('(x[(a)]yq)')).toBe('(?:x[(a)]yq)');
});

it('knows every letter that RE2 takes for the same', () => {
  const points = Array.from({ length: 0x1_f000 - 0x80 }, (_, at) => 0x80 + at);
  const letters = points
    .filter((point) => point < 0xd800 || point > 0xdfff)
    .map((point) => String.fromCodePoint(point));
  const text = letters.join('');
  const isCased = (letter: string) =>
    letter !== letter.toLowerCase() || letter !== letter.toUpperCase();
  const cased = letters.filter(isCased);
  const inText = cased.join('');
  const missing: string[] = [];
  for (const letter of cased) {
    const point = letter.codePointAt(0) ?? 0;
    const known = caseEquivalentsIn(point, point);
    for (const equal of inText.match(new RE2(letter, 'giu')) ?? []) {
      if (equal !== letter && !known.includes(equal.codePointAt(0) ?? 0)) {
        missing.push(`${letter} ${equal}`);
      }
    }
  }
  expect(missing).toEqual([]);
  // And no letter without a case of its own is one of theirs.
  const all = [...(text.match(new RE2(`[${inText}]`, 'giu')) ?? [])];
  expect(all.filter((letter) => !isCased(letter))).toEqual([]);
});
