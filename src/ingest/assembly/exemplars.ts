/** Checks the exemplars of a data point, by the rules of `src/otlp/exemplar.ts`. */
import { nextElement, skipColon, skipNull, skipSpace, state, unusual } from './memory.ts';
import { readDouble, readInt64, readTime } from './numbers.ts';
import { copyText } from './strings.ts';
import { copyAttributes } from './values.ts';

const ATTRIBUTES_NAME: u64 = 0x657265746c696622; // "filtere
const ATTRIBUTES_REST: u64 = 0x7562697274744164; // dAttribu
const ATTRIBUTES_END: u32 = 0x22736574; // tes"
const TIME_NAME: u64 = 0x696e55656d697422; // "timeUni
const TIME_REST: u64 = 0x0000226f6e614e78; // xNano"
const DOUBLE_NAME: u64 = 0x6c62756f44736122; // "asDoubl
const DOUBLE_REST: u16 = 0x2265; // e"
const INT_NAME: u64 = 0x0022746e49736122; // "asInt"
const SPAN_NAME: u64 = 0x2264496e61707322; // "spanId"
const TRACE_NAME: u64 = 0x6449656361727422; // "traceId
const SIX_BYTES: u64 = 0x0000ffffffffffff;
const SEVEN_BYTES: u64 = 0x00ffffffffffffff;

const ATTRIBUTES: i32 = 0;
const TIME: i32 = 1;
const DOUBLE: i32 = 2;
const INT: i32 = 3;
const SPAN: i32 = 4;
const TRACE: i32 = 5;
const NONE: i32 = -1;

/** Reads null or a list of exemplars; returns the position after it. */
export function checkExemplars(at: i32): i32 {
  if (load<u8>(at) !== 0x5b) return skipNull(at);
  state.structures += 1;
  at = skipSpace(at + 1);
  while (load<u8>(at) !== 0x5d) {
    at = checkExemplar(at);
    if (at === 0) return 0;
    at = nextElement(at);
    if (at === 0) return 0;
  }
  return at + 1;
}

function checkExemplar(at: i32): i32 {
  if (load<u8>(at) !== 0x7b) return unusual(at);
  state.structures += 1;
  let seen = 0;
  at = skipSpace(at + 1);
  let byte = load<u8>(at);
  while (byte !== 0x7d) {
    const field = fieldAt(at);
    if (field === NONE || (seen & (1 << field)) !== 0) return unusual(at);
    seen |= 1 << field;
    at = skipColon(at + lengthOf(field));
    if (at === 0) return 0;
    at = checkField(at, field);
    if (at === 0) return 0;
    at = skipSpace(at);
    byte = load<u8>(at);
    if (byte === 0x2c) at = skipSpace(at + 1);
    else if (byte !== 0x7d) return unusual(at);
  }
  return at + 1;
}

function fieldAt(at: i32): i32 {
  const name = load<u64>(at);
  const rest = load<u64>(at + 8);
  if (name === SPAN_NAME) return SPAN;
  if (name === TRACE_NAME) return load<u8>(at + 8) === 0x22 ? TRACE : NONE;
  if (name === TIME_NAME) return (rest & SIX_BYTES) === TIME_REST ? TIME : NONE;
  if (name === DOUBLE_NAME) return load<u16>(at + 8) === DOUBLE_REST ? DOUBLE : NONE;
  if (name === ATTRIBUTES_NAME) {
    return rest === ATTRIBUTES_REST && load<u32>(at + 16) === ATTRIBUTES_END ? ATTRIBUTES : NONE;
  }
  return (name & SEVEN_BYTES) === INT_NAME ? INT : NONE;
}

/** Length of a field's name with its quotes. */
function lengthOf(field: i32): i32 {
  if (field === ATTRIBUTES) return 20;
  if (field === TIME) return 14;
  if (field === DOUBLE) return 10;
  if (field === INT) return 7;
  return field === SPAN ? 8 : 9;
}

/** Reads a field's value; returns the position after it. An id may be any text: an invalid one links to nothing. */
function checkField(at: i32, field: i32): i32 {
  if (field === ATTRIBUTES) return copyAttributes(at);
  if (load<u8>(at) === 0x6e) return skipNull(at);
  if (field === TIME) return readTime(at);
  if (field === DOUBLE) return readDouble(at);
  if (field === INT) return readInt64(at);
  return load<u8>(at) === 0x22 ? copyText(at + 1) : unusual(at);
}
