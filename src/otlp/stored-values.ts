/**
 * Converts attribute values from parsed OTLP/JSON to values that rules read:
 *
 *   string, bool → themselves          int → number
 *   double → number, or {"$double":"NaN"}      bytes → {"$bytes":"<base64>"}
 *   array → array   kvlist → object, a key that begins with `$` gets one more   empty → null
 *
 * For records that were accepted: whatever is not valid becomes null.
 */
import type { JsonObject, JsonValue } from '../model/json.ts';
import { VALUE_DEPTH_MAX } from './any-value.ts';
import { isObject, isUnset, type Raw, toDouble, toInt64 } from './fields.ts';

/** Converts a list of attributes. Of entries with the same key the last one is kept, at its position. */
export function storedAttributes(raw: Raw): JsonObject {
  return Array.isArray(raw) ? storedEntries(raw, '', 1) : {};
}

/**
 * Converts an AnyValue.
 *
 * @param depth the value's own level, 1 outermost
 */
export function storedValue(raw: Raw, depth = 1): JsonValue {
  if (!isObject(raw) || depth > VALUE_DEPTH_MAX) return null;
  const { stringValue } = raw;
  if (typeof stringValue === 'string') return stringValue;
  const { boolValue, intValue, doubleValue } = raw;
  if (typeof boolValue === 'boolean') return boolValue;
  if (!isUnset(intValue)) return storedInteger(intValue);
  if (!isUnset(doubleValue)) return storedDouble(toDouble(doubleValue));
  const { bytesValue, arrayValue, kvlistValue } = raw;
  if (typeof bytesValue === 'string') return storedBytes(bytesValue);
  if (isObject(arrayValue)) return storedList(arrayValue.values, depth);
  if (isObject(kvlistValue)) {
    const { values } = kvlistValue;
    return Array.isArray(values) ? storedEntries(values, '$', depth + 1) : {};
  }
  return null;
}

function storedInteger(raw: JsonValue): JsonValue {
  if (typeof raw === 'number') return raw + 0; // minus zero becomes zero
  const text = toInt64(raw);
  return text === null ? null : Number(text);
}

function storedDouble(value: number | null): JsonValue {
  return value === null || Number.isFinite(value) ? value : { $double: String(value) };
}

function storedBytes(base64: string): JsonValue {
  return { $bytes: Buffer.from(base64, 'base64').toString('base64') };
}

function storedList(values: Raw, depth: number): JsonValue {
  if (!Array.isArray(values)) return [];
  return values.map((value) => storedValue(value, depth + 1));
}

/** @param mark doubled at the start of a key; '' for none */
function storedEntries(entries: readonly JsonValue[], mark: string, depth: number): JsonObject {
  const stored: JsonObject = {};
  for (const entry of entries) {
    if (!isObject(entry)) continue;
    const key = typeof entry.key === 'string' ? entry.key : '';
    const name = mark !== '' && key.startsWith(mark) ? mark + key : key;
    put(stored, name, storedValue(entry.value, depth));
  }
  return stored;
}

/** Sets a member as `JSON.parse` does, whatever its name is. */
function put(object: JsonObject, name: string, value: JsonValue): void {
  if (object[name] === undefined) {
    object[name] = value;
    return;
  }
  // Members that are inherited come here, too; `__proto__` must not set the prototype.
  delete object[name];
  Object.defineProperty(object, name, {
    value,
    configurable: true,
    enumerable: true,
    writable: true,
  });
}
