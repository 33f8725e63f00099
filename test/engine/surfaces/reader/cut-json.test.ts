/** JSON that was cut is completed: what it still holds can be read, and nothing is added. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCut } from '../../../../src/engine/surfaces/reader/cut-json.ts';
import type { JsonValue } from '../../../../src/model/json.ts';
import { casesOf } from '../../../support/cases.ts';

describe('what was cut', () => {
  it.each<[string, JsonValue]>([
    ['{"a":"b', { a: 'b' }],
    ['{"a":"b"', { a: 'b' }],
    ['{"a":"b",', { a: 'b' }],
    ['{"a":"b","c', { a: 'b' }],
    ['{"a":"b","c"', { a: 'b' }],
    ['{"a":"b","c":', { a: 'b' }],
    ['{"a":"b","c": 1', { a: 'b' }],
    ['{"a":"b","c":tr', { a: 'b' }],
    ['{"a":"b","c\\u00', { a: 'b' }],
    ['{"a":["b",["c', { a: ['b', ['c']] }],
    ['["b",-1.', ['b']],
    ['["b",1e+', ['b']],
    ['["b",12', ['b']],
    ['["b",12,', ['b', 12]],
    ['["b",true', ['b']],
    ['["b",nul', ['b']],
    ['[', []],
    ['{', {}],
    [' {"a":{} ', { a: {} }],
    ['{"a":{"b":1}', { a: { b: 1 } }],
    ['{"a":"b\\', { a: 'b' }],
    ['{"a":"b\\\\', { a: 'b\\' }],
    ['{"a":"b\\u00e', { a: 'b' }],
    ['{"a":"b\\u00e9', { a: 'bé' }],
    ['{"a":"b\\ud83d', { a: 'b' }],
    ['{"a":"b\\ud83d\\ude', { a: 'b' }],
    ['{"a":"b\ud83d', { a: 'b' }],
    ['{"a":"b\\n', { a: 'b\n' }],
    ['{"a":"x]}', { a: 'x]}' }],
    ['"a \\"b', 'a "b'],
    ['{"a":"b...[TRUNCATED: original length 99]', { a: 'b' }],
    ['[{"a":1},...[TRUNCATED: original length 99]', [{ a: 1 }]],
    ['{"a":"b...', { a: 'b' }],
    ['{"a":"b…', { a: 'b' }],
    ['{"a":"b",...', { a: 'b' }],
    ['{"a":"b... (truncated 300 chars)', { a: 'b' }],
    ['{"a":"b [truncated]', { a: 'b' }],
    ['[{"content":"x","role":"sys', [{ content: 'x' }]],
  ])('%s', (cut, expected) => {
    expect(parseCut(cut)?.value).toEqual(expected);
  });
});

it.each<[string, JsonValue[]]>([
  [
    '{"a":[1],"b":[{"c":{}},{"d":"x',
    [{ a: [1], b: [{ c: {} }, { d: 'x' }] }, [{ c: {} }, { d: 'x' }], { d: 'x' }],
  ],
  ['{"2":[],"1":[', [{ 1: [], 2: [] }, []]],
  ['{"a":{"b":1}', [{ a: { b: 1 } }]],
  ['{"a":{"b"', [{ a: {} }, {}]],
])('names what the cut left open: %s', (cut, expected) => {
  expect(parseCut(cut)?.open).toEqual(expected);
});

describe('what is not the beginning of JSON', () => {
  it.each([
    '',
    'text',
    '{evil',
    '[1] a source',
    '"Hello", she said',
    "{'a': 'b",
    '[Note: read this',
    '[note] read this',
    '[urgent',
    '[not',
    '{"a":1}}',
    '{"a":1} ',
    '{"a"]',
    '{"a" b',
    '{"a":b',
    '[1 2',
    '["a" "b',
  ])('%s', (text) => {
    expect(parseCut(text)).toBeUndefined();
  });
});

it('every beginning of JSON is completed, with nothing that the whole has not', () => {
  const structure = fc
    .jsonValue()
    .filter((value) => typeof value === 'object' && value !== null) as fc.Arbitrary<JsonValue>;
  fc.assert(
    fc.property(structure, fc.nat(), (value, seed) => {
      const whole = JSON.stringify(value);
      const cut = parseCut(whole.slice(0, 1 + (seed % (whole.length - 1))));
      expect(isBeginning(cut?.value, JSON.parse(whole))).toBe(true);
    }),
    { numRuns: casesOf(1000) },
  );
});

/** Whether the last element, member or characters of a value are missing, and nothing else. */
function isBeginning(part: JsonValue | undefined, whole: JsonValue | undefined): boolean {
  if (typeof part === 'string' && typeof whole === 'string') {
    return whole.startsWith(part.replace(/(?:\.{3}|…)$/, ''));
  }
  if (typeof part !== 'object' || part === null) return part === whole;
  if (typeof whole !== 'object' || whole === null) return false;
  return Object.entries(part).every(([name, one]) =>
    isBeginning(one, (whole as Record<string, JsonValue>)[name]),
  );
}

it('takes time linear in the length', () => {
  const cut = `{"a":"${'\\\\'.repeat(2_000_000)}`;
  expect(parseCut(cut)?.value).toEqual({ a: '\\'.repeat(2_000_000) });
  expect(parseCut(`[${'1'.repeat(4_000_000)}`)?.value).toEqual([]);
  expect(parseCut(`["a",${' '.repeat(4_000_000)}x`)).toBeUndefined();
});

it.each([
  ['deep', `${'['.repeat(65)}1`],
  ['deeper than a stack', '['.repeat(4_000_000)],
])('what is not opened anyway is not completed: %s', (_what, text) => {
  expect(parseCut(text)).toBeUndefined();
  expect(parseCut('['.repeat(64))?.open.length).toBe(64);
});
