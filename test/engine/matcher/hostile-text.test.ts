/** Megabytes of what breaks regular expressions: nothing may throw, nothing may take for ever. */
import { describe, expect, it } from 'vitest';
import { evaluateRun } from '../../../src/engine/evaluate.ts';
import { createMatcher } from '../../../src/engine/matcher/matcher.ts';
import {
  normalise,
  settledLength,
  toWrittenRange,
} from '../../../src/engine/matcher/normalised-text.ts';
import { TextMap, textKey } from '../../../src/engine/matcher/text-key.ts';
import { resolveEscapes } from '../../../src/engine/surfaces/reader/json-escapes.ts';
import { isExhaustive } from '../../support/cases.ts';
import { operation } from '../steps.ts';
import { tinyRule } from '../tiny-rules.ts';

const LENGTH = (isExhaustive ? 16 : 2) << 20;
const HOSTILE: readonly (readonly [string, string])[] = [
  ['one letter', 'A'],
  ['base64', 'Ab0+'],
  ['backslashes', '\\'],
  ['escapes', '\\n'],
  ['blanks', ' '],
  ['combining marks', '\u0301'],
  ['zero-width characters', '\u200b'],
  ['brackets', '['],
  ['empty lists', '[],'],
  ['quotes', '"'],
  ['data URLs', 'data:image/png;base64,'],
];

describe('megabytes of hostile text', () => {
  const rule = tinyRule({ conditions: [['content', 'secret']] });
  const matcher = createMatcher([rule]);
  const settings = { surfaceCapBytes: 65_536, excerptChars: 20 };

  it.each(HOSTILE)(
    '%s',
    (_name, unit) => {
      const text = unit.repeat(LENGTH / unit.length);
      for (const hostile of [`a secret ${text}`, `["a secret",${text}`]) {
        const attributes = { 'gen_ai.tool.call.result': hostile };
        const step = operation('execute_tool', attributes);
        const { findings, undecided } = evaluateRun([step], matcher, () => true, settings);
        expect(findings).toHaveLength(1);
        expect(undecided).toEqual([]);
      }
    },
    30_000,
  );

  it('is normalised whole, and mapped back', () => {
    const marks = `e${'\u0301'.repeat(LENGTH)}`;
    const read = normalise(marks);
    expect(settledLength(marks)).toBeLessThan(read.length);
    expect(toWrittenRange(marks, { start: 0, end: read.length })).toEqual({
      start: 0,
      end: marks.length,
    });
  }, 120_000);
});

describe('resolveEscapes', () => {
  it.each([
    ['a\\nb\\tc', 'a\nb\tc'],
    ['\\"\\\\\\/\\b\\f\\r', '"\\/\b\f\r'],
    ['\\u0041\\u00', 'A\\u00'],
    ['\\x \\', '\\x \\'],
    ['plain', 'plain'],
    [`${'x'.repeat(8191)}\\n\\n`, `${'x'.repeat(8191)}\n\n`],
    ['\\n'.repeat(20_000), '\n'.repeat(20_000)],
  ])('%#', (text, resolved) => {
    expect(resolveEscapes(text)).toBe(resolved);
  });
});

describe('textKey', () => {
  it('is short, and different for different texts', () => {
    const long = 'x'.repeat(20_000);
    const likeKeys = [textKey(long), `=${textKey(long)}`, '=', '==', '#', '=#', ''];
    const texts = [long, `${long}y`, `${long}\ud800`, `${long}\ud801`, 'x', '=x', ...likeKeys];
    const keys = texts.map(textKey);
    expect(new Set(keys).size).toBe(keys.length);
    expect(Math.max(...keys.map((key) => key.length))).toBeLessThan(100);
  });
});

describe('TextMap', () => {
  it('finds each text, also of one length or like a key of another', () => {
    const long = 'x'.repeat(20_000);
    const texts = [
      long,
      `y${long.slice(1)}`,
      `${long.slice(1)}y`,
      `${long}y`,
      'x',
      '=x',
      '',
      textKey(long),
    ];
    const map = new TextMap<string>();
    for (const text of texts) {
      expect(map.get(text)).toBeUndefined();
      map.add(text, text);
    }
    expect(texts.map((text) => map.get(text))).toEqual(texts);
    expect(map.get(`z${long.slice(1)}`)).toBeUndefined();
  });
});
