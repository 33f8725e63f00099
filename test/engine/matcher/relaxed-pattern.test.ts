import fc from 'fast-check';
import RE2 from 're2';
import { describe, expect, it } from 'vitest';
import { createPatternCompiler } from '../../../src/engine/matcher/pattern.ts';
import { relaxedSource, relaxedWithRuns } from '../../../src/engine/matcher/relaxed-pattern.ts';
import { casesOf } from '../../support/cases.ts';

const count = fc.oneof(
  fc.constantFrom('*', '+', '?', '+?', '{9}', '{0,9}?', '{13,}', '{0,9}', '{3,10}?', '{14}'),
  fc.tuple(fc.nat(14), fc.nat(6)).map(([min, more]) => `{${min},${min + more}}`),
);
const atom = fc.constantFrom(
  ...['a', 'b', 'é', '.', '[^a]', '\\b', '(?:ab|b)', '(a|^b)', '(?:a{0,9}b)', '([ab]{2,12}b)?'],
);
const pattern = fc
  .array(fc.tuple(atom, fc.option(count)), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.map(([one, many]) => one + (many ?? '')).join(''))
  .filter((source) => !/(?:\\b|\)\?)[{*+?]/.test(source));
const text = fc.string({ unit: fc.constantFrom('a', 'a', 'b', 'b', 'é', ' '), maxLength: 60 });

describe('relaxedSource', () => {
  it.each([
    ['a{0,9}b', 'a{0,}b'],
    ['(?i)a[^"\\n]{2,400}?b', '(?i)a[^"\\n]{2,}?b'],
    ['(?:x{0,50}y){3,20}', '(?:x{0,}y){3,}'],
    ['a{40}', 'a{12,}'],
    ['a{40,}', 'a{12,}'],
    // Small counts, and what JavaScript cannot parse, stay.
    ['a{0,8}b{3}c*d+e?', 'a{0,8}b{3}c*d+e?'],
    ['[[:alpha:]]{0,99}', '[[:alpha:]]{0,99}'],
  ])('of %s is %s', (source, relaxed) => {
    expect(relaxedSource(source)).toBe(relaxed);
  });

  it('matches where the pattern does', () => {
    fc.assert(
      fc.property(pattern, text, (source, string) => {
        const isMatch = new RE2(source, 'iu').test(string);
        return !isMatch || new RE2(relaxedSource(source), 'iu').test(string);
      }),
    );
  });
});

describe('relaxedWithRuns', () => {
  it.each([
    ['(a|b)[^"]{0,90}c', '(?:a|b)([^"]{0,})c', [{ min: 0, max: 90 }]],
    [
      '(?i)(?:x.{20,30}?)?y{14,}',
      '(?i)(?:x(.{12,}?))?(y{12,})',
      [
        { min: 20, max: 30 },
        { min: 14, max: Number.POSITIVE_INFINITY },
      ],
    ],
  ])('of %s is %s', (source, relaxed, runs) => {
    expect(relaxedWithRuns(source)).toEqual({ source: relaxed, runs });
  });

  it.each(['a{0,8}b', '(?:ab){0,20}', '(?:a{0,20}b)+', '(?P<name>a{0,20})', '[[:alpha:]]{0,99}'])(
    'cannot tell how often %s repeats',
    (source) => {
      expect(relaxedWithRuns(source)).toBeNull();
    },
  );
});

describe('a pattern finds what it would find with an automaton', () => {
  const compile = createPatternCompiler();
  it.each([
    ['a(b)?c{0,20}', 'xxabccab'],
    ['^b|\\bc', 'ab c b'],
    ['(?U)a.{0,30}c', 'abcabc'],
    ['(?s)x.{0,9}?y', 'äöü x\n\ny y'],
    ['b*', 'aab'],
    ['c$', 'cac'],
  ])('%s in %s', (source, text) => {
    const { pattern } = compile(source);
    const short = pattern?.find(Buffer.from(text));
    // Longer bytes are searched otherwise.
    const long = pattern?.find(Buffer.from(`${' '.repeat(5000)}${text}`));
    const expected = new RE2(source, 'iu').exec(Buffer.from(text));
    expect(short?.start).toBe(expected?.index);
    expect((short?.end ?? 0) - (short?.start ?? 0)).toBe(expected?.[0].byteLength);
    expect(pattern?.mayMatch(Buffer.from(text))).toBe(true);
    if (/^[\^b]/.test(source)) return;
    expect(long).toEqual({ start: (short?.start ?? 0) + 5000, end: (short?.end ?? 0) + 5000 });
  });

  it('whatever is repeated', () => {
    fc.assert(
      fc.property(pattern, text, (source, string) => {
        const bytes = Buffer.from(string);
        const expected = new RE2(source, 'iu').exec(bytes);
        const range =
          expected === null
            ? null
            : { start: expected.index, end: expected.index + expected[0].byteLength };
        expect(compile(source).pattern?.find(bytes)).toEqual(range);
      }),
      { numRuns: casesOf(3000) },
    );
  });
});
