/** Strings of a body, sixteen bytes at a time, by the rules of `src/otlp/fast/scanner.ts`. */
import { state, unusual } from './memory.ts';

/** Sets the bit of each byte that is a quote, a backslash or a control character. */
function specials(bytes: v128): i32 {
  const quotes = i8x16.eq(bytes, i8x16.splat(0x22));
  const slashes = i8x16.eq(bytes, i8x16.splat(0x5c));
  const controls = i8x16.lt_u(bytes, i8x16.splat(0x20));
  return i8x16.bitmask(v128.or(v128.or(quotes, slashes), controls));
}

/** Whether `JSON.stringify` writes a backslash and this letter, too. */
function isPlainEscape(letter: i32): bool {
  return (
    letter === 0x6e ||
    letter === 0x22 ||
    letter === 0x5c ||
    letter === 0x74 ||
    letter === 0x72 ||
    letter === 0x62 ||
    letter === 0x66
  );
}

/** Copies a string as `JSON.stringify` writes it, without quotes. @param at after the opening quote */
export function copyJson(at: i32): i32 {
  let to = state.text;
  while (true) {
    const bytes = v128.load(at);
    v128.store(to, bytes);
    let found = specials(bytes);
    let step = 16;
    while (found !== 0) {
      const before = ctz(found);
      const byte = <i32>load<u8>(at + before);
      if (byte === 0x22) {
        state.text = to + before;
        return at + before + 1;
      }
      const letter = <i32>load<u8>(at + before + 1);
      if (byte !== 0x5c) return unusual(at + before);
      if (!isPlainEscape(letter)) {
        state.text = to + before;
        at = copyEscape(at + before, true);
        if (at === 0) return 0;
        to = state.text;
        step = 0;
        break;
      }
      if (before === 15) {
        store<u8>(to + 16, <u8>letter);
        step = 17;
        break;
      }
      // The escape is copied already.
      found &= ~(3 << before);
    }
    at += step;
    to += step;
  }
  return 0;
}

/** Copies a string unescaped. @param at after the opening quote */
export function copyText(at: i32): i32 {
  let to = state.text;
  while (true) {
    const bytes = v128.load(at);
    v128.store(to, bytes);
    const found = specials(bytes);
    if (found === 0) {
      at += 16;
      to += 16;
      continue;
    }
    const before = ctz(found);
    at += before;
    state.text = to + before;
    const byte = load<u8>(at);
    if (byte === 0x22) return at + 1;
    if (byte !== 0x5c) return unusual(at);
    at = copyEscape(at, false);
    if (at === 0) return 0;
    to = state.text;
  }
  return 0;
}

/** The value of a hexadecimal digit; −1 for other bytes. */
function hexValue(byte: i32): i32 {
  if (<u32>(byte - 0x30) < 10) return byte - 0x30;
  const letter = (byte | 0x20) - 0x61;
  return <u32>letter < 6 ? letter + 10 : -1;
}

/** The UTF-16 unit of four hexadecimal digits; −1 for other bytes. */
function unitAt(at: i32): i32 {
  let unit = 0;
  for (let index = 0; index < 4; index += 1) {
    const value = hexValue(<i32>load<u8>(at + index));
    if (value < 0) return -1;
    unit = (unit << 4) | value;
  }
  return unit;
}

/** The letter of the short escape of a control character; 0 without one. */
function letterOf(code: i32): i32 {
  if (code === 0x0a) return 0x6e;
  if (code === 0x09) return 0x74;
  if (code === 0x0d) return 0x72;
  if (code === 0x08) return 0x62;
  return code === 0x0c ? 0x66 : 0;
}

/** The character of a short escape; −1 for other letters. */
function characterOf(letter: i32): i32 {
  if (letter === 0x22 || letter === 0x5c || letter === 0x2f) return letter;
  if (letter === 0x6e) return 0x0a;
  if (letter === 0x74) return 0x09;
  if (letter === 0x72) return 0x0d;
  if (letter === 0x62) return 0x08;
  return letter === 0x66 ? 0x0c : -1;
}

/**
 * Copies an escape. U+0000 and lone surrogates, which PostgreSQL cannot store, are not ordinary.
 *
 * @param at of the backslash
 * @param asJson as `JSON.stringify` writes the character
 */
function copyEscape(at: i32, asJson: bool): i32 {
  const letter = <i32>load<u8>(at + 1);
  if (letter !== 0x75) {
    const character = characterOf(letter);
    if (character < 0) return unusual(at);
    if (asJson) putJson(character);
    else putUtf8(character);
    return at + 2;
  }
  let code = unitAt(at + 2);
  let end = at + 6;
  if (code <= 0) return unusual(at);
  if (code >= 0xd800 && code <= 0xdfff) {
    const low = load<u16>(end) === 0x755c ? unitAt(end + 2) : -1;
    if (code >= 0xdc00 || low < 0xdc00 || low > 0xdfff) return unusual(at);
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    end += 6;
  }
  if (asJson) putJson(code);
  else putUtf8(code);
  return end;
}

/** Writes a character as `JSON.stringify` does. */
function putJson(code: i32): void {
  if (code >= 0x20 && code !== 0x22 && code !== 0x5c) {
    putUtf8(code);
    return;
  }
  const letter = code < 0x20 ? letterOf(code) : code;
  if (letter !== 0) {
    store<u8>(state.text, 0x5c);
    store<u8>(state.text + 1, <u8>letter);
    state.text += 2;
    return;
  }
  const low = code & 15;
  store<u32>(state.text, 0x3030755c); // \u00
  store<u8>(state.text + 4, <u8>(0x30 + (code >> 4)));
  store<u8>(state.text + 5, <u8>(low < 10 ? 0x30 + low : 0x57 + low));
  state.text += 6;
}

/** Writes a character as UTF-8. */
function putUtf8(code: i32): void {
  const to = state.text;
  if (code < 0x80) {
    store<u8>(to, <u8>code);
    state.text = to + 1;
    return;
  }
  let length = 2;
  if (code < 0x800) {
    store<u8>(to, <u8>(0xc0 | (code >> 6)));
  } else if (code < 0x10000) {
    length = 3;
    store<u8>(to, <u8>(0xe0 | (code >> 12)));
    store<u8>(to + 1, <u8>(0x80 | ((code >> 6) & 63)));
  } else {
    length = 4;
    store<u8>(to, <u8>(0xf0 | (code >> 18)));
    store<u8>(to + 1, <u8>(0x80 | ((code >> 12) & 63)));
    store<u8>(to + 2, <u8>(0x80 | ((code >> 6) & 63)));
  }
  store<u8>(to + length - 1, <u8>(0x80 | (code & 63)));
  state.text = to + length;
}
