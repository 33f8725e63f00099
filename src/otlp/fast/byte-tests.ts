/**
 * Tests of single bytes, and of four bytes at once in a little-endian 32-bit integer: where a
 * string has a quote, an escape or a control character.
 */
const ZERO = 0x30;
const ONES = 0x01010101;
const HIGH_BITS = 0x80808080 | 0;
const QUOTES = 0x22222222;
const BACKSLASHES = 0x5c5c5c5c;
const SPACES = 0x20202020;

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

export function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= 0x39;
}

export function isHexDigit(byte: number): boolean {
  const letter = byte | 0x20;
  return isDigit(byte) || (letter >= 0x61 && letter <= 0x66);
}
