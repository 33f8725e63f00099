/**
 * Attribute values of accepted records as JSON text, the yardstick of `src/otlp/stored-values.ts`:
 *
 *   string, bool → themselves          int → integer literal, all digits
 *   double → literal with `.` or `e`, or {"$double":"NaN"}      bytes → {"$bytes":"<base64>"}
 *   array → array   kvlist → object, a key that begins with `$` gets one more   empty → null
 */
import type { JsonText, JsonValue } from '../../src/model/json.ts';
import { isObject, isUnset, type Raw, toDouble, toInt64 } from '../../src/otlp/fields.ts';

/** Writes an attribute list as one JSON object. Of entries with the same key the last one is kept, at its position. */
export function attributesText(raw: Raw): JsonText {
  return Array.isArray(raw) ? entriesText(raw, '') : '{}';
}

/** Writes an AnyValue. If several members are set, the first in the order of the table above counts. */
export function valueText(raw: Raw): JsonText {
  if (!isObject(raw)) return 'null';
  const { stringValue, boolValue, intValue, doubleValue, bytesValue, arrayValue, kvlistValue } =
    raw;
  if (typeof stringValue === 'string') return JSON.stringify(stringValue);
  if (typeof boolValue === 'boolean') return String(boolValue);
  if (!isUnset(intValue)) return toInt64(intValue) ?? doubleText(Number(intValue));
  if (!isUnset(doubleValue)) return doubleText(toDouble(doubleValue) ?? Number.NaN);
  if (!isUnset(bytesValue)) {
    return `{"$bytes":"${Buffer.from(String(bytesValue), 'base64').toString('base64')}"}`;
  }
  if (!isUnset(arrayValue)) return `[${valuesIn(arrayValue).map(valueText)}]`;
  if (!isUnset(kvlistValue)) return entriesText(valuesIn(kvlistValue), '$');
  return 'null';
}

const valuesIn = (raw: Raw): readonly JsonValue[] =>
  isObject(raw) && Array.isArray(raw.values) ? raw.values : [];

function doubleText(value: number): JsonText {
  if (!Number.isFinite(value)) return `{"$double":"${value}"}`;
  if (Object.is(value, -0)) return '-0.0';
  const text = String(value);
  return Number.isInteger(value) && !text.includes('e') ? `${text}.0` : text;
}

/** @param mark doubled at the start of a key; '' for none */
function entriesText(entries: readonly JsonValue[], mark: string): JsonText {
  const texts = new Map<string, string>();
  for (const entry of entries) {
    const { key, value } = isObject(entry) ? entry : {};
    const name = typeof key === 'string' ? key : '';
    const marked = mark !== '' && name.startsWith(mark) ? mark + name : name;
    texts.delete(marked);
    texts.set(marked, valueText(value));
  }
  return `{${[...texts].map(([name, text]) => `${JSON.stringify(name)}:${text}`)}}`;
}
