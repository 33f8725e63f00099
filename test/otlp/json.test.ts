/** Bytes to JSON values: exact integers, characters PostgreSQL cannot store, odd encodings. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/model/json.ts';
import { parseJson, parseLongIntegers } from '../../src/otlp/json.ts';
import { casesOf } from '../support/cases.ts';

function parsed(text: string | Buffer): JsonValue {
  const result = parseJson(Buffer.from(text));
  if (!result.ok) throw new Error(result.message);
  return result.value;
}

const RUNS = casesOf(500);

describe('characters that PostgreSQL cannot store', () => {
  test.each<[string, JsonValue]>([
    ['"plain"', 'plain'],
    ['"a\\u0000b"', 'a\ufffdb'],
    ['{"k\\u0000":"\\u0000\\u0000"}', { 'k\ufffd': '\ufffd\ufffd' }],
    ['"\\ud83d\\ude00"', '😀'],
    ['"\\uD83D\\uDE00\\uD83D"', '😀\ufffd'],
    ['"\\ude00\\ud83d"', '\ufffd\ufffd'],
    ['"\\ud83d\\ud83d\\ude00"', '\ufffd😀'],
    ['"\\ud83d😀"', '\ufffd😀'],
    ['"\\ud83d\\n\\ude00"', '\ufffd\n\ufffd'],
    ['"\\\\u0000"', '\\u0000'],
    ['"\\\\\\u0000"', '\\\ufffd'],
    ['"\\\\ud83d\\u0000"', '\\ud83d\ufffd'],
    ['"\\u0001\\ufffd\\ud7ff\\ue000"', '\u0001\ufffd\ud7ff\ue000'],
  ])('%s', (text, value) => {
    expect(parsed(text)).toEqual(value);
  });

  test('every string comes out well-formed and without U+0000', () => {
    const unit = fc.oneof(
      fc.constantFrom(0, 0xd83d, 0xde00, 0xdbff, 0xdc00, 0x5c, 0x22, 0x75, 0x30, 0x64, 0x38),
      fc.integer({ min: 0, max: 0xffff }),
    );
    const units = fc.array(fc.tuple(unit, fc.boolean()), { maxLength: 12 });
    fc.assert(
      fc.property(units, (pairs) => {
        const text = String.fromCharCode(...pairs.map(([code]) => code));
        const escaped = pairs.map(([code, isEscaped], at) => {
          const asNeeded = JSON.stringify(text[at]).slice(1, -1);
          return isEscaped ? `\\u${code.toString(16).padStart(4, '0')}` : asNeeded;
        });
        const result = parsed(`{"${escaped.join('')}":${JSON.stringify(text)}}`);
        const stored = text.replace(/\0|\p{Surrogate}/gu, '\ufffd');
        expect(result).toEqual({ [stored]: stored });
      }),
      { numRuns: RUNS },
    );
  });
});

describe('odd encodings', () => {
  test('a byte order mark is dropped', () => {
    expect(parsed('\ufeff{"a":1}')).toEqual({ a: 1 });
  });

  test('bytes that are not UTF-8 become U+FFFD', () => {
    expect(parsed(Buffer.from([0x22, 0x61, 0xff, 0xed, 0xa0, 0x80, 0x22]))).toBe(
      'a\ufffd\ufffd\ufffd\ufffd',
    );
  });

  test('text beyond one byte per character is kept', () => {
    expect(parsed('"ä€😀"')).toBe('ä€😀');
  });

  test.each([
    '',
    ' ',
    '{',
    '{"a":}',
    '\ufeff',
    "{'a':1}",
    '{"a":1}{',
    '"raw \0"',
    '[01]',
    '{1726000000000000000:1}',
  ])('%j is not JSON', (text) => {
    expect(parseJson(Buffer.from(text)).ok).toBe(false);
  });

  test('nesting as deep as the body is long does not overflow', () => {
    const deep = '['.repeat(200_000) + ']'.repeat(200_000);
    expect(parseJson(Buffer.from(deep)).ok).toBe(true);
    expect(parseLongIntegers(`{"a":[1726000000000000000],"b":${deep}}`)).not.toBe(null);
  });
});

describe('long integers', () => {
  test.each<[string, JsonValue | null]>([
    ['{"a":1,"b":"1726000000000000001"}', null],
    ['[9007199254740991,-9007199254740991,1234567890123456]', null],
    ['[0.12345678901234567,1.5e300,1e-7,2E5]', null],
    ['"a:1726000000000000001"', null],
    ['1726000000000000001', null],
    ['[9007199254740993]', ['9007199254740993']],
    ['{"a": -9223372036854775808 }', { a: '-9223372036854775808' }],
    ['[1,\n\t1726000000000000001\n]', [1, '1726000000000000001']],
    ['[9007199254740993.0,-9007199254740993.5]', ['9007199254740993', -(2 ** 53) - 2]],
    ['[1.726e18,1.726E+18]', ['1726000000000000000', '1726000000000000000']],
    [
      '{"a\\":1726000000000000001":1726000000000000001}',
      { 'a":1726000000000000001': '1726000000000000001' },
    ],
    ['["\\\\",1726000000000000001]', ['\\', '1726000000000000001']],
    ['["\\\\\\"",1726000000000000001]', ['\\"', '1726000000000000001']],
    ['[true,null,{"":[]},9223372036854775808]', [true, null, { '': [] }, '9223372036854775808']],
    ['[1e19,18446744073709551615]', null],
  ])('%s', (text, value) => {
    expect(parseLongIntegers(text)).toEqual(value);
  });

  test('are the only thing that changes, wherever they stand', () => {
    const leaf = fc.oneof(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
      fc.string({ unit: fc.constantFrom('"', '\\', '1', ':', '9007199254740993', ' ', '{') }),
      fc.boolean(),
      fc.constant(null),
    );
    const { value: any } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, leaf, fc.array(tie('value'), { maxLength: 4 })),
    }));
    fc.assert(
      fc.property(any, (value) => {
        const text = write([value]);
        const exact = parseLongIntegers(text) ?? JSON.parse(text);
        expect(exact).toEqual([expected(value)]);
      }),
      { numRuns: RUNS },
    );
  });
});

/** JSON text where BigInts are bare integers. */
function write(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`;
  return JSON.stringify(value);
}

/** What `write`'s text should be read as: long integers as their digits, the rest as itself. */
function expected(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(expected);
  if (typeof value !== 'bigint' && typeof value !== 'number') return value;
  const text = String(value);
  const number = Number(text);
  if (!Number.isInteger(number) || Number.isSafeInteger(number) || Math.abs(number) > 2 ** 63) {
    return number;
  }
  return text;
}
