/** The stored form of every kind of attribute value, and what is refused. */

import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/model/json.ts';
import { parseAnyValue, parseAttributes, VALUE_DEPTH_MAX } from '../../src/otlp/any-value.ts';
import { Fault, REASONS } from '../../src/otlp/fault.ts';

/** `depth` arrays, one in the other, around a value; the value itself is one level more. */
function nested(depth: number): JsonValue {
  let value: JsonValue = { boolValue: true };
  for (let level = 0; level < depth; level += 1) value = { arrayValue: { values: [value] } };
  return value;
}

describe('values', () => {
  test.each<[JsonValue, string]>([
    [{ stringValue: '' }, '""'],
    [{ stringValue: 'plain' }, '"plain"'],
    [{ stringValue: 'a"b\\c\n\u0001é😀' }, '"a\\"b\\\\c\\n\\u0001é😀"'],
    [{ stringValue: `${'long '.repeat(40)}"` }, `"${'long '.repeat(40)}\\""`],
    [{ boolValue: true }, 'true'],
    [{ boolValue: false }, 'false'],
    [{ intValue: 0 }, '0'],
    [{ intValue: -0 }, '0'],
    [{ intValue: -7 }, '-7'],
    [{ intValue: '007' }, '7'],
    [{ intValue: '-0' }, '0'],
    [{ intValue: '9223372036854775807' }, '9223372036854775807'],
    [{ intValue: '-9223372036854775808' }, '-9223372036854775808'],
    [{ intValue: '1e3' }, '1000'],
    [{ intValue: '1.0' }, '1'],
    [{ intValue: '-10E+2' }, '-1000'],
    [{ intValue: '1200e-2' }, '12'],
    [{ intValue: '-0.0e5' }, '0'],
    [{ intValue: `0e${'9'.repeat(400)}` }, '0'],
    [{ intValue: '922337203685477580.7e1' }, '9223372036854775807'],
    [{ intValue: '-9223372036854775808.000' }, '-9223372036854775808'],
    [{ intValue: 9007199254740991 }, '9007199254740991'],
    [{ intValue: 1e20 }, '100000000000000000000.0'],
    [{ intValue: -1.7976931348623157e308 }, '-1.7976931348623157e+308'],
    [{ doubleValue: 5 }, '5.0'],
    [{ doubleValue: 0 }, '0.0'],
    [{ doubleValue: '-0' }, '-0.0'],
    [{ doubleValue: 0.1 }, '0.1'],
    [{ doubleValue: 1e21 }, '1e+21'],
    [{ doubleValue: 1e20 }, '100000000000000000000.0'],
    [{ doubleValue: 5e-324 }, '5e-324'],
    [{ doubleValue: '1.5e3' }, '1500.0'],
    [{ doubleValue: 'NaN' }, '{"$double":"NaN"}'],
    [{ doubleValue: 'Infinity' }, '{"$double":"Infinity"}'],
    [{ doubleValue: '-Infinity' }, '{"$double":"-Infinity"}'],
    [{ stringValueStrindex: 3 }, 'null'],
    [{ string_value: 'x' }, 'null'],
    [{ bytesValue: '' }, '{"$bytes":""}'],
    [{ bytesValue: 'AQI=' }, '{"$bytes":"AQI="}'],
    [{ bytesValue: 'AQI' }, '{"$bytes":"AQI="}'],
    [{ bytesValue: '-_8' }, '{"$bytes":"+/8="}'],
    [{ arrayValue: {} }, '[]'],
    [{ arrayValue: { values: null } }, '[]'],
    [{ arrayValue: { values: [{ intValue: 1 }, {}, null] } }, '[1,null,null]'],
    [{ kvlistValue: {} }, '{}'],
    [
      { kvlistValue: { values: [{ key: '$bytes', value: { stringValue: 'x' } }] } },
      '{"$$bytes":"x"}',
    ],
    [{ kvlistValue: { values: [{ key: '$$' }, { value: {} }] } }, '{"$$$":null,"":null}'],
    [
      { kvlistValue: { values: [{ key: 'a', value: nested(1) }, { key: 'b' }, { key: 'a' }] } },
      '{"b":null,"a":null}',
    ],
    [{}, 'null'],
    [{ stringValue: null, futureValue: 1 }, 'null'],
    [{ stringValue: null, intValue: 3 }, '3'],
    [{ intValue: 3, stringValue: 'first wins by the table' }, '"first wins by the table"'],
  ])('%j is stored as %s', (value, stored) => {
    const fault = new Fault();
    expect(parseAnyValue(value, 1, fault)).toBe(stored);
    expect(fault.refused).toBe(false);
    JSON.parse(stored);
  });

  test.each<[JsonValue, string]>([
    ['x', ''],
    [5, ''],
    [[], ''],
    [{ stringValue: 5 }, 'stringValue'],
    [{ stringValue: false }, 'stringValue'],
    [{ boolValue: 0 }, 'boolValue'],
    [{ boolValue: 'true' }, 'boolValue'],
    [{ intValue: 1.5 }, 'intValue'],
    [{ intValue: '1.5' }, 'intValue'],
    [{ intValue: '1e-1' }, 'intValue'],
    [{ intValue: '1.' }, 'intValue'],
    [{ intValue: '.5e1' }, 'intValue'],
    [{ intValue: '1e' }, 'intValue'],
    [{ intValue: '9.223372036854775808e18' }, 'intValue'],
    [{ intValue: '-9223372036854775.809e3' }, 'intValue'],
    [{ intValue: `1e${'9'.repeat(400)}` }, 'intValue'],
    [{ intValue: `1e-${'9'.repeat(400)}` }, 'intValue'],
    [{ intValue: '+1' }, 'intValue'],
    [{ intValue: ' 1' }, 'intValue'],
    [{ intValue: '' }, 'intValue'],
    [{ intValue: true }, 'intValue'],
    [{ intValue: 2 ** 53 }, 'intValue'],
    [{ intValue: '100000000000000000000' }, 'intValue'],
    [{ intValue: '9223372036854775808' }, 'intValue'],
    [{ intValue: '-9223372036854775809' }, 'intValue'],
    [{ doubleValue: 'nan' }, 'doubleValue'],
    [{ doubleValue: '0x10' }, 'doubleValue'],
    [{ doubleValue: '' }, 'doubleValue'],
    [{ doubleValue: '1e999' }, 'doubleValue'],
    [{ bytesValue: 'a' }, 'bytesValue'],
    [{ bytesValue: 'a b=' }, 'bytesValue'],
    [{ bytesValue: 'AQI=AQI=' }, 'bytesValue'],
    [{ bytesValue: 5 }, 'bytesValue'],
    [{ arrayValue: [] }, 'arrayValue'],
    [{ arrayValue: { values: {} } }, 'arrayValue'],
    [{ kvlistValue: 'x' }, 'kvlistValue'],
    [{ kvlistValue: { values: 1 } }, 'kvlistValue'],
    [
      { kvlistValue: { values: [{ key: 'a', value: { arrayValue: { values: [5] } } }] } },
      'kvlistValue.values[0].value.arrayValue.values[0]',
    ],
  ])('%j is refused at "%s"', (value, path) => {
    const fault = new Fault();
    parseAnyValue(value, 1, fault);
    expect({ ...fault }).toEqual({ reason: 'bad_any_value', path });
  });
});

