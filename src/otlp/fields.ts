/**
 * Reads single OTLP fields from JSON (OTLP specification, "JSON Protobuf Encoding", and ProtoJSON):
 * absent and null mean the default, integers are strings or numbers, ids are hexadecimal.
 * `to…` functions convert or return null; `parse…` functions set the fault and return the default.
 * Must never throw, for any input.
 */

import type { Hex8, Hex16, Int64, JsonObject, JsonValue } from '../model/json.ts';
import type { Fault, Reason } from './fault.ts';

/** Largest value of an enum that is accepted. Values that OTLP does not know are, too, as proto3 keeps them. */
export const ENUM_MAX = 32_767;

/** A field as sent; undefined if absent. */
export type Raw = JsonValue | undefined;

const TRACE_ID = /^[\da-f]{32}$/;
const SPAN_ID = /^[\da-f]{16}$/;
const ZERO_TRACE_ID = '0'.repeat(32);
const ZERO_SPAN_ID = '0'.repeat(16);

const UINT64 = /^(?:0|[1-9]\d{0,18})$/;
const DECIMAL = /^(-?)0*([1-9]\d{0,18}|0)$/;
const DECIMAL_NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
const BIGINT_DIGITS = 19;
const BIGINT_MAX = '9223372036854775807';
const BIGINT_MIN_DIGITS = '9223372036854775808';
const UINT32_MAX = 0xffffffff;
const INT32_MIN = -0x80000000;
const INT32_MAX = 0x7fffffff;
const ENUM_MIN = -ENUM_MAX - 1;
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** True for absent fields and null, which ProtoJSON reads as the default. */
export function isUnset(raw: Raw): raw is null | undefined {
  return raw === undefined || raw === null;
}

export function isObject(raw: Raw): raw is JsonObject {
  return typeof raw === 'object' && raw !== null && !Array.isArray(raw);
}

/** The id in lower case; null for anything but 32 hexadecimal digits that are not all zero. */
export function toTraceId(raw: Raw): Hex16 | null {
  if (typeof raw !== 'string') return null;
  if (TRACE_ID.test(raw)) return raw === ZERO_TRACE_ID ? null : raw;
  const id = raw.toLowerCase();
  return TRACE_ID.test(id) ? id : null;
}

/** The id in lower case; null for anything but 16 hexadecimal digits that are not all zero. */
export function toSpanId(raw: Raw): Hex8 | null {
  if (typeof raw !== 'string') return null;
  if (SPAN_ID.test(raw)) return raw === ZERO_SPAN_ID ? null : raw;
  const id = raw.toLowerCase();
  return SPAN_ID.test(id) ? id : null;
}

/** Checks whether a parent's id is empty or all zeros, which both mean that there is no parent. */
export function isNoParentId(id: string): boolean {
  return id === '' || id === ZERO_SPAN_ID;
}

/**
 * Writes a number with a fraction or an exponent as an integer, exactly; null if it is no integer,
 * or one of more digits than a bigint has.
 *
 * @param text as in JSON, but may have leading zeros
 */
export function toPlainInteger(text: string): string | null {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = DECIMAL_NUMBER.exec(text) ?? [];
  if (whole === '') return null;
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return '0';
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  const zeros = digits.length - end - fraction.length + Number(exponent);
  if (zeros < 0 || end + zeros > BIGINT_DIGITS) return null;
  return sign + digits.slice(0, end) + '0'.repeat(zeros);
}

/**
 * The canonical decimal text; null for anything but an integer in PostgreSQL's bigint range. A
 * string may have an exponent or a fraction, as in ProtoJSON: `1e3`, `1.0`. A number beyond 2^53 is
 * null too, because it is already rounded; `parseLongIntegers` gives it as a string.
 */
export function toInt64(raw: JsonValue): Int64 | null {
  if (typeof raw === 'number') return Number.isSafeInteger(raw) ? String(raw) : null;
  if (typeof raw !== 'string') return null;
  const [, sign = '', digits = ''] =
    DECIMAL.exec(raw) ?? DECIMAL.exec(toPlainInteger(raw) ?? '') ?? [];
  if (digits === '') return null;
  const limit = sign === '' ? BIGINT_MAX : BIGINT_MIN_DIGITS;
  if (digits.length === limit.length && digits > limit) return null;
  return digits === '0' ? '0' : sign + digits;
}

/** As `toInt64`, for integers that are not negative. */
export function toUint64(raw: JsonValue): Int64 | null {
  if (typeof raw === 'string' && UINT64.test(raw)) {
    return raw.length < BIGINT_MAX.length || raw <= BIGINT_MAX ? raw : null;
  }
  const value = toInt64(raw);
  return value === null || value.startsWith('-') ? null : value;
}

