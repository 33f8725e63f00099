/** Numbers and ids, by the rules of `src/otlp/fast/number-scanner.ts` and `id-scanner.ts`. */
import { put2, skipNull, state, unusual } from './memory.ts';

/** Digits of a number that a double holds exactly, as `JSON.parse` reads it. */
const EXACT_DIGITS_MAX: i32 = 15;
const TIME_DIGITS_MAX: i32 = 19;
const INT_DIGITS_MAX: i32 = 18;

/**
 * Writes a double as `src/otlp/json-text.ts` does. From JavaScript, because its digits are those
 * that `String` gives.
 *
 * @param start of the number's text
 * @param to where it is written
 * @returns the end of what was written; 0 for an infinite one
 */
declare function writeDouble(start: i32, end: i32, to: i32): i32;

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

/** Whether the byte is a digit. */
function isDigitAt(at: i32): bool {
  return <u32>(<i32>load<u8>(at) - 0x30) < 10;
}

/** Past all digits. */
function skipDigits(at: i32): i32 {
  while (isDigitAt(at)) at += 1;
  return at;
}

/** Reads nanoseconds since 1970, as a number or a string, or null as 0, into `state.value`. */
export function readTime(at: i32): i32 {
  const quoted = <i32>(load<u8>(at) === 0x22);
  const start = at + quoted;
  let value: u64 = 0;
  let end = start;
  while (isDigitAt(end)) {
    value = value * 10 + (<u64>load<u8>(end) - 0x30);
    end += 1;
    if (end - start > TIME_DIGITS_MAX) return unusual(end);
  }
  state.value = value;
  const digits = end - start;
  if (digits === 0) return quoted ? unusual(at) : skipNull(at);
  if (digits > 1 && load<u8>(start) === 0x30) return unusual(at);
  if (!quoted) return digits > EXACT_DIGITS_MAX ? unusual(at) : end;
  if (value > <u64>i64.MAX_VALUE || load<u8>(end) !== 0x22) return unusual(end);
  return end + 1;
}

/** Reads an unsigned integer up to `max`, or null as 0, into `state.value`. */
export function readUint(at: i32, max: u32): i32 {
  let value: u64 = 0;
  let end = at;
  while (isDigitAt(end)) {
    value = value * 10 + (<u64>load<u8>(end) - 0x30);
    end += 1;
    if (value > <u64>max) return unusual(end);
  }
  state.value = value;
  if (end === at) return skipNull(at);
  return end > at + 1 && load<u8>(at) === 0x30 ? unusual(at) : end;
}

/**
 * Reads a bigint, as a number or a string, into `state.value`. The smallest one and minus zero are not
 * ordinary.
 */
export function readInt64(at: i32): i32 {
  const quoted = <i32>(load<u8>(at) === 0x22);
  const first = at + quoted;
  if (load<u8>(first) !== 0x2d) return load<u8>(at) === 0x6e ? unusual(at) : readTime(at);
  const start = first + 1;
  let value: u64 = 0;
  let end = start;
  while (isDigitAt(end)) {
    value = value * 10 + (<u64>load<u8>(end) - 0x30);
    end += 1;
    if (end - start > TIME_DIGITS_MAX) return unusual(end);
  }
  if (end === start || load<u8>(start) === 0x30 || value > <u64>i64.MAX_VALUE) return unusual(at);
  state.value = <u64>-(<i64>value);
  if (!quoted) return end - start > EXACT_DIGITS_MAX ? unusual(at) : end;
  return load<u8>(end) === 0x22 ? end + 1 : unusual(end);
}

/** Reads an unsigned integer that a double holds exactly, as a number or a string. */
export function readCount(at: i32): i32 {
  const quoted = <i32>(load<u8>(at) === 0x22);
  const start = at + quoted;
  let value: u64 = 0;
  let end = start;
  while (isDigitAt(end)) {
    value = value * 10 + (<u64>load<u8>(end) - 0x30);
    end += 1;
  }
  state.value = value;
  const digits = end - start;
  if (digits === 0 || digits > EXACT_DIGITS_MAX) return unusual(end);
  if (digits > 1 && load<u8>(start) === 0x30) return unusual(at);
  if (quoted && load<u8>(end) !== 0x22) return unusual(end);
  return end + quoted;
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

/** Copies an integer that `toInt64` would write the same. */
export function copyInt(at: i32): i32 {
  const quoted = <i32>(load<u8>(at) === 0x22);
  const start = at + quoted;
  const first = start + <i32>(load<u8>(start) === 0x2d);
  const end = skipDigits(first);
  const digits = end - first;
  if (digits === 0 || digits > (quoted ? INT_DIGITS_MAX : EXACT_DIGITS_MAX)) return unusual(end);
  if (load<u8>(first) === 0x30 && end > start + 1) return unusual(at);
  if (quoted && load<u8>(end) !== 0x22) return unusual(end);
  copyShort(start, end);
  return end + quoted;
}

/** Copies up to 20 bytes. */
function copyShort(start: i32, end: i32): void {
  v128.store(state.text, v128.load(start));
  store<u32>(state.text + 16, load<u32>(start + 16));
  state.text += end - start;
}

/**
 * Copies a double. The text of up to fifteen digits is that of the double when zeros at the end of
 * its fraction are left out; others, and small ones, which have an exponent, are left to JavaScript.
 */
export function copyDouble(at: i32): i32 {
  const first = at + <i32>(load<u8>(at) === 0x2d);
  const point = skipDigits(first);
  const whole = point - first;
  if (whole === 0 || (whole > 1 && load<u8>(first) === 0x30)) return unusual(at);
  let end = point;
  let kept = point;
  if (load<u8>(point) === 0x2e) {
    end = skipDigits(point + 1);
    if (end === point + 1) return unusual(end);
    kept = end;
    while (load<u8>(kept - 1) === 0x30) kept -= 1;
    if (kept === point + 1) kept = point;
  }
  const isExact = end - first <= EXACT_DIGITS_MAX && (load<u8>(end) | 0x20) !== 0x65;
  // 0000
  const isSmall = kept === point || load<u32>(point + 1) === 0x30303030;
  if (isExact && !(isSmall && load<u8>(first) === 0x30)) {
    copyShort(at, kept);
    if (kept === point) put2(0x302e); // .0
    return end;
  }
  return copyLongDouble(at, end);
}

/** Past an exponent, if there is one. */
function skipExponent(at: i32): i32 {
  if ((load<u8>(at) | 0x20) !== 0x65) return at;
  const sign = load<u8>(at + 1);
  const exponent = at + (sign === 0x2b || sign === 0x2d ? 2 : 1);
  const end = skipDigits(exponent);
  return end === exponent ? unusual(end) : end;
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
  end = skipExponent(end);
  if (end === 0) return 0;
  state.real = doubleOf(at, end);
  return abs<f64>(state.real) < Infinity ? end : unusual(at);
}

/** Reads `"NaN"`, `"Infinity"` or `"-Infinity"`. A number in quotes is not ordinary. */
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

/** Copies a double whose digits end at `end`, with its exponent, by way of JavaScript. */
function copyLongDouble(at: i32, end: i32): i32 {
  end = skipExponent(end);
  if (end === 0) return 0;
  const written = writeDouble(at, end, state.text);
  if (written === 0) return unusual(at);
  state.text = written;
  return end;
}
