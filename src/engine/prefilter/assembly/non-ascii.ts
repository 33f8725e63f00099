/**
 * Reads the characters beyond ASCII of a text: their pages of Unicode, the continuation bytes, and places where a
 * literal beyond ASCII may be. ASCII is skipped, sixteen bytes at a time. `non-ascii-scan.ts` calls `begin`, then
 * `scan` until the text's end.
 */
import * as codes from './codes.ts';

const MEMORY_PAGE_BYTES: i32 = 65536;
/** Bytes that one call reads; what it found is taken after each. */
const PIECE_BYTES: i32 = 16384;
/** A character has two bytes or more, and the last one may end behind the piece. */
const CHARACTERS_MAX: i32 = PIECE_BYTES / 2 + 1;
/** A place where a literal may be: the offset behind its key, and the key's sum. */
const PLACE_BYTES: i32 = 8;
const VECTOR: i32 = 16;

const FOLDED = <i32>memory.data(256, 16);
const HASHED = <i32>memory.data(2 * codes.HASHES, 16);
const PRESENT = <i32>memory.data(codes.PAGES, 16);
/** the pages of the text, each once */
const PAGES_FOUND = <i32>memory.data(4 * codes.PAGES, 16);
const PLACES = <i32>memory.data(PLACE_BYTES * codes.HASHED_MAX * CHARACTERS_MAX, 16);

export const FOLDED_AT: i32 = FOLDED;
export const HASHED_AT: i32 = HASHED;
export const PAGES_AT: i32 = PAGES_FOUND;
export const PLACES_AT: i32 = PLACES;

class state {
  static text: i32 = 0;
  static length: i32 = 0;
  static at: i32 = 0;
  /** start of the bytes that were skipped; -1 without any */
  static skipped: i32 = -1;
  /** bytes before this one are not skipped */
  static forced: i32 = 0;
  static continuations: i32 = 0;
  static pages: i32 = 0;
  static placesEnd: i32 = 0;
  // The last characters, newest first.
  static last0: i32 = 0;
  static last1: i32 = 0;
  static last2: i32 = 0;
  static last3: i32 = 0;
}

/** Begins a text. @returns where it is to be written; 0 if there is no memory */
export function begin(length: i32): i32 {
  for (let page = 0; page < state.pages; page += 1) {
    store<u8>(PRESENT + load<i32>(PAGES_FOUND + (page << 2)), 0);
  }
  state.pages = 0;
  state.text = (<i32>__heap_base + 15) & ~15;
  state.length = length;
  state.at = 0;
  state.skipped = -1;
  state.forced = 0;
  state.continuations = 0;
  state.last0 = 0;
  state.last1 = 0;
  state.last2 = 0;
  state.last3 = 0;
  // A character that is not complete is read beyond the text's end.
  const missing = (state.text + length + VECTOR) / MEMORY_PAGE_BYTES + 1 - memory.size();
  return missing > 0 && memory.grow(missing) < 0 ? 0 : state.text;
}

export function pages(): i32 {
  return state.pages;
}

export function placesEnd(): i32 {
  return state.placesEnd;
}

export function continuations(): i32 {
  return state.continuations;
}

function byteAt(at: i32): i32 {
  return <i32>load<u8>(state.text + at);
}

function isBlankAt(at: i32): bool {
  return <i32>load<u8>(FOLDED + byteAt(at)) === codes.BLANK;
}

/** Goes back to the third character before the place, but not before what was skipped. */
function goBack(): void {
  let back = state.at;
  for (let left = codes.HASHED_MAX - 1; left > 0 && back !== state.skipped; left -= 1) {
    back -= 1;
    // The other blanks of a run.
    if (isBlankAt(back)) while (back !== state.skipped && isBlankAt(back - 1)) back -= 1;
  }
  // The text read before is next to it, or three characters are read again.
  if (back !== state.skipped) state.last0 = 0;
  state.forced = state.at;
  state.at = back;
  state.skipped = -1;
}

/** Reads on, up to the next piece. @returns false at the text's end */
export function scan(): bool {
  const until = min(state.length, state.at + PIECE_BYTES);
  const high = i8x16.splat(<i8>0x80);
  state.placesEnd = PLACES;
  while (state.at < until) {
    const at = state.at;
    const mayBeSkipped = at >= state.forced && at + VECTOR - 1 < state.length;
    if (mayBeSkipped && !v128.any_true(v128.and(v128.load(state.text + at), high))) {
      if (state.skipped === -1) state.skipped = at;
      state.at = at + VECTOR;
      continue;
    }
    if (state.skipped !== -1) goBack();
    const byte = byteAt(state.at);
    if (byte < 0x80) {
      const folded = <i32>load<u8>(FOLDED + byte);
      state.at += 1;
      // Of a run of blanks the first one counts.
      if (folded !== codes.BLANK || state.last0 !== folded) note(folded);
      continue;
    }
    note(decode(byte));
    notePage(state.last0 >> codes.PAGE_BITS);
    notePlaces();
  }
  return state.at < state.length;
}

function note(character: i32): void {
  state.last3 = state.last2;
  state.last2 = state.last1;
  state.last1 = state.last0;
  state.last0 = character;
}

function decode(lead: i32): i32 {
  const at = state.at;
  const bytes = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  let point = lead & (0xff >> (bytes + 1));
  for (let index = 1; index < bytes; index += 1) point = (point << 6) | (byteAt(at + index) & 63);
  state.at = at + bytes;
  state.continuations += bytes - 1;
  return point;
}

function notePage(page: i32): void {
  if (load<u8>(PRESENT + page) !== 0) return;
  store<u8>(PRESENT + page, 1);
  store<i32>(PAGES_FOUND + (state.pages << 2), page);
  state.pages += 1;
}

function notePlaces(): void {
  const sum0: u32 = state.last0 * codes.MULTIPLIER_0;
  const sum1: u32 = sum0 + state.last1 * codes.MULTIPLIER_1;
  const sum2: u32 = sum1 + state.last2 * codes.MULTIPLIER_2;
  const sum3: u32 = sum2 + state.last3 * codes.MULTIPLIER_3;
  const first = hashed(sum0 >> codes.SHIFT, 1) | hashed(sum1 >> codes.SHIFT, 2);
  const possible = first | hashed(sum2 >> codes.SHIFT, 4) | hashed(sum3 >> codes.SHIFT, 8);
  if (possible === 0) return;
  if ((possible & other(sum0, 1)) !== 0) notePlace(sum0);
  if ((possible & other(sum1, 2)) !== 0) notePlace(sum1);
  if ((possible & other(sum2, 4)) !== 0) notePlace(sum2);
  if ((possible & other(sum3, 8)) !== 0) notePlace(sum3);
}

function hashed(hash: u32, bit: i32): i32 {
  return <i32>load<u8>(HASHED + <i32>hash) & bit;
}

function other(sum: u32, bit: i32): i32 {
  return hashed(codes.HASHES + ((sum >> codes.OTHER_SHIFT) & (codes.HASHES - 1)), bit);
}

function notePlace(sum: u32): void {
  store<i32>(state.placesEnd, state.at);
  store<u32>(state.placesEnd, sum, 4);
  state.placesEnd += PLACE_BYTES;
}
