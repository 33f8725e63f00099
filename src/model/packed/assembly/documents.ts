/**
 * Collects documents one after another, without what they repeat from further back: each model call sends the whole
 * conversation so far.
 *
 *   documents  question, answer, question, answer, next question
 *   literals   question, answer,                   next question
 *   repeats    (16 literal bytes, then 16 bytes from 16 bytes back), …
 *
 * A repeat may go through several documents, because a conversation may be one string or hundreds. The scan for
 * the end of a string and for repeats is one: a repeat is compared, not scanned.
 */
import { LITERALS, REPEAT_BYTES_MIN, REPEATS, STREAM } from './codes.ts';
import { scan } from './groups.ts';
import { copy, lengthOf, putBytes, putNumber, setLength, startOf } from './memory.ts';
import { BACKSLASH, next, QUOTE } from './strings.ts';

/** Bytes that the hash of a place depends on: those before it. The stream begins with so many zeros. */
const WINDOW: i32 = 32;
/** Least distance of places. */
const STEP: i32 = 32;
/** Bits of the number of places; more of them take more cache misses than they save bytes. */
const PLACES_BITS_MIN: i32 = 8;
const PLACES_BITS_MAX: i32 = 14;
/** Bytes around a piece that are scanned with it: a group may begin in one piece and end in the next. */
const EDGE_BYTES: i32 = 64;
/** The same where no escape is near. */
const PLAIN_EDGE_BYTES: i32 = 2;
/** More than the bytes of an escape behind its last backslash, and of a plain edge. */
const ESCAPE_BYTES: i32 = 8;

const FACTOR: i32 = 0x2c1b3c6d;
const MIX: i32 = <i32>0x9e3779b1;
/** `FACTOR` to the power of `WINDOW`. */
const LEAVING: i32 = power(FACTOR, WINDOW);

/**
 * By slot: offset in the stream, 0 for none, and its hash. Offsets are between the characters of a string, never
 * within an escape, so strings that are equal from there on also end alike.
 */
const PLACES = <i32>memory.data(8 << PLACES_BITS_MAX, 16);
/** By slot: a byte of its hash, so that most look-ups stay in the processor's first cache. */
const TAGS = <i32>memory.data(1 << PLACES_BITS_MAX, 16);

class state {
  static hash: i32 = 0;
  static shift: i32 = 0;
  static nextPlace: i32 = 0;
  /** the last repeat in the stream, which may continue; distance 0: none */
  static start: i32 = 0;
  static end: i32 = 0;
  static distance: i32 = 0;
  /** end of the repeat before that one */
  static from: i32 = 0;
  static repeatedBytes: i32 = 0;
}

function power(base: i32, exponent: i32): i32 {
  let product = 1;
  for (let time = 0; time < exponent; time += 1) product *= base;
  return product;
}

export function beginDocuments(bytesExpected: i32): void {
  memory.fill(startOf(STREAM), 0, WINDOW);
  setLength(STREAM, WINDOW);
  state.hash = 0;
  state.nextPlace = WINDOW + STEP;
  state.start = WINDOW;
  state.end = WINDOW;
  state.distance = 0;
  state.from = WINDOW;
  state.repeatedBytes = 0;
  const bits = min(PLACES_BITS_MAX, max(PLACES_BITS_MIN, 32 - clz(bytesExpected / STEP)));
  state.shift = 32 - bits;
  memory.fill(PLACES, 0, 8 << bits);
  memory.fill(TAGS, 0, 1 << bits);
}

export function literalBytes(): i32 {
  return lengthOf(STREAM) - WINDOW - state.repeatedBytes;
}

/**
 * Takes a string.
 *
 * @returns the position of its closing quote; the text's end if there is none
 */
export function take(start: i32, end: i32): i32 {
  const stream = startOf(STREAM);
  const shift = state.shift;
  let at = continueRepeat(start, end);
  let length = lengthOf(STREAM);
  let hash = state.hash;
  let nextPlace = state.nextPlace;
  while (at < end) {
    let byte = <i32>load<u8>(at);
    if (byte === QUOTE) break;
    if (byte === BACKSLASH) {
      store<u8>(stream + length, <u8>byte);
      hash = roll(hash, byte, stream + length - WINDOW);
      length += 1;
      at += 1;
      if (at === end) break;
      byte = <i32>load<u8>(at);
    }
    store<u8>(stream + length, <u8>byte);
    hash = roll(hash, byte, stream + length - WINDOW);
    length += 1;
    at += 1;
    const place = <i32>(<u32>(hash * MIX) >> shift);
    const slot = PLACES + (place << 3);
    if (<i32>load<u8>(TAGS + place) === (hash & 0xff) && load<i32>(slot, 4) === hash) {
      const bytes = repeatAt(load<i32>(slot), length, at, end);
      if (bytes >= 0) {
        store<i32>(slot, length);
        at += bytes;
        length = lengthOf(STREAM);
        hash = state.hash;
        continue;
      }
    }
    if (length >= nextPlace) {
      store<i32>(slot, length);
      store<i32>(slot, hash, 4);
      store<u8>(TAGS + place, <u8>hash);
      nextPlace = length + STEP;
    }
  }
  state.nextPlace = nextPlace;
  setLength(STREAM, length);
  state.hash = hash;
  return at;
}

