/**
 * Owns the double nearest to a decimal of 16 to 19 digits, as sums of measured times have them, computed
 * without making a string of it for `Number`.
 *
 * Two doubles hold what one can't (Dekker: A floating-point technique for extending the available
 * precision, Numerische Mathematik 18, 1971). The quotient is found to a hundred bits, far more than
 * determine the nearest double; where they do not, the result is NaN.
 */

import { ZERO } from './byte-tests.ts';

/** Whole numbers of so many digits are exact in a double. */
export const EXACT_DIGITS_MAX = 15;
/** Larger powers of ten are not exact. */
export const POWERS_OF_TEN = Array.from({ length: 23 }, (_, power) => 10 ** power);
const DIGITS_MAX = 19;

const POINT = 0x2e;
/** 2^27 + 1 splits a double into halves whose products are exact. */
const SPLITTER = 0x8000001;
/** Far above the correction's own error, far below what would hide many cases. */
const DOUBT = 2 ** -40;

/**
 * The double nearest to a decimal without sign and exponent.
 * @param view holds digits and at most one point among them from `first` to `end`
 * @returns NaN when it has more digits, something else is among them, or the nearest double is not certain
 */
export function decimalDouble(view: DataView, first: number, end: number): number {
  let leading = 0;
  let trailing = 0;
  let digits = 0;
  let fraction = 0;
  let point = -1;
  for (let at = first; at < end; at += 1) {
    const byte = view.getUint8(at);
    if (byte === POINT) {
      point = at;
      continue;
    }
    const digit = byte - ZERO;
    if (digit < 0 || digit > 9) return Number.NaN;
    if (digits < EXACT_DIGITS_MAX) leading = leading * 10 + digit;
    else trailing = trailing * 10 + digit;
    digits += 1;
  }
  if (point >= 0) fraction = end - point - 1;
  if (digits > DIGITS_MAX || fraction >= POWERS_OF_TEN.length) return Number.NaN;
  const shift = POWERS_OF_TEN[Math.max(0, digits - EXACT_DIGITS_MAX)] as number;
  const divisor = POWERS_OF_TEN[fraction] as number;
  // All digits as a whole number: high + low, exactly.
  const product = leading * shift;
  const rest = productError(leading, shift, product) + trailing;
  const high = product + rest;
  const low = rest - (high - product);
  // What is left when the quotient times the divisor is taken off, exactly but for its last bits.
  const quotient = high / divisor;
  const taken = quotient * divisor;
  const left = high - taken - productError(quotient, divisor, taken) + low;
  const correction = left / divisor;
  const nearest = quotient + correction * (1 + DOUBT);
  return nearest === quotient + correction * (1 - DOUBT) ? nearest : Number.NaN;
}

/** What a product of two doubles lacks of the exact one. */
function productError(a: number, b: number, product: number): number {
  const aSplit = a * SPLITTER;
  const bSplit = b * SPLITTER;
  const aHigh = aSplit - (aSplit - a);
  const bHigh = bSplit - (bSplit - b);
  const aLow = a - aHigh;
  const bLow = b - bHigh;
  return aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
}
