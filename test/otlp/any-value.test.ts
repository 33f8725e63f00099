/** Which attribute values are accepted, and which are refused. */

import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/model/json.ts';
import { checkAnyValue, checkAttributes, VALUE_DEPTH_MAX } from '../../src/otlp/any-value.ts';
import { Fault, REASONS } from '../../src/otlp/fault.ts';

/** `depth` arrays, one in the other, around a value; the value itself is one level more. */
function nested(depth: number): JsonValue {
  let value: JsonValue = { boolValue: true };
  for (let level = 0; level < depth; level += 1) value = { arrayValue: { values: [value] } };
  return value;
}

describe('values', () => {
  test.each<JsonValue>([
    null,
    { stringValue: '' },
    { stringValue: 'plain' },
    { stringValue: 'a"b\\c\n\u0001é😀' },
    { stringValue: `${'long '.repeat(40)}"` },
    { boolValue: true },
    { boolValue: false },
    { intValue: 0 },
    { intValue: -0 },
    { intValue: -7 },
    { intValue: '007' },
    { intValue: '-0' },
    { intValue: '9223372036854775807' },
    { intValue: '-9223372036854775808' },
    { intValue: '1e3' },
    { intValue: '1.0' },
    { intValue: '-10E+2' },
    { intValue: '1200e-2' },
    { intValue: '-0.0e5' },
    { intValue: `0e${'9'.repeat(400)}` },
    { intValue: '922337203685477580.7e1' },
    { intValue: '-9223372036854775808.000' },
    { intValue: 9007199254740991 },
    { intValue: 1e20 },
    { intValue: -1.7976931348623157e308 },
    { doubleValue: 5 },
    { doubleValue: 0 },
    { doubleValue: '-0' },
    { doubleValue: 0.1 },
    { doubleValue: 1e21 },
    { doubleValue: 1e20 },
    { doubleValue: 5e-324 },
    { doubleValue: '1.5e3' },
    { doubleValue: 'NaN' },
    { doubleValue: 'Infinity' },
    { doubleValue: '-Infinity' },
    { stringValueStrindex: 3 },
    { string_value: 'x' },
    { bytesValue: '' },
    { bytesValue: 'AQI=' },
    { bytesValue: 'AQI' },
    { bytesValue: '-_8' },
    { arrayValue: {} },
    { arrayValue: { values: null } },
    { arrayValue: { values: [{ intValue: 1 }, {}, null] } },
    { kvlistValue: {} },
    { kvlistValue: { values: [{ key: '$bytes', value: { stringValue: 'x' } }] } },
    { kvlistValue: { values: [{ key: '$$' }, { value: {} }] } },
    { kvlistValue: { values: [{ key: 'a', value: nested(1) }, { key: 'b' }, { key: 'a' }] } },
    {},
    { stringValue: null, futureValue: 1 },
    { stringValue: null, intValue: 3 },
    { intValue: 3, stringValue: 'first wins by the table' },
  ])('%j is accepted', (value) => {
    const fault = new Fault();
    checkAnyValue(value, 1, fault);
    expect(fault.refused).toBe(false);
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
    checkAnyValue(value, 1, fault);
    expect({ ...fault }).toEqual({ reason: 'bad_any_value', path });
  });
});

describe('depth', () => {
  test('the deepest value allowed', () => {
    const fault = new Fault();
    const levels = VALUE_DEPTH_MAX - 1;
    checkAnyValue(nested(levels), 1, fault);
    expect(fault.refused).toBe(false);
  });

  test('the limit is the one in the error that clients get', () => {
    expect(REASONS.too_deep).toBe(`values may nest at most ${VALUE_DEPTH_MAX} levels deep`);
  });

  test('one level more, and a hundred thousand', () => {
    for (const levels of [VALUE_DEPTH_MAX, 100_000]) {
      const fault = new Fault();
      checkAttributes([{ key: 'k', value: nested(levels) }], 'attributes', fault);
      const path = ['attributes[0].value', ...Array(VALUE_DEPTH_MAX).fill('arrayValue.values[0]')];
      expect({ ...fault }).toEqual({ reason: 'too_deep', path: path.join('.') });
    }
  });
});

describe('attribute lists', () => {
  test.each<JsonValue>([
    null,
    [],
    [{ key: 'a"b', value: { intValue: '1' } }],
    [{ value: { boolValue: true } }, { key: null }, {}],
    [{ key: 'a', value: { intValue: 1 } }, { key: 'a' }],
  ])('%j is accepted', (list) => {
    const fault = new Fault();
    checkAttributes(list, 'attributes', fault);
    expect(fault.refused).toBe(false);
  });

  test.each<[JsonValue, string, string]>([
    ['x', 'attributes_not_a_list', 'attributes'],
    [[{}, 5], 'bad_attribute', 'attributes[1]'],
    [[{ key: 5 }], 'bad_attribute', 'attributes[0]'],
    [[{}, { value: { boolValue: 0 } }], 'bad_any_value', 'attributes[1].value.boolValue'],
  ])('%j is refused: %s at "%s"', (list, reason, path) => {
    const fault = new Fault();
    checkAttributes(list, 'attributes', fault);
    expect({ ...fault }).toEqual({ reason, path });
  });

  test('a list is not read for a record that is refused already', () => {
    const fault = new Fault();
    fault.refuse('bad_kind', 'kind');
    checkAttributes([{ key: 'a', value: 5 }], 'attributes', fault);
    expect({ ...fault }).toEqual({ reason: 'bad_kind', path: 'kind' });
  });
});