/** The double, or null; also null for a number out of range, as in ProtoJSON. */
export function toDouble(raw: JsonValue): number | null {
  if (typeof raw === 'number') return Number.isFinite(raw) ? raw : null;
  if (typeof raw !== 'string') return null;
  if (raw === 'NaN') return Number.NaN;
  if (raw === 'Infinity') return Number.POSITIVE_INFINITY;
  if (raw === '-Infinity') return Number.NEGATIVE_INFINITY;
  const value = JSON_NUMBER.test(raw) ? Number(raw) : Number.NaN;
  return Number.isFinite(value) ? value : null;
}

/** Reads a string; the default is empty. */
export function parseText(raw: Raw, field: string, fault: Fault): string {
  if (typeof raw === 'string') return raw;
  if (!isUnset(raw)) fault.refuse('bad_text', field);
  return '';
}

/** Reads a boolean; the default is false. */
export function parseBool(raw: Raw, field: string, fault: Fault): boolean {
  if (typeof raw === 'boolean') return raw;
  if (!isUnset(raw)) fault.refuse('bad_bool', field);
  return false;
}

/** Reads nanoseconds since 1970; the default is "0". */
export function parseTime(raw: Raw, field: string, fault: Fault): Int64 {
  return parseUint64(raw, 'bad_time', field, fault);
}

/** Reads an unsigned 64-bit integer no larger than PostgreSQL's bigint; the default is "0". */
export function parseUint64(raw: Raw, reason: Reason, field: string, fault: Fault): Int64 {
  if (isUnset(raw)) return '0';
  const value = toUint64(raw);
  if (value === null) fault.refuse(reason, field);
  return value ?? '0';
}

/** Reads one of OTLP's dropped counts; the default is 0. */
export function parseDropped(raw: Raw, field: string, fault: Fault): number {
  return parseInteger(raw, 0, UINT32_MAX, 'bad_dropped_count', field, fault);
}

/** Reads an unsigned 32-bit integer; the default is 0. */
export function parseUint32(raw: Raw, reason: Reason, field: string, fault: Fault): number {
  return parseInteger(raw, 0, UINT32_MAX, reason, field, fault);
}

/** Reads a signed 32-bit integer; the default is 0. */
export function parseInt32(raw: Raw, reason: Reason, field: string, fault: Fault): number {
  return parseInteger(raw, INT32_MIN, INT32_MAX, reason, field, fault);
}

function parseInteger(
  raw: Raw,
  min: number,
  max: number,
  reason: Reason,
  field: string,
  fault: Fault,
): number {
  if (isUnset(raw)) return 0;
  const value = typeof raw === 'string' ? Number(toInt64(raw) ?? Number.NaN) : raw;
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) {
    return value + 0; // minus zero becomes zero
  }
  fault.refuse(reason, field);
  return 0;
}

/** Reads an enum: an integer, never a name; the default is 0. Unknown values are kept. */
export function parseEnum(raw: Raw, reason: Reason, field: string, fault: Fault): number {
  return parseInteger(raw, ENUM_MIN, ENUM_MAX, reason, field, fault);
}

/** Reads a double; null if unset. */
export function parseOptionalDouble(raw: Raw, field: string, fault: Fault): number | null {
  if (isUnset(raw)) return null;
  const value = toDouble(raw);
  if (value === null) fault.refuse('bad_number', field);
  return value;
}

/** Reads a list; the default is empty. */
export function parseList(raw: Raw, field: string, fault: Fault): readonly JsonValue[] {
  if (Array.isArray(raw)) return raw;
  if (!isUnset(raw)) fault.refuse('not_a_list', field);
  return [];
}

/**
 * Checks a list element by element, up to the first fault.
 *
 * @param raw the list as sent; absent and null are empty
 * @param field the list's name, for the fault's path
 * @param check checks one element, with fault paths relative to it
 */
export function checkElements(
  raw: Raw,
  field: string,
  check: (element: Raw, fault: Fault) => void,
  fault: Fault,
): void {
  const list = parseList(raw, field, fault);
  for (let index = 0; index < list.length && !fault.refused; index += 1) {
    check(list[index], fault);
    if (fault.refused) fault.within(`${field}[${index}]`);
  }
}

/** Reads a message; the default is an empty one. */
export function parseObject(raw: Raw, field: string, fault: Fault): JsonObject {
  if (isObject(raw)) return raw;
  if (!isUnset(raw)) fault.refuse('not_an_object', field);
  return {};
}
