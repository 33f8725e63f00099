/**
 * Checks attribute values: OTLP's AnyValue. Values are stored as sent, so nothing is read of them beyond
 * what decides whether their record is accepted.
 */
import type { JsonObject, JsonValue } from '../model/json.ts';
import type { Fault } from './fault.ts';
import { isObject, isUnset, type Raw, toDouble, toInt64 } from './fields.ts';
import { INT64_LIMIT } from './json.ts';

/** How deep an attribute value may nest; its own level counts as one. Bounds the recursion. */
export const VALUE_DEPTH_MAX = 64;

const BASE64 = /^[\w+/-]*={0,2}$/;

/**
 * Checks an attribute list.
 *
 * @param raw list of {key, value}; absent and null are the empty list
 * @param field the list's name, for the fault's path
 */
export function checkAttributes(raw: Raw, field: string, fault: Fault): void {
  if (isUnset(raw) || fault.refused) return;
  if (Array.isArray(raw)) checkEntries(raw, field, 1, fault);
  else fault.refuse('attributes_not_a_list', field);
}

/**
 * Checks one AnyValue. If several members are set, which OTLP forbids, the first in the order below counts;
 * a value with unknown members only is empty.
 *
 * @param depth the value's own level, 1 outermost
 */
export function checkAnyValue(raw: Raw, depth: number, fault: Fault): void {
  if (isUnset(raw)) return;
  if (!isObject(raw)) fault.refuse('bad_any_value', '');
  else if (depth > VALUE_DEPTH_MAX) fault.refuse('too_deep', '');
  else checkMembers(raw, depth, fault);
}

function checkMembers(raw: JsonObject, depth: number, fault: Fault): void {
  const { stringValue, boolValue, intValue, doubleValue, bytesValue, arrayValue, kvlistValue } =
    raw;
  if (!isUnset(stringValue)) expectValid(typeof stringValue === 'string', 'stringValue', fault);
  else if (!isUnset(boolValue)) expectValid(typeof boolValue === 'boolean', 'boolValue', fault);
  else if (!isUnset(intValue)) expectValid(isInteger(intValue), 'intValue', fault);
  else if (!isUnset(doubleValue)) expectValid(toDouble(doubleValue) !== null, 'doubleValue', fault);
  else if (!isUnset(bytesValue)) expectValid(isBase64(bytesValue), 'bytesValue', fault);
  else if (!isUnset(arrayValue)) checkArray(arrayValue, depth, fault);
  else if (!isUnset(kvlistValue)) checkKvlist(kvlistValue, depth, fault);
}

function expectValid(isValid: boolean, field: string, fault: Fault): void {
  if (!isValid) fault.refuse('bad_any_value', field);
}

/** opentelemetry-js writes every whole double as intValue, even Number.MAX_VALUE. */
function isInteger(raw: JsonValue): boolean {
  if (toInt64(raw) !== null) return true;
  return typeof raw === 'number' && Number.isFinite(raw) && Math.abs(raw) > INT64_LIMIT;
}

/** Checks standard or URL-safe base64, padded or not. */
function isBase64(raw: JsonValue): boolean {
  if (typeof raw !== 'string' || !BASE64.test(raw)) return false;
  const digits = raw.indexOf('=') === -1 ? raw.length : raw.indexOf('=');
  return digits % 4 !== 1;
}

function checkArray(raw: JsonValue, depth: number, fault: Fault): void {
  const values = listIn(raw, 'arrayValue', fault);
  for (let index = 0; index < values.length && !fault.refused; index += 1) {
    checkAnyValue(values[index], depth + 1, fault);
    if (fault.refused) fault.within(`arrayValue.values[${index}]`);
  }
}

function checkKvlist(raw: JsonValue, depth: number, fault: Fault): void {
  const values = listIn(raw, 'kvlistValue', fault);
  if (!fault.refused) checkEntries(values, 'kvlistValue.values', depth + 1, fault);
}

/** The list of {"values": […]}; the default is empty. */
function listIn(raw: JsonValue, field: string, fault: Fault): readonly JsonValue[] {
  const values = isObject(raw) ? raw.values : raw;
  if (isUnset(values)) return [];
  if (isObject(raw) && Array.isArray(values)) return values;
  fault.refuse('bad_any_value', field);
  return [];
}

function checkEntries(
  entries: readonly JsonValue[],
  field: string,
  depth: number,
  fault: Fault,
): void {
  for (let index = 0; index < entries.length && !fault.refused; index += 1) {
    const entry = entries[index];
    if (!isObject(entry) || !(typeof entry.key === 'string' || isUnset(entry.key))) {
      fault.refuse('bad_attribute', `${field}[${index}]`);
      continue;
    }
    checkAnyValue(entry.value, depth, fault);
    if (fault.refused) fault.within(`${field}[${index}].value`);
  }
}