describe('depth', () => {
  test('the deepest value allowed', () => {
    const fault = new Fault();
    const levels = VALUE_DEPTH_MAX - 1;
    const stored = `${'['.repeat(levels)}true${']'.repeat(levels)}`;
    expect(parseAnyValue(nested(levels), 1, fault)).toBe(stored);
    expect(fault.refused).toBe(false);
  });

  test('the limit is the one in the error that clients get', () => {
    expect(REASONS.too_deep).toBe(`values may nest at most ${VALUE_DEPTH_MAX} levels deep`);
  });

  test('one level more, and a hundred thousand', () => {
    for (const levels of [VALUE_DEPTH_MAX, 100_000]) {
      const fault = new Fault();
      parseAttributes([{ key: 'k', value: nested(levels) }], 'attributes', fault);
      const path = ['attributes[0].value', ...Array(VALUE_DEPTH_MAX).fill('arrayValue.values[0]')];
      expect({ ...fault }).toEqual({ reason: 'too_deep', path: path.join('.') });
    }
  });
});

describe('attribute lists', () => {
  test.each<[JsonValue, string]>([
    [null, '{}'],
    [[], '{}'],
    [[{ key: 'a"b', value: { intValue: '1' } }], '{"a\\"b":1}'],
    [[{ key: '$bytes', value: { stringValue: 'kept as it is' } }], '{"$bytes":"kept as it is"}'],
    [[{ value: { boolValue: true } }], '{"":true}'],
    [[{ key: '__proto__', value: { intValue: 1 } }], '{"__proto__":1}'],
    [
      [
        { key: 'a', value: { intValue: 1 } },
        { key: 'b', value: { intValue: 2 } },
        { key: 'a', value: { intValue: 3 } },
      ],
      '{"b":2,"a":3}',
    ],
  ])('%j is stored as %s', (list, stored) => {
    const fault = new Fault();
    expect(parseAttributes(list, 'attributes', fault)).toBe(stored);
    expect(fault.refused).toBe(false);
  });

  test.each([2, 24, 25, 200])('the last of a repeated key is kept in a list of %i', (length) => {
    const list = Array.from({ length }, (_, index) => ({
      key: index === length - 1 ? 'k0' : `k${index}`,
      value: { intValue: index },
    }));
    const fault = new Fault();
    const stored = JSON.parse(parseAttributes(list, 'attributes', fault));
    expect(Object.keys(stored)).toHaveLength(length - 1);
    expect(stored.k0).toBe(length - 1);
  });

  test('a list is not read for a record that is refused already', () => {
    const fault = new Fault();
    fault.refuse('bad_kind', 'kind');
    expect(parseAttributes([{ key: 'a', value: 5 }], 'attributes', fault)).toBe('{}');
    expect({ ...fault }).toEqual({ reason: 'bad_kind', path: 'kind' });
  });
});
