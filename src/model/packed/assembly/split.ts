/**
 * Splits texts into a narrow text, attributes and documents (docs/decisions/0009-hot-and-packed-blocks.md). The part
 * that JavaScript calls: `begin`, then for each text `room`, its bytes at that address, and `put`; then `end`.
 *
 *   text        {"spanId":"a1","attributes":[{"key":"prompt","value":{"stringValue":"a long text"}}]}
 *   narrow      {"spanId":"a1","attributes":[]}
 *   holes                                   └ 28, 56 bytes
 *   attributes  {"key":"prompt","value":{"stringValue":""}}
 *   holes                                       └ 40, 11 bytes
 *   documents   a long text
 */
import * as codes from './codes.ts';
import { beginDocuments, endDocuments, literalBytes, take } from './documents.ts';
import { beginGroups, endGroups, scan } from './groups.ts';
import { endOf, lengthOf, putBytes, putNumber, reserve, setLength, startOf } from './memory.ts';
import { COLON, endOfString, isAt, next, nextOf, QUOTE, SPACE, skipSpace } from './strings.ts';

export { lengthOf, startOf };

const COMMA: i32 = 0x2c;
const OPEN_LIST: i32 = 0x5b;
const CLOSE_LIST: i32 = 0x5d;
const OPEN_OBJECT: i32 = 0x7b;
const CLOSE_OBJECT: i32 = 0x7d;

const ATTRIBUT: u64 = 0x7475626972747461;
const ES: u16 = 0x7365;
const BODY: u32 = 0x79646f62;
const UNIX_NANO: u64 = 0x6f6e614e78696e55;
const TRACE_ID: u64 = 0x2264496563617274;
const SPAN_ID: u64 = 0x2264496e617073;
const PARENT: u32 = 0x65726170;
const PARENT_SPAN_ID: u64 = 0x64496e617053746e;

class state {
  /** of all texts */
  static bytes: i32 = 0;
  static narrowHole: i32 = 0;
  static attributesHole: i32 = 0;
  static isDamaged: bool = false;
}

/** Begins a block. @returns false if there is no memory */
export function begin(bytesExpected: i32): bool {
  beginGroups();
  for (let region = 0; region < codes.REGIONS; region += 1) setLength(region, 0);
  state.bytes = 0;
  state.narrowHole = 0;
  state.attributesHole = 0;
  // Lines have the heads of their records, too.
  if (!reserve(bytesExpected + (bytesExpected >> 3))) return false;
  beginDocuments(bytesExpected);
  return true;
}

/** Returns where a text of so many bytes is to be written; 0 if there is no memory. */
export function room(bytes: i32): i32 {
  return reserve(state.bytes + bytes) ? startOf(codes.TEXT) : 0;
}

/** Returns the bytes of the parts so far, without holes and repeats. */
export function partsBytes(): i32 {
  return lengthOf(codes.NARROW) + lengthOf(codes.ATTRIBUTES) + literalBytes();
}

/** Ends the block: the regions have its parts, and the stream is what documents do not repeat. */
export function end(): void {
  endDocuments();
  endGroups();
}

/**
 * Splits the text.
 *
 * @returns false when a long string does not end
 */
export function put(length: i32): bool {
  const start = startOf(codes.TEXT);
  const end = start + length;
  let from = start;
  state.bytes += length;
  state.isDamaged = false;
  for (let at = next(QUOTE, start, end); at < end; at = next(QUOTE, at, end)) {
    const string = at + 1;
    const closing = endOfString(string, end);
    at = min(closing + 1, end);
    if (closing === end) break;
    if (!isKey(closing, end)) {
      scan(string, closing, true);
      continue;
    }
    if (isIdKey(string, closing - string)) {
      at = max(at, insideOf(QUOTE, at, end));
      if (at > closing + 1) at = min(end, endOfString(at, end) + 1);
      continue;
    }
    const open = openOf(string, closing);
    const wide = open === 0 ? 0 : insideOf(open, at, end);
    if (wide === 0) continue;
    putBytes(codes.NARROW, from, wide - from);
    at = takeOut(wide, end, open);
    if (state.isDamaged) return false;
    from = at;
  }
  putBytes(codes.NARROW, from, end - from);
  return true;
}

