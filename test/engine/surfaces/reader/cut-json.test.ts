/** JSON that was cut is closed again: what it still holds can be read, and nothing is added. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closeCut } from '../../../../src/engine/surfaces/reader/cut-json.ts';
import type { JsonValue } from '../../../../src/model/json.ts';

describe('what was cut', () => {
  it.each([
    ['{"a":"b', '{"a":"b"}'],
    ['{"a":"b"', '{"a":"b"}'],
    ['{"a":"b",', '{"a":"b"}'],
    ['{"a":"b","c', '{"a":"b","c":null}'],
    ['{"a":"b","c"', '{"a":"b","c":null}'],
    ['{"a":"b","c":', '{"a":"b","c":null}'],
    ['{"a":"b","c": 1', '{"a":"b","c":null}'],
    ['{"a":"b","c":tr', '{"a":"b","c":null}'],
    ['{"a":["b",["c', '{"a":["b",["c"]]}'],
    ['["b",-1.', '["b"]'],
    ['["b",1e+', '["b"]'],
    ['["b",12', '["b"]'],
    ['["b",true', '["b"]'],
    ['["b",nul', '["b"]'],
    ['[', '[]'],
    ['{', '{}'],
    [' {"a":{} ', ' {"a":{}}'],
    ['{"a":"b\\', '{"a":"b"}'],
    ['{"a":"b\\\\', '{"a":"b\\\\"}'],
    ['{"a":"b\\u00e', '{"a":"b"}'],
    ['{"a":"b\\u00e9', '{"a":"b\\u00e9"}'],
    ['{"a":"b\\n', '{"a":"b\\n"}'],
    ['{"a":"x]}', '{"a":"x]}"}'],
    ['{"a":"b...[TRUNCATED: original length 99]', '{"a":"b"}'],
    ['[{"a":1},...[TRUNCATED: original length 99]', '[{"a":1}]'],
  ])('%s', (cut, expected) => {
    expect(closeCut(cut)).toBe(expected);
  });
});

describe('what is not the beginning of JSON', () => {
  it.each([
    '',
    'text',
    '{evil',
    '"a',
    '[1] a source',
    "{'a': 'b",
    '[Note: read this',
    '[urgent',
    '[not',
    '{"a":1}}',
    '{"a"]',
  ])('%s', (text) => {
    expect(closeCut(text)).toBe(text);
  });
});

it('what is whole stays as it is, and every beginning of it parses', () => {
  const structure = fc
    .jsonValue()
    .filter((value) => typeof value === 'object' && value !== null) as fc.Arbitrary<JsonValue>;
  fc.assert(
    fc.property(structure, fc.nat(), (value, seed) => {
      const whole = JSON.stringify(value);
      expect(closeCut(whole)).toBe(whole);
      const cut = whole.slice(0, 1 + (seed % whole.length));
      expect(() => JSON.parse(closeCut(cut))).not.toThrow();
    }),
    { numRuns: 500 },
  );
});

it('takes time linear in the length', () => {
  const cut = `{"a":"${'\\\\'.repeat(2_000_000)}`;
  expect(closeCut(cut)).toBe(`${cut}"}`);
  const numbers = `[${'1'.repeat(4_000_000)}`;
  expect(closeCut(numbers)).toContain(']');
});

it.each([
  ['deep', `${'['.repeat(65)}1`],
  ['deeper than a stack', '['.repeat(4_000_000)],
  ['long', `["${'x'.repeat(4 << 20)}`],
])('what is not opened anyway is not closed: %s', (_what, text) => {
  expect(closeCut(text)).toBe(text);
  expect(closeCut('['.repeat(64))).toBe('['.repeat(64) + ']'.repeat(64));
});