/** @param leaving address of the byte that leaves the window */
function roll(hash: i32, entering: i32, leaving: i32): i32 {
  return hash * FACTOR + entering - <i32>load<u8>(leaving) * LEAVING;
}

/** Lets the last repeat continue in the next document. @returns position after the repeat */
function continueRepeat(start: i32, end: i32): i32 {
  const before = state.end;
  if (before !== lengthOf(STREAM) || state.distance === 0) return start;
  const place = before - state.distance;
  const bytes = same(place, start, min(state.distance, end - start));
  if (bytes > 0) append(place, bytes);
  state.end = before + bytes;
  state.repeatedBytes += bytes;
  return start + bytes;
}

/**
 * Appends what is equal at a place and at a position of the text, if there is enough with what was equal before.
 *
 * @returns how many bytes of the text were appended; -1 if there is no repeat
 */
function repeatAt(place: i32, length: i32, at: i32, end: i32): i32 {
  if (place === 0) return -1;
  const stream = startOf(STREAM);
  const distance = length - place;
  let start = length;
  const least = max(state.end, WINDOW + distance);
  while (
    start > least &&
    load<u8>(stream + start - 1) === load<u8>(stream + start - 1 - distance)
  ) {
    start -= 1;
  }
  const bytes = same(place, at, min(distance, end - at));
  if (length - start + bytes < REPEAT_BYTES_MIN) return -1;
  setLength(STREAM, length);
  const from = state.from;
  const pieceEnd = endRepeat();
  state.start = start;
  state.end = length + bytes;
  state.distance = distance;
  state.repeatedBytes += length + bytes - start;
  append(place, bytes);
  if (pieceEnd > 0) scanPiece(from, pieceEnd);
  return bytes;
}

/** Returns how many bytes are equal at an offset of the stream and in the text, without half an escape. */
function same(place: i32, at: i32, most: i32): i32 {
  const known = startOf(STREAM) + place;
  let bytes = 0;
  while (bytes < most) {
    const equal = i8x16.bitmask(i8x16.eq(v128.load(at + bytes), v128.load(known + bytes)));
    if (equal !== 0xffff) {
      bytes += ctz(~equal);
      break;
    }
    bytes += 16;
  }
  bytes = min(bytes, most);
  // The characters after the backslash of an escape may differ.
  let slashes = 0;
  while (slashes < bytes && <i32>load<u8>(at + bytes - slashes - 1) === BACKSLASH) slashes += 1;
  return bytes - (slashes & 1);
}

function append(place: i32, bytes: i32): void {
  const stream = startOf(STREAM);
  const length = lengthOf(STREAM) + bytes;
  copy(stream + length - bytes, stream + place, bytes);
  setLength(STREAM, length);
  let hash = 0;
  for (let at = stream + length - WINDOW; at < stream + length; at += 1) {
    hash = hash * FACTOR + <i32>load<u8>(at);
  }
  state.hash = hash;
}

/** @returns where the piece before the repeat ends; 0 if there is no repeat */
function endRepeat(): i32 {
  if (state.distance === 0) return 0;
  const bytes = state.start - state.from;
  putNumber(REPEATS, bytes);
  putNumber(REPEATS, state.end - state.start - REPEAT_BYTES_MIN);
  putNumber(REPEATS, state.distance);
  putBytes(LITERALS, startOf(STREAM) + state.from, bytes);
  state.from = state.end;
  return state.start;
}

/** Adds the groups of a piece of the stream that is no repeat. */
function scanPiece(from: i32, end: i32): void {
  const stream = startOf(STREAM);
  const first = max(WINDOW, from - edgeAt(from));
  const last = min(lengthOf(STREAM), end + edgeAt(end));
  scan(stream + first, stream + last, true);
}

function edgeAt(offset: i32): i32 {
  const at = startOf(STREAM) + offset;
  const end = at + PLAIN_EDGE_BYTES;
  return next(BACKSLASH, at - ESCAPE_BYTES, end) < end ? EDGE_BYTES : PLAIN_EDGE_BYTES;
}

export function endDocuments(): void {
  const from = state.from;
  const pieceEnd = endRepeat();
  if (pieceEnd > 0) scanPiece(from, pieceEnd);
  const length = lengthOf(STREAM);
  scanPiece(state.from, length);
  putBytes(LITERALS, startOf(STREAM) + state.from, length - state.from);
}
