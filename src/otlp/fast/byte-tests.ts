/**
 * Tests of single bytes, and of four bytes at once in a little-endian 32-bit integer: where a
 * string has a quote, an escape or a control character, and what number four digits make.
 */

export const ZERO = 0x30;
const ONES = 0x01010101;
const HIGH_BITS = 0x80808080 | 0;
const QUOTES = 0x22222222;
const BACKSLASHES = 0x5c5c5c5c;
const SPACES = 0x20202020;
const ZEROS = 0x30303030;
const NINE_TO_HIGH_BIT = 0x76767676;

/** Value of a hexadecimal digit, 255 for other bytes. */
export const HEX_VALUES = hexValues();

function hexValues(): Uint8Array {
  const values = new Uint8Array(256).fill(255);
  for (let value = 0; value < 16; value += 1) {
    values[value.toString(16).charCodeAt(0)] = value;
    values[value.toString(16).toUpperCase().charCodeAt(0)] = value;
  }
  return values;
}

/**
 * Sets the high bit of each byte that is a quote, a backslash or a control character. Only the
 * lowest set bit is exact: the subtraction borrows from the next byte, so bits above it may be
 * wrong.
 */
export function specials(word: number): number {
  const quotes = word ^ QUOTES;
  const slashes = word ^ BACKSLASHES;
  return ((quotes - ONES) | (slashes - ONES) | (word - SPACES)) & ~word & HIGH_BITS;
}

/** The number of bytes before the first special one. */
export function bytesBefore(special: number): number {
  return (31 - Math.clz32(special & -special)) >> 3;
}

/** The number that four digits make, the first in the lowest byte; −1 if one is not a digit. */
export function fourDigits(word: number): number {
  const values = word ^ ZEROS;
  if (((values | (values + NINE_TO_HIGH_BIT)) & HIGH_BITS) !== 0) return -1;
  const pairs = values * 10 + (values >>> 8);
  return (pairs & 0xff) * 100 + ((pairs >>> 16) & 0xff);
}

/** Whether the byte is one of `0` to `9`. */
export function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= 0x39;
}