function isKey(closing: i32, end: i32): bool {
  return isAt(COLON, skipSpace(closing + 1, end), end);
}

/** Returns the bracket that opens the value of a wide key; 0 for any other string. */
function openOf(start: i32, closing: i32): i32 {
  const length = closing - start;
  if (length === 4 && load<u32>(start) === BODY) return OPEN_OBJECT;
  return length === 10 && load<u64>(start) === ATTRIBUT && load<u16>(start + 8) === ES
    ? OPEN_LIST
    : 0;
}

/** Returns the position after a key's colon and bracket; 0 if other tokens follow the key. */
function insideOf(open: i32, at: i32, end: i32): i32 {
  const colon = skipSpace(at, end);
  if (!isAt(COLON, colon, end)) return 0;
  const value = skipSpace(colon + 1, end);
  return isAt(open, value, end) ? value + 1 : 0;
}

/** Checks whether a key names an id or a time, which are no text. */
function isIdKey(start: i32, length: i32): bool {
  if (length === 7) return load<u64>(start) === TRACE_ID;
  if (length === 6) return (load<u64>(start) & 0xffffffffffffff) === SPAN_ID;
  if (length === 12 && load<u32>(start) === PARENT && load<u64>(start + 4) === PARENT_SPAN_ID) {
    return true;
  }
  if (length < 8 || load<u64>(start + length - 8) !== UNIX_NANO) return false;
  for (let at = 0; at < length; at += 1) {
    if (<u32>((<i32>load<u8>(start + at) | 0x20) - 0x61) >= 26) return false;
  }
  return true;
}

/** Takes out the elements or members of a list or an object. @returns the position after them */
function takeOut(start: i32, end: i32, open: i32): i32 {
  const close = open === OPEN_LIST ? CLOSE_LIST : CLOSE_OBJECT;
  let from = start;
  let at = start;
  for (let depth = 1; at < end; ) {
    at = nextOf(QUOTE, open, close, at, end);
    if (at === end) break;
    const byte = <i32>load<u8>(at);
    if (byte === QUOTE) {
      const string = at + 1;
      const limit = min(end, string + codes.DOCUMENT_BYTES_MIN);
      let closing = endOfString(string, limit);
      if (closing === limit && limit === string + codes.DOCUMENT_BYTES_MIN) {
        if (isValue(string, end)) {
          closing = take(string, end);
          if (closing < end) {
            putBytes(codes.ATTRIBUTES, from, string - from);
            putHole(
              codes.ATTRIBUTES,
              codes.ATTRIBUTE_HOLES,
              state.attributesHole,
              closing - string,
            );
            state.attributesHole = lengthOf(codes.ATTRIBUTES);
            // The closing quote stays.
            from = closing;
          }
        } else closing = endOfString(string, end);
        if (closing === end) {
          state.isDamaged = true;
          return end;
        }
      } else if (!isKey(closing, end)) {
        scan(string, closing, true);
      }
      at = min(end, closing + 1);
      continue;
    }
    depth += byte === open ? 1 : -1;
    if (depth === 0) break;
    at += 1;
  }
  putBytes(codes.ATTRIBUTES, from, at - from);
  if (at > start) {
    putHole(codes.NARROW, codes.NARROW_HOLES, state.narrowHole, at - start);
    state.narrowHole = lengthOf(codes.NARROW);
  }
  return at;
}

/** @param before position of the last hole @param bytes of what is not in the region */
function putHole(region: i32, holes: i32, before: i32, bytes: i32): void {
  putNumber(holes, lengthOf(region) - before);
  putNumber(holes, bytes);
}

/** Checks whether a string is a value, not a key. @param start after its opening quote */
function isValue(start: i32, end: i32): bool {
  let before = start - 2;
  while (<i32>load<u8>(before) <= SPACE) before -= 1;
  const byte = <i32>load<u8>(before);
  if (byte !== COMMA) return byte === COLON || byte === OPEN_LIST;
  return !isKey(endOfString(start, end), end);
}

/** Appends a byte that is no part of a string. */
export function putByte(byte: i32): bool {
  if (!reserve(state.bytes + 1)) return false;
  state.bytes += 1;
  store<u8>(endOf(codes.NARROW), <u8>byte);
  setLength(codes.NARROW, lengthOf(codes.NARROW) + 1);
  return true;
}
