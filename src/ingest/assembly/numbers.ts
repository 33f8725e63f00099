/** Checks numbers and ids, by the rules of `src/otlp/fields.ts`. */
import { skipNull, state, unusual } from './memory.ts';

/** Digits of a number that a double holds exactly, as `JSON.parse` reads it. */
const EXACT_DIGITS_MAX: i32 = 15;
const INT64_DIGITS_MAX: i32 = 19;
const INT64_LIMIT: f64 = 9.223372036854775808e18;
/** A number of fewer digits, with an exponent of two, is finite. */
const FINITE_DIGITS_MAX: i32 = 200;

/**
 * The double of a number's text, as `JSON.parse` reads it. From JavaScript, because more digits than
 * a double has are hard to round.
 */
declare function doubleOf(start: i32, end: i32): f64;

const NAN_TEXT: u64 = 0x000000224e614e22; // "NaN"
const FIVE_BYTES: u64 = 0x000000ffffffffff;
const INFINITY_TEXT: u64 = 0x74696e69666e4922; // "Infinit
const INFINITY_END: u16 = 0x2279; // y"
const MINUS_INFINITY_TEXT: u64 = 0x696e69666e492d22; // "-Infini
const MINUS_INFINITY_END: u16 = 0x7974; // ty

const POWERS_OF_TEN = <i32>(
  memory.data<f64>([
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
  ])
);

function isDigitAt(at: i32): bool {
  return <u32>(<i32>load<u8>(at) - 0x30) < 10;
}

function skipDigits(at: i32): i32 {
  while (isDigitAt(at)) at += 1;
  return at;
}

/**
 * Reads up to 19 digits without leading zeros into `state.value`; @returns the end of the digits
 */
function readDigits(at: i32, most: u64): i32 {
  let value: u64 = 0;
  let end = at;
  while (isDigitAt(end)) {
    value = value * 10 + (<u64>load<u8>(end) - 0x30);
    end += 1;
  }
  state.value = value;
  const digits = end - at;
  if (digits === 0 || digits > INT64_DIGITS_MAX || value > most) return unusual(end);
  return digits > 1 && load<u8>(at) === 0x30 ? unusual(at) : end;
}

/** Reads nanoseconds since 1970, as a number or a string, or null as 0, into `state.value`. */
export function readTime(at: i32): i32 {
  if (load<u8>(at) === 0x6e) {
    state.value = 0;
    return skipNull(at);
  }
  const quoted = <i32>(load<u8>(at) === 0x22);
  const end = readDigits(at + quoted, <u64>i64.MAX_VALUE);
  if (end === 0) return 0;
  return quoted && load<u8>(end) !== 0x22 ? unusual(end) : end + quoted;
}

/** Reads an unsigned integer up to `max`, or null as 0, into `state.value`. */
export function readUint(at: i32, max: u32): i32 {
  if (load<u8>(at) !== 0x6e) return readDigits(at, <u64>max);
  state.value = 0;
  return skipNull(at);
}

/** Checks a 64-bit integer, as a number or a string. The smallest one is not ordinary. */
export function checkInt64(at: i32): i32 {
  const quoted = <i32>(load<u8>(at) === 0x22);
  const first = at + quoted;
  const end = readDigits(first + <i32>(load<u8>(first) === 0x2d), <u64>i64.MAX_VALUE);
  if (end === 0) return 0;
  return quoted && load<u8>(end) !== 0x22 ? unusual(end) : end + quoted;
}

/** Checks an integer of an AnyValue: opentelemetry-js writes every whole double as one, such as 1e+21. */
export function checkIntValue(at: i32): i32 {
  const end = checkInt64(at);
  const next = load<u8>(end);
  const isWhole = end !== 0 && next !== 0x2e && (next | 0x20) !== 0x65;
  if (isWhole || load<u8>(at) === 0x22) return end;
  const wideEnd = skipNumber(at);
  if (wideEnd === 0) return 0;
  const size = abs<f64>(doubleOf(at, wideEnd));
  return size > INT64_LIMIT && size < Infinity ? wideEnd : unusual(at);
}

/** Reads an unsigned integer that a double holds exactly, as a number or a string. */
export function readCount(at: i32): i32 {
  const quoted = <i32>(load<u8>(at) === 0x22);
  const end = readDigits(at + quoted, 999_999_999_999_999);
  if (end === 0) return 0;
  return quoted && load<u8>(end) !== 0x22 ? unusual(end) : end + quoted;
}

