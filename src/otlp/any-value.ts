/**
 * Owns the stored form of attribute values: OTLP's AnyValue as JSON text, lossless and queryable.
 *
 *   string, bool → themselves          int → integer literal, all digits
 *   double → literal with `.` or `e`, or {"$double":"NaN"}      bytes → {"$bytes":"<base64>"}
 *   array → array   kvlist → object, a key that begins with `$` gets one more   empty → null
 *
 * Must never build intermediate objects: it writes most of the bytes the decoder produces.
 */

import type { JsonText, JsonValue } from '../model/json.ts';
import type { Fault } from './fault.ts';
import { isObject, isUnset, type Raw, toDouble, toInt64 } from './fields.ts';
import { INT64_LIMIT } from './json.ts';
import { doubleText, quote } from './json-text.ts';

/** How deep an attribute value may nest; its own level counts as one. Bounds the recursion. */
export const VALUE_DEPTH_MAX = 64;

/**
 * Up to this length all pairs of keys are compared. For lists of 12 this is about twice as fast as
 * filling a Set and saves about 5 % of decoding a span body (Node 20.20, 2026-11).
 */
const PAIRWISE_KEYS_MAX = 24;

const BASE64 = /^[\w+/-]*={0,2}$/;

/**
 * Writes an attribute list as one JSON object. Of entries with the same key the last one is kept,
 * at its position: OTLP leaves the choice open, and JSON parsers also keep the last one.
 *
 * @param raw list of {key, value}; absent and null are the empty list
 * @param field the list's name, for the fault's path
 * @returns JSON text of an object; must not be used if `fault` is set
 */
export function parseAttributes(raw: Raw, field: string, fault: Fault): JsonText {
  if (isUnset(raw) || fault.refused) return '{}';
  if (Array.isArray(raw)) return entriesText(raw, field, '', 1, fault);
  fault.refuse('attributes_not_a_list', field);
  return '{}';
}

/**
 * Writes one AnyValue. If several members are set, which OTLP forbids, the first in the order of
 * the table above is written; a value with unknown members only is empty.
 *
 * @param raw an AnyValue; absent and null are empty
 * @param depth the value's own level, 1 outermost
 * @returns JSON text; must not be used if `fault` is set
 */
export function parseAnyValue(raw: Raw, depth: number, fault: Fault): JsonText {
  if (isUnset(raw)) return 'null';
  if (!isObject(raw)) return refused(fault, '');
  if (depth > VALUE_DEPTH_MAX) {
    fault.refuse('too_deep', '');
    return 'null';
  }
  const { stringValue } = raw;
  if (typeof stringValue === 'string') return quote(stringValue);
  if (!isUnset(stringValue)) return refused(fault, 'stringValue');
  const { boolValue, intValue, doubleValue } = raw;
  if (typeof boolValue === 'boolean') return boolValue ? 'true' : 'false';
  if (!isUnset(boolValue)) return refused(fault, 'boolValue');
  if (!isUnset(intValue)) return intText(intValue, fault);
  if (!isUnset(doubleValue)) {
    const value = toDouble(doubleValue);
    return value === null ? refused(fault, 'doubleValue') : doubleText(value);
  }
  const { bytesValue, arrayValue, kvlistValue } = raw;
  if (!isUnset(bytesValue)) return bytesText(bytesValue, fault);
  if (!isUnset(arrayValue)) return arrayText(arrayValue, depth, fault);
  if (!isUnset(kvlistValue)) return kvlistText(kvlistValue, depth, fault);
  return 'null';
}

function refused(fault: Fault, path: string): JsonText {
  fault.refuse('bad_any_value', path);
  return 'null';
}

function intText(raw: JsonValue, fault: Fault): JsonText {
  const text = toInt64(raw);
  if (text !== null) return text;
  // opentelemetry-js writes every whole double as intValue, even Number.MAX_VALUE.
  const isWideDouble =
    typeof raw === 'number' && Number.isFinite(raw) && Math.abs(raw) > INT64_LIMIT;
  return isWideDouble ? doubleText(raw) : refused(fault, 'intValue');
}

/** Reads standard or URL-safe base64, padded or not; writes standard base64, padded. */
function bytesText(raw: JsonValue, fault: Fault): JsonText {
  if (typeof raw !== 'string' || !BASE64.test(raw)) return refused(fault, 'bytesValue');
  const digits = raw.indexOf('=') === -1 ? raw.length : raw.indexOf('=');
  if (digits % 4 === 1) return refused(fault, 'bytesValue');
  return `{"$bytes":"${Buffer.from(raw, 'base64').toString('base64')}"}`;
}

function arrayText(raw: JsonValue, depth: number, fault: Fault): JsonText {
  const values = isObject(raw) ? raw.values : raw;
  if (isUnset(values)) return '[]';
  if (!isObject(raw) || !Array.isArray(values)) return refused(fault, 'arrayValue');
  let text = '[';
  for (let index = 0; index < values.length; index += 1) {
    if (index > 0) text += ',';
    text += parseAnyValue(values[index], depth + 1, fault);
    if (fault.refused) {
      fault.within(`arrayValue.values[${index}]`);
      break;
    }
  }
  return `${text}]`;
}

function kvlistText(raw: JsonValue, depth: number, fault: Fault): JsonText {
  const values = isObject(raw) ? raw.values : raw;
  if (isUnset(values)) return '{}';
  if (!isObject(raw) || !Array.isArray(values)) return refused(fault, 'kvlistValue');
  return entriesText(values, 'kvlistValue.values', '$', depth + 1, fault);
}

/**
 * Writes {key, value} entries as an object.
 *
 * @param mark doubled at the start of a key; '' for none
 */
function entriesText(
  entries: readonly JsonValue[],
  field: string,
  mark: string,
  depth: number,
  fault: Fault,
): JsonText {
  const last = hasRepeatedKey(entries) ? lastPlaces(entries) : null;
  let text = '{';
  for (let index = 0; index < entries.length; index += 1) {
    const entry = entries[index];
    const key = keyOf(entry);
    if (!isObject(entry) || key === null) {
      fault.refuse('bad_attribute', `${field}[${index}]`);
      break;
    }
    const value = parseAnyValue(entry.value, depth, fault);
    if (fault.refused) {
      fault.within(`${field}[${index}].value`);
      break;
    }
    if (last !== null && last.get(key) !== index) continue;
    if (text.length > 1) text += ',';
    text += `${quote(mark !== '' && key.startsWith(mark) ? mark + key : key)}:${value}`;
  }
  return `${text}}`;
}

/** The entry's key, empty if unset; null if the entry or the key is not valid. */
function keyOf(entry: Raw): string | null {
  if (!isObject(entry)) return null;
  const { key } = entry;
  if (typeof key === 'string') return key;
  return isUnset(key) ? '' : null;
}

function hasRepeatedKey(entries: readonly JsonValue[]): boolean {
  if (entries.length > PAIRWISE_KEYS_MAX) return new Set(entries.map(keyOf)).size < entries.length;
  for (let at = 1; at < entries.length; at += 1) {
    const key = keyOf(entries[at]);
    for (let before = 0; before < at; before += 1) {
      if (keyOf(entries[before]) === key) return true;
    }
  }
  return false;
}

/** The last index of each key. */
function lastPlaces(entries: readonly JsonValue[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  entries.forEach((entry, index) => {
    places.set(keyOf(entry) ?? '', index);
  });
  return places;
}
