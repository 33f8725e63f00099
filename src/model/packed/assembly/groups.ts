/**
 * Collects the groups of three bytes of texts of JSON, for the filter of a block (`text-filter.ts`).
 *
 *   text     "Caf\u00e9\nat home"      as JSON has it; escapes are decoded, also those of JSON in JSON
 *   scanned  caf é │ n a t …           │ no group of three goes across; A to Z count as a to z
 *
 * A person's text may be behind one or more levels of JSON. Where the same bytes mean different texts at different
 * levels, the groups of all of them are collected. Only escapes whose letters are escaped in turn are not decoded.
 */
import { GROUPS } from './codes.ts';
import { endOf, lengthOf, setLength, startOf } from './memory.ts';
import { BACKSLASH, QUOTE, SPACE } from './strings.ts';

const SLASH: i32 = 0x2f;
const LETTER_U: i32 = 0x75;
/** `u` and four digits. */
const UNICODE_ESCAPE_BYTES: i32 = 5;
/** Bytes that hold `u`, four digits and two more characters, each with its escape. */
const OTHER_LEVEL_BYTES: i32 = 64;
/** Bytes in a row of a group. */
const GROUP_BYTES: i32 = 3;
const GROUP_MASK: i32 = (1 << (8 * GROUP_BYTES)) - 1;

const KNOWN = <i32>memory.data(1 << (8 * GROUP_BYTES - 3), 16);
/** Groups that were seen lately, by their hash: most look-ups stay in the processor's first cache. */
const RECENT_BITS: i32 = 12;
const RECENT = <i32>memory.data(4 << RECENT_BITS, 16);
const MIX: i32 = <i32>0x9e3779b1;
/** By byte: itself in lower case; 0 for a byte that ends a group. */
const LOWER = <i32>memory.data(256, 16);

for (let byte = SPACE; byte < 256; byte += 1) {
  store<u8>(LOWER + byte, <u8>(byte >= 0x41 && byte <= 0x5a ? byte + 32 : byte));
}
store<u8>(LOWER + QUOTE, 0);

class state {
  /** the last bytes, and how many of them are in a row */
  static last: i32 = 0;
  static count: i32 = 0;
  static isEnded: bool = true;
}

/** Begins a block, also after one that did not end. */
export function beginGroups(): void {
  if (!state.isEnded) endGroups();
  setLength(GROUPS, 0);
  memory.fill(RECENT, 0xff, 4 << RECENT_BITS);
  state.isEnded = false;
}

/** Adds text of JSON; may begin and end anywhere. @param isWhole false: other meanings of an escape are not added */
export function scan(from: i32, end: i32, isWhole: bool): void {
  state.count = 0;
  for (let at = from; at < end; ) {
    at = scanPlain(at, end);
    if (at < end) at = scanEscape(at, end, isWhole);
  }
  state.count = 0;
}

/** Scans up to a backslash. Most bytes pass here, so everything is in local variables. */
function scanPlain(from: i32, end: i32): i32 {
  let group = state.last;
  let count = state.count;
  let at = from;
  for (; at < end; at += 1) {
    const byte = <i32>load<u8>(LOWER + <i32>load<u8>(at));
    if (byte === BACKSLASH) break;
    group = ((group << 8) | byte) & GROUP_MASK;
    count = byte === 0 ? 0 : count + 1;
    if (count < GROUP_BYTES) continue;
    const recent = RECENT + ((<i32>(<u32>(group * MIX) >> (32 - RECENT_BITS))) << 2);
    if (load<i32>(recent) === group) continue;
    store<i32>(recent, group);
    add(group);
  }
  state.last = group;
  state.count = count;
  return at;
}

/** Scans backslashes and what they escape. @returns the position after that */
function scanEscape(start: i32, end: i32, isWhole: bool): i32 {
  let at = start;
  let slashes = 0;
  for (; at < end; slashes += 1) {
    if (<i32>load<u8>(at) === BACKSLASH) {
      at += 1;
    } else if (unitAt(at, end) === BACKSLASH) {
      if (slashes > 1 && isWhole) scanOtherLevel(at, end);
      at += UNICODE_ESCAPE_BYTES;
    } else {
      break;
    }
  }
  if (at < end && <i32>load<u8>(at) === SLASH) {
    put(SLASH);
    return at + 1;
  }
  const unit = unitAt(at, end);
  if (unit >= 0) return scanUnicode(at, end, unit, slashes > 1 && isWhole);
  state.count = 0;
  return at;
}

