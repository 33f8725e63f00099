/**
 * Computes the double nearest to a decimal of 16 to 19 digits, which sums of measured times have,
 * without a string for `Number`.
 *
 * Double-double arithmetic (Dekker: A floating-point technique for extending the available
 * precision, Numerische Mathematik 18, 1971) gives a quotient of about a hundred bits. If these do
 * not determine the nearest double, the result is NaN.
 */

import { ZERO } from './byte-tests.ts';

/** A double holds whole numbers of up to this many digits exactly. */
export const EXACT_DIGITS_MAX = 15;
/** Larger powers of ten are not exact. */
export const POWERS_OF_TEN = Array.from({ length: 23 }, (_, power) => 10 ** power);
const DIGITS_MAX = 19;

const POINT = 0x2e;
/** 2^27 + 1 splits a double into halves whose products are exact. */
const SPLITTER = 0x8000001;
/** Relative error allowed for the correction: far above its real error, and rarely decisive. */
const ERROR_MARGIN = 2 ** -40;

/**
 * The double nearest to a decimal without sign and exponent.
 * @param view holds digits and at most one point among them from `first` to `end`
 * @returns NaN for more than 19 digits, for any other byte, or if the nearest double is uncertain
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
  // The remainder of the division, exact except for its last bits.
  const quotient = high / divisor;
  const taken = quotient * divisor;
  const left = high - taken - productError(quotient, divisor, taken) + low;
  const correction = left / divisor;
  const nearest = quotient + correction * (1 + ERROR_MARGIN);
  return nearest === quotient + correction * (1 - ERROR_MARGIN) ? nearest : Number.NaN;
}

/** The rounding error of a product of two doubles. */
function productError(a: number, b: number, product: number): number {
  const aSplit = a * SPLITTER;
  const bSplit = b * SPLITTER;
  const aHigh = aSplit - (aSplit - a);
  const bHigh = bSplit - (bSplit - b);
  const aLow = a - aHigh;
  const bLow = b - bHigh;
  return aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
}
