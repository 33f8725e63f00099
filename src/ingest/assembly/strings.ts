/** Checks strings of a body, sixteen bytes at a time, and skips values of any kind. */
import {
  nextElement,
  nextMember,
  skipColon,
  skipNull,
  skipSpace,
  state,
  unusual,
} from './memory.ts';
import { skipNumber } from './numbers.ts';

/** Deeper values are not ordinary. */
export const DEPTH_MAX: i32 = 60;

/** Sets the bit of each byte that is a quote, a backslash or a control character. */
function specials(bytes: v128): i32 {
  const quotes = i8x16.eq(bytes, i8x16.splat(0x22));
  const slashes = i8x16.eq(bytes, i8x16.splat(0x5c));
  const controls = i8x16.lt_u(bytes, i8x16.splat(0x20));
  return i8x16.bitmask(v128.or(v128.or(quotes, slashes), controls));
}

function isShortEscape(letter: i32): bool {
  return (
    letter === 0x6e ||
    letter === 0x22 ||
    letter === 0x5c ||
    letter === 0x74 ||
    letter === 0x72 ||
    letter === 0x2f ||
    letter === 0x62 ||
    letter === 0x66
  );
}

/** Past a string. @param at after the opening quote */
export function skipString(at: i32): i32 {
  while (true) {
    let found = specials(v128.load(at));
    let step = 16;
    while (found !== 0) {
      const before = ctz(found);
      const byte = <i32>load<u8>(at + before);
      if (byte === 0x22) return at + before + 1;
      if (byte !== 0x5c) return unusual(at + before);
      const letter = <i32>load<u8>(at + before + 1);
      if (letter === 0x75) {
        if (!isUnit(at + before + 2)) return unusual(at + before);
        step = before + 6;
        break;
      }
      if (!isShortEscape(letter)) return unusual(at + before);
      if (before === 15) step = 17;
      // The escape; its letter may be in the next sixteen bytes.
      found &= ~(3 << before);
    }
    at += step;
  }
  return 0;
}

function isUnit(at: i32): bool {
  for (let index = 0; index < 4; index += 1) {
    const byte = <i32>load<u8>(at + index);
    if (<u32>(byte - 0x30) >= 10 && <u32>((byte | 0x20) - 0x61) >= 6) return false;
  }
  return true;
}

export function skipText(at: i32): i32 {
  return load<u8>(at) === 0x22 ? skipString(at + 1) : skipNull(at);
}

/** Past a string without escapes. @param at of the opening quote */
export function skipPlainString(at: i32): i32 {
  const end = skipString(at + 1);
  for (let byte = at; byte < end; byte += 1) if (load<u8>(byte) === 0x5c) return unusual(byte);
  return end;
}

export function skipBool(at: i32): i32 {
  const word = load<u32>(at);
  if (word === 0x65757274) return at + 4;
  return word === 0x736c6166 && load<u8>(at + 4) === 0x65 ? at + 5 : unusual(at);
}

/** Checks bytes in base64, standard or URL-safe, with or without padding. */
export function checkBase64(at: i32): i32 {
  if (load<u8>(at) !== 0x22) return skipNull(at);
  const start = at + 1;
  let end = start;
  while (isBase64At(end)) end += 1;
  const digits = end - start;
  while (load<u8>(end) === 0x3d) end += 1;
  const padding = end - start - digits;
  const isValid = (digits & 3) !== 1 && padding <= 2 && load<u8>(end) === 0x22;
  return isValid ? end + 1 : unusual(end);
}

function isBase64At(at: i32): bool {
  const byte = <i32>load<u8>(at);
  if (<u32>((byte | 0x20) - 0x61) < 26 || <u32>(byte - 0x30) < 10) return true;
  return byte === 0x2b || byte === 0x2f || byte === 0x2d || byte === 0x5f;
}

/**
 * Past a member that is not in the table of its object, and its value. An escape could make its name
 * one of the table.
 */
export function skipMember(at: i32, depth: i32): i32 {
  at = skipPlainString(at);
  if (at === 0) return 0;
  at = skipColon(at);
  return at === 0 ? 0 : skipJson(at, depth);
}

function skipJson(at: i32, depth: i32): i32 {
  const byte = load<u8>(at);
  if (byte === 0x22) return skipString(at + 1);
  if (byte === 0x7b || byte === 0x5b) return skipNested(at, depth);
  if (byte === 0x6e) return skipNull(at);
  return byte === 0x74 || byte === 0x66 ? skipBool(at) : skipNumber(at);
}

function skipNested(at: i32, depth: i32): i32 {
  if (depth > DEPTH_MAX) return unusual(at);
  const isList = load<u8>(at) === 0x5b;
  const close: u8 = isList ? 0x5d : 0x7d;
  state.structures += 1;
  at = skipSpace(at + 1);
  if (!isList && load<u8>(at) !== close && load<u8>(at) !== 0x22) return unusual(at);
  while (load<u8>(at) !== close) {
    if (!isList) {
      at = skipString(at + 1);
      if (at === 0) return 0;
      at = skipColon(at);
      if (at === 0) return 0;
    }
    at = skipJson(at, depth + 1);
    if (at === 0) return 0;
    at = isList ? nextElement(at) : nextMember(at);
    if (at === 0) return 0;
  }
  return at + 1;
}
