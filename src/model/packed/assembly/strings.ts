/** Finds the ends of strings, sixteen bytes at a time. */

export const QUOTE: i32 = 0x22;
export const BACKSLASH: i32 = 0x5c;
export const COLON: i32 = 0x3a;
export const SPACE: i32 = 0x20;

/** Returns the position of the next such byte, or the end. */
export function next(byte: i32, at: i32, end: i32): i32 {
  for (; at < end; at += 16) {
    const found = i8x16.bitmask(i8x16.eq(v128.load(at), i8x16.splat(<i8>byte)));
    if (found !== 0) return min(end, at + ctz(found));
  }
  return end;
}

/** Returns the position of the next of three bytes, or the end. */
export function nextOf(one: i32, other: i32, third: i32, at: i32, end: i32): i32 {
  for (; at < end; at += 16) {
    const bytes = v128.load(at);
    const pair = v128.or(
      i8x16.eq(bytes, i8x16.splat(<i8>one)),
      i8x16.eq(bytes, i8x16.splat(<i8>other)),
    );
    const found = i8x16.bitmask(v128.or(pair, i8x16.eq(bytes, i8x16.splat(<i8>third))));
    if (found !== 0) return min(end, at + ctz(found));
  }
  return end;
}

/** Returns the position of a string's closing quote, or the end. @param at in the string, not within an escape */
export function endOfString(at: i32, end: i32): i32 {
  at = nextOf(QUOTE, BACKSLASH, QUOTE, at, end);
  while (at < end && <i32>load<u8>(at) === BACKSLASH) {
    at = nextOf(QUOTE, BACKSLASH, QUOTE, at + 2, end);
  }
  return min(at, end);
}

/** Returns the position after white space, or the end. */
export function skipSpace(at: i32, end: i32): i32 {
  while (at < end && <i32>load<u8>(at) <= SPACE) at += 1;
  return at;
}

export function isAt(byte: i32, at: i32, end: i32): bool {
  return at < end && <i32>load<u8>(at) === byte;
}
