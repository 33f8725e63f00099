import { describe, expect, it } from 'vitest';
import { createPatternCompiler, withoutCaptures } from '../../../src/engine/matcher/pattern.ts';

const compile = createPatternCompiler();

function range(source: string, text: string) {
  return compile(source).pattern?.find(Buffer.from(text));
}

describe('pattern', () => {
  it.each([
    ['a(?=b)', 'lookaround'],
    ['a(?!b)', 'lookaround'],
    ['(?<=a)b', 'lookaround'],
    ['(?<!a)b', 'lookaround'],
    ['(a)\\1', 'backreference'],
    ['[\\b]', 'invalid_escape'],
    ['a{1,1001}', 'repeat_over_1000'],
    ['a(', 'invalid_pattern'],
    ['((a{1,100}){1,100}){1,100}', 'repeat_over_1000'],
    ['(?:\\pL{1,500}){1,2}', 'pattern_too_large'],
  ])('says why %s does not compile: %s', (source, code) => {
    expect(compile(source)).toMatchObject({ pattern: null, reason: { code } });
  });

  it.each([
    ['a(?!b)', 'needs a negative look-ahead, (?!…), which RE2 has not'],
    ['(a)\\1', 'refers back to what a group matched, \\1, which RE2 does not do'],
    ['a{1,1001}', 'repeats {1,1001} times; RE2 repeats at most 1000 times'],
    ['[\\b]', 'uses the escape \\b in a place where RE2 knows no such escape'],
  ])('says it in words: %s', (source, message) => {
    expect(compile(source).reason?.message).toBe(message);
  });

  it('ignores case, with or without the inline group', () => {
    expect(range('ignore', 'IGNORE')).toEqual({ start: 0, end: 6 });
    expect(range('(?i)ignore', 'IgNoRe')).toEqual({ start: 0, end: 6 });
  });

  it('honours a leading s and m', () => {
    expect(range('a.b', 'a\nb')).toBeNull();
    expect(range('(?is)a.b', 'A\nB')).toEqual({ start: 0, end: 3 });
    expect(range('^b$', 'a\nb\nc')).toBeNull();
    expect(range('(?im)^b$', 'a\nB\nc')).toEqual({ start: 2, end: 3 });
  });

  it('reads the escapes of JavaScript', () => {
    expect(range('\\u0041\\u{1F600}', 'a😀')).toEqual({ start: 0, end: 5 });
    expect(range('\\p{Script=Cyrillic}', 'xж')).toEqual({ start: 1, end: 3 });
  });

  it('reports bytes, not characters', () => {
    expect(range('b', 'äöb')).toEqual({ start: 4, end: 5 });
  });

  it('compiles a source once', () => {
    expect(compile('same')).toBe(compile('same'));
  });
});

describe('withoutCaptures', () => {
  it.each([
    ['(a)(?:b)((c)|d)', '(?:a)(?:b)(?:(?:c)|d)'],
    ['(?i)(a)[(]\\((b)', '(?i)(?:a)[(]\\((?:b)'],
    ['(?is)([()])+', '(?is)(?:[()])+'],
    ['(?<name>a)(b)', '(?<name>a)(?:b)'],
    ['\\pN(a)', '\\pN(a)'],
  ])('%s → %s', (source, expected) => {
    expect(withoutCaptures(source)).toBe(expected);
  });

  it('finds the same place', () => {
    expect(range('(a+)(b|c(d))*', 'xxaabcdcdx')).toEqual({ start: 2, end: 9 });
    expect(range('(a|ab)(c|bcd)?', 'zabcd')).toEqual({ start: 1, end: 5 });
  });
});
