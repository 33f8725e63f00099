/**
 * Reads doubles and 64-bit integers from a body's bytes. A double of up to 15 digits is a whole
 * number below 2^53 divided by an exact power of ten, which gives the same result as `JSON.parse`.
 * Longer ones are computed by `decimal-double.ts`, or by `Number`.
 */

import { doubleText } from '../json-text.ts';
import { fourDigits, isDigit, ZERO } from './byte-tests.ts';
import { decimalDouble, EXACT_DIGITS_MAX, POWERS_OF_TEN } from './decimal-double.ts';
import { FALLBACK, MINUS, QUOTE, type Scanner } from './scanner.ts';

const POINT = 0x2e;
const LETTER_E = 0x65;
const TO_LOWER_CASE = 0x20;
const UINT32_MAX = 0xffffffff;
const NANOS_PER_SECOND_DIGITS = 9;
// The largest bigint as seconds and nanoseconds.
const SECONDS_MAX = 9_223_372_036;
const NANOS_MAX = 854_775_807;

/** Reads a number (not a string, not null) as a finite double. */
function scanDouble(scanner: Scanner): number {
  scanner.peek();
  const { view } = scanner;
  const start = scanner.at;
  const isNegative = view.getUint8(start) === MINUS;
  const first = isNegative ? start + 1 : start;
  let at = first;
  let value = 0;
  let byte = view.getUint8(at);
  while (isDigit(byte)) {
    value = value * 10 + (byte - ZERO);
    at += 1;
    byte = view.getUint8(at);
  }
  const digits = at - first;
  if (digits === 0 || (digits > 1 && view.getUint8(first) === ZERO)) throw FALLBACK;
  let fraction = 0;
  if (byte === POINT) {
    const point = at;
    at += 1;
    byte = view.getUint8(at);
    while (isDigit(byte)) {
      value = value * 10 + (byte - ZERO);
      at += 1;
      byte = view.getUint8(at);
    }
    fraction = at - point - 1;
    if (fraction === 0) throw FALLBACK;
  }
  if (digits + fraction > EXACT_DIGITS_MAX || (byte | TO_LOWER_CASE) === LETTER_E) {
    return longDouble(scanner, first);
  }
  scanner.at = at;
  const exact = fraction === 0 ? value : value / (POWERS_OF_TEN[fraction] ?? Number.NaN);
  return isNegative ? -exact : exact;
}

function longDouble(scanner: Scanner, first: number): number {
  const start = scanner.at;
  scanner.skipNumber();
  const nearest = decimalDouble(scanner.view, first, scanner.at);
  if (!Number.isNaN(nearest)) return first > start ? -nearest : nearest;
  const value = Number(scanner.slice(start, scanner.at));
  if (!Number.isFinite(value)) throw FALLBACK;
  return value;
}

/** Reads a number and writes it with `doubleText`; @returns the double. */
export function copyDouble(scanner: Scanner): number {
  const value = scanDouble(scanner);
  const text = doubleText(value);
  const { arena } = scanner;
  for (let index = 0; index < text.length; index += 1) arena.byte(text.charCodeAt(index));
  return value;
}

/** Reads null (as 0) or an unsigned integer up to `max`, which is at most 2^32 − 1. */
export function scanUint(scanner: Scanner, max: number): number {
  const { view } = scanner;
  let byte = scanner.peek();
  if (!isDigit(byte)) {
    if (scanner.isNull()) return 0;
    throw FALLBACK;
  }
  const start = scanner.at;
  let at = start;
  let value = 0;
  while (isDigit(byte)) {
    value = value * 10 + (byte - ZERO);
    at += 1;
    if (value > UINT32_MAX) throw FALLBACK;
    byte = view.getUint8(at);
  }
  if (value > max || (at > start + 1 && view.getUint8(start) === ZERO)) throw FALLBACK;
  scanner.at = at;
  return value;
}

/**
 * Reads null (as 0) or nanoseconds since 1970, sent as a number or a string of digits without
 * leading zeros, into `seconds` and `nanos`.
 */
export function scanTime(scanner: Scanner): void {
  const quoted = scanner.peek() === QUOTE;
  if (quoted && scanNineteenDigits(scanner)) return;
  if (!quoted && scanner.isNull()) {
    scanner.seconds = 0;
    scanner.nanos = 0;
    return;
  }
  scanDigits(scanner, quoted ? scanner.at + 1 : scanner.at, quoted);
}

/** Reads a string of 19 digits, any time from 2001 to 2255; false for other strings. */
function scanNineteenDigits(scanner: Scanner): boolean {
  const { view } = scanner;
  const start = scanner.at + 1;
  const end = start + 19;
  if (end >= view.byteLength || view.getUint8(end) !== QUOTE) return false;
  const first = view.getUint8(start) - ZERO;
  const second = view.getUint8(start + 1) - ZERO;
  const a = fourDigits(view.getInt32(start + 2, true));
  const b = fourDigits(view.getInt32(start + 6, true));
  const third = view.getUint8(start + 10) - ZERO;
  const c = fourDigits(view.getInt32(start + 11, true));
  const d = fourDigits(view.getInt32(start + 15, true));
  if ((a | b | c | d) < 0) return false;
  // A first digit of 9 may be a time past the limit.
  if (first < 1 || first > 8 || second < 0 || second > 9 || third < 0 || third > 9) return false;
  scanner.seconds = (first * 10 + second) * 100_000_000 + a * 10_000 + b;
  scanner.nanos = third * 100_000_000 + c * 10_000 + d;
  scanner.at = end + 1;
  return true;
}

/** Reads digits from `start`, and the quote after them, into `seconds` and `nanos`. */
function scanDigits(scanner: Scanner, start: number, quoted: boolean): void {
  const { view } = scanner;
  let at = start;
  while (isDigit(view.getUint8(at))) at += 1;
  const digits = at - start;
  // `JSON.parse` may round a number of more digits.
  if (digits === 0 || digits > (quoted ? 19 : EXACT_DIGITS_MAX)) throw FALLBACK;
  if (digits > 1 && view.getUint8(start) === ZERO) throw FALLBACK;
  const split = Math.max(start, at - NANOS_PER_SECOND_DIGITS);
  scanner.seconds = numberIn(scanner, start, split);
  scanner.nanos = numberIn(scanner, split, at);
  if (
    scanner.seconds >= SECONDS_MAX &&
    (scanner.seconds > SECONDS_MAX || scanner.nanos > NANOS_MAX)
  ) {
    throw FALLBACK;
  }
  if (quoted) {
    if (view.getUint8(at) !== QUOTE) throw FALLBACK;
    at += 1;
  }
  scanner.at = at;
}

function numberIn({ view }: Scanner, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at += 1) value = value * 10 + (view.getUint8(at) - ZERO);
  return value;
}