/** Adds the groups of an escape that is text: of `\u00e9`, not of `é`. */
function scanOtherLevel(at: i32, end: i32): void {
  const last = state.last;
  const count = state.count;
  scan(at, min(end, at + OTHER_LEVEL_BYTES), false);
  state.last = last;
  state.count = count;
}

/** @param at the position of `u` @param isUnsure the escape may be text */
function scanUnicode(at: i32, end: i32, unit: i32, isUnsure: bool): i32 {
  if (isUnsure) scanOtherLevel(at, end);
  let after = at + UNICODE_ESCAPE_BYTES;
  let code = unit;
  if (unit >= 0xd800 && unit <= 0xdbff) {
    let low = after;
    while (low < end && <i32>load<u8>(low) === BACKSLASH) low += 1;
    const second = low > after ? unitAt(low, end) : -1;
    if (second >= 0xdc00 && second <= 0xdfff) {
      if (isUnsure) scanOtherLevel(low, end);
      code = 0x10000 + ((unit - 0xd800) << 10) + (second - 0xdc00);
      after = low + UNICODE_ESCAPE_BYTES;
    }
  }
  if (code < SPACE || code === QUOTE || (code >= 0xd800 && code <= 0xdfff)) state.count = 0;
  else putCode(code);
  return after;
}

function putCode(code: i32): void {
  if (code < 0x80) {
    put(<i32>load<u8>(LOWER + code));
    return;
  }
  if (code < 0x800) {
    put(0xc0 | (code >> 6));
  } else {
    if (code < 0x10000) {
      put(0xe0 | (code >> 12));
    } else {
      put(0xf0 | (code >> 18));
      put(0x80 | ((code >> 12) & 0x3f));
    }
    put(0x80 | ((code >> 6) & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

function put(byte: i32): void {
  state.last = ((state.last << 8) | byte) & GROUP_MASK;
  state.count += 1;
  if (state.count >= GROUP_BYTES) add(state.last);
}

function add(group: i32): void {
  const at = KNOWN + (group >> 3);
  const bits = <i32>load<u8>(at);
  const bit = 1 << (group & 7);
  if ((bits & bit) !== 0) return;
  store<u8>(at, <u8>(bits | bit));
  store<i32>(endOf(GROUPS), group);
  setLength(GROUPS, lengthOf(GROUPS) + 4);
}

/** Returns the unit that `u` and four digits name; -1 if there are none. @param at the position of `u` */
function unitAt(at: i32, end: i32): i32 {
  if (at + UNICODE_ESCAPE_BYTES > end || <i32>load<u8>(at) !== LETTER_U) return -1;
  let unit = 0;
  for (let index = 1; index < UNICODE_ESCAPE_BYTES; index += 1) {
    const byte = <i32>load<u8>(at + index);
    const letter = (byte | 0x20) - 0x61;
    const isLetter = <u32>letter < 6;
    if (!isLetter && <u32>(byte - 0x30) >= 10) return -1;
    unit = (unit << 4) | (isLetter ? letter + 10 : byte - 0x30);
  }
  return unit;
}

export function endGroups(): void {
  const end = endOf(GROUPS);
  for (let at = startOf(GROUPS); at < end; at += 4) {
    const group = load<i32>(at);
    store<u8>(KNOWN + (group >> 3), 0);
    store<i32>(at, hashOf(group));
  }
  state.isEnded = true;
}

/** Returns a whole number of 31 bits, as `hashOf` of `text-filter.ts`. */
function hashOf(group: u32): u32 {
  let hash: u32 = (group ^ (group >> 13)) * 0x7feb352d;
  hash = (hash ^ (hash >> 15)) * 0x846ca68b;
  return (hash ^ (hash >> 16)) & 0x7fffffff;
}