/** Reads sixteen hexadecimal digits as eight bytes into `state.value`; false for other bytes. */
export function readHex(at: i32): bool {
  const bytes = v128.load(at);
  const digits = i8x16.sub(bytes, i8x16.splat(0x30));
  const isDigit = i8x16.lt_u(digits, i8x16.splat(10));
  const letters = i8x16.sub(v128.or(bytes, i8x16.splat(0x20)), i8x16.splat(0x61));
  const isLetter = i8x16.lt_u(letters, i8x16.splat(6));
  if (!i8x16.all_true(v128.or(isDigit, isLetter))) return false;
  const values = v128.bitselect(digits, i8x16.add(letters, i8x16.splat(10)), isDigit);
  // The first digit of a pair is its upper half, and in the lower byte.
  const upper = i16x8.shl(v128.and(values, i16x8.splat(0x00ff)), 4);
  const pairs = v128.or(upper, i16x8.shr_u(values, 8));
  state.value = <u64>i64x2.extract_lane(i8x16.narrow_i16x8_u(pairs, pairs), 0);
  return true;
}

/** Past a number of JSON; the digits of its exponent are counted. */
export function skipNumber(at: i32): i32 {
  state.exponentDigits = 0;
  const first = at + <i32>(load<u8>(at) === 0x2d);
  let end = skipDigits(first);
  if (end === first || (end > first + 1 && load<u8>(first) === 0x30)) return unusual(at);
  if (load<u8>(end) === 0x2e) {
    const fraction = end + 1;
    end = skipDigits(fraction);
    if (end === fraction) return unusual(end);
  }
  if ((load<u8>(end) | 0x20) !== 0x65) return end;
  const sign = load<u8>(end + 1);
  const exponent = end + (sign === 0x2b || sign === 0x2d ? 2 : 1);
  end = skipDigits(exponent);
  state.exponentDigits = end - exponent;
  return end === exponent ? unusual(end) : end;
}

/** Checks a double: a finite number, or the text of another double. A number in quotes is not ordinary. */
export function checkDouble(at: i32): i32 {
  if (load<u8>(at) === 0x22) return readNonFinite(at);
  const end = skipNumber(at);
  if (end === 0) return 0;
  const isSmall = end - at < FINITE_DIGITS_MAX && state.exponentDigits < 3;
  return isSmall || abs<f64>(doubleOf(at, end)) < Infinity ? end : unusual(at);
}

/** Reads a double into `state.real`: a finite number, or the text of another double. */
export function readDouble(at: i32): i32 {
  if (load<u8>(at) === 0x22) return readNonFinite(at);
  const isNegative = load<u8>(at) === 0x2d;
  const first = at + <i32>isNegative;
  let end = first;
  let value: u64 = 0;
  while (isDigitAt(end)) {
    value = value * 10 + (<u64>load<u8>(end) - 0x30);
    end += 1;
  }
  let digits = end - first;
  let fraction = 0;
  if (digits === 0 || (digits > 1 && load<u8>(first) === 0x30)) return unusual(at);
  if (load<u8>(end) === 0x2e) {
    const start = end + 1;
    end = start;
    while (isDigitAt(end)) {
      value = value * 10 + (<u64>load<u8>(end) - 0x30);
      end += 1;
    }
    fraction = end - start;
    if (fraction === 0) return unusual(end);
    digits += fraction;
  }
  if (digits <= EXACT_DIGITS_MAX && (load<u8>(end) | 0x20) !== 0x65) {
    const exact = <f64>value / load<f64>(POWERS_OF_TEN + (fraction << 3));
    state.real = isNegative ? -exact : exact;
    return end;
  }
  end = skipNumber(at);
  if (end === 0) return 0;
  state.real = doubleOf(at, end);
  return abs<f64>(state.real) < Infinity ? end : unusual(at);
}

/** Reads `"NaN"`, `"Infinity"` or `"-Infinity"` into `state.real`. */
function readNonFinite(at: i32): i32 {
  const word = load<u64>(at);
  if ((word & FIVE_BYTES) === NAN_TEXT) {
    state.real = NaN;
    return at + 5;
  }
  if (word === INFINITY_TEXT && load<u16>(at + 8) === INFINITY_END) {
    state.real = Infinity;
    return at + 10;
  }
  if (word !== MINUS_INFINITY_TEXT || load<u16>(at + 8) !== MINUS_INFINITY_END) return unusual(at);
  if (load<u8>(at + 10) !== 0x22) return unusual(at);
  state.real = -Infinity;
  return at + 11;
}
