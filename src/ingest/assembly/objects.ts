/**
 * Checks objects whose members are in a table: records, and the objects in them (status, events, links,
 * exemplars, attributes and their values). Of a record, the values that decide about it or its run are kept in cells. JavaScript
 * provides the tables of members.
 */
import * as codes from './codes.ts';
import { checkBounds, checkBucketCounts } from './distributions.ts';
import {
  cellAt,
  MEMBERS,
  nextElement,
  nextMember,
  setValue,
  skipColon,
  skipNull,
  skipSpace,
  state,
  unusual,
} from './memory.ts';
import {
  checkDouble,
  checkInt64,
  checkIntValue,
  readCount,
  readHex,
  readTime,
  readUint,
} from './numbers.ts';
import {
  checkBase64,
  DEPTH_MAX,
  skipBool,
  skipMember,
  skipPlainString,
  skipString,
  skipText,
} from './strings.ts';

const COUNTS = <i32>memory.data(codes.OBJECTS_MAX, 16);
/** By kind of object and by member, from that before the first: which one followed the last time. */
const FOLLOWERS = <i32>memory.data(codes.OBJECTS_MAX * (codes.MEMBERS_MAX + 1), 16);
const TABLE_BYTES: i32 = codes.MEMBERS_MAX * codes.MEMBER_BYTES;

// Bytes that exporters write around a string attribute, as little-endian words.
const ENTRY_START: u64 = 0x223a2279656b227b; // {"key":"
const STRING_START_0: u64 = 0x2265756c6176222c; // ,"value"
const STRING_START_1: u64 = 0x6e69727473227b3a; // :{"strin
const STRING_START_2: u64 = 0x3a2265756c615667; // gValue":
const STRING_START_BYTES: i32 = 25;
/** Of `,"value":` before the AnyValue. */
const VALUE_NAME_BYTES: i32 = 9;
const COLON_BRACE: u16 = 0x7b3a; // :{
const BRACES: u16 = 0x7d7d; // }}
// Numbers of members, from 1.
const KEY: i32 = 1;
const ENTRY_VALUE: i32 = 2;
const STRING_VALUE: i32 = 1;

export function setMembers(object: i32, count: i32): void {
  store<u8>(COUNTS + object, <u8>count);
}

/** Checks an object from its brace on; `state` then has its members. */
export function checkObject(at: i32, object: i32): i32 {
  if (load<u8>(at) !== 0x7b) return unusual(at);
  state.structures += 1;
  at = skipSpace(at + 1);
  const first = load<u8>(at);
  return first === 0x22 || first === 0x7d ? checkMembers(at, object, 0) : unusual(at);
}

/** Checks the rest of an object. @param last its members from the first to this one come before */
function checkRest(at: i32, object: i32, last: i32): i32 {
  at = nextMember(at);
  return at === 0 ? 0 : checkMembers(at, object, last);
}

/** Checks the members of an object from the first or next one on. @param before as in `checkRest` */
function checkMembers(at: i32, object: i32, before: i32): i32 {
  const table = MEMBERS + object * TABLE_BYTES;
  let seen: u32 = ((<u32>1) << before) - 1;
  let hasUnknown = false;
  while (load<u8>(at) !== 0x7d) {
    const member = memberAt(at, object, before);
    if (member === 0) {
      hasUnknown = true;
      at = skipMember(at, 1);
    } else {
      const bit = (<u32>1) << (member - 1);
      if ((seen & bit) !== 0) return unusual(at);
      seen |= bit;
      before = member;
      const entry = table + (member - 1) * codes.MEMBER_BYTES;
      const isOfRecord = (load<u8>(entry + codes.MEMBER_RECORDS) >> <u8>state.kind) & 1;
      if (!isOfRecord) return unusual(at);
      at = skipColon(at + <i32>load<u8>(entry + codes.MEMBER_LENGTH));
      if (at === 0) return 0;
      at = checkMember(at, entry);
    }
    if (at === 0) return 0;
    at = nextMember(at);
    if (at === 0) return 0;
  }
  state.seen = seen;
  state.hasUnknown = hasUnknown;
  return at + 1;
}

/** The number of the member at `at`, from 1; 0 for an unknown one. @param before the one before it */
function memberAt(at: i32, object: i32, before: i32): i32 {
  const first = v128.load(at);
  const second = v128.load(at + 16);
  const table = MEMBERS + object * TABLE_BYTES;
  const follower = FOLLOWERS + object * (codes.MEMBERS_MAX + 1) + before;
  const expected = <i32>load<u8>(follower);
  if (expected !== 0 && isNamed(table, expected, first, second)) return expected;
  const count = <i32>load<u8>(COUNTS + object);
  for (let member = 1; member <= count; member += 1) {
    if (!isNamed(table, member, first, second)) continue;
    store<u8>(follower, <u8>member);
    return member;
  }
  return 0;
}

/** Checks whether 32 bytes begin with a member's name. */
function isNamed(table: i32, member: i32, first: v128, second: v128): bool {
  const entry = table + (member - 1) * codes.MEMBER_BYTES;
  const upper = v128.or(i8x16.eq(first, v128.load(entry)), v128.load(entry, 32));
  const lower = v128.or(i8x16.eq(second, v128.load(entry, 16)), v128.load(entry, 48));
  return i8x16.all_true(v128.and(upper, lower));
}

/** Checks a member's value, and keeps it if the member has a cell. */
function checkMember(at: i32, entry: i32): i32 {
  const cell = <i32>load<u8>(entry + codes.MEMBER_CELL);
  switch (<i32>load<u8>(entry + codes.MEMBER_READ)) {
    case codes.READ_TIME: {
      at = readTime(at);
      return cell === codes.CELL_NONE ? at : setValue(at, cell, state.value);
    }
    case codes.READ_UINT: {
      at = readUint(at, load<u32>(entry + codes.MEMBER_DETAIL));
      return cell === codes.CELL_NONE ? at : setValue(at, cell, state.value);
    }
    case codes.READ_TEXT: {
      const start = at;
      at = skipText(at);
      if (cell !== codes.CELL_NONE && load<u8>(start) === 0x22) {
        store<i32>(cellAt(cell), start + 1);
        store<i32>(cellAt(cell) + 4, at - 1);
      }
      return at;
    }
    case codes.READ_TRACE_ID:
      return readId(at, cell, 16);
    case codes.READ_SPAN_ID:
      return readId(at, cell, 8);
    case codes.READ_OPTIONAL_TRACE_ID:
      return readOptionalId(at, cell);
    case codes.READ_PARENT_ID:
      return readParentId(at, cell);
    case codes.READ_ATTRIBUTES:
      return checkAttributes(at);
    case codes.READ_VALUES:
      return checkValues(at);
    case codes.READ_BOOL:
      return load<u8>(at) === 0x6e ? skipNull(at) : skipBool(at);
    case codes.READ_BASE64:
      return checkBase64(at);
    case codes.READ_OBJECT:
      return load<u8>(at) === 0x6e ? skipNull(at) : checkObject(at, detailOf(entry));
    case codes.READ_LIST:
      return checkList(at, detailOf(entry));
    case codes.READ_INT64:
      return load<u8>(at) === 0x6e ? skipNull(at) : checkNumber(checkInt64(at), cell);
    case codes.READ_INT_VALUE:
      return load<u8>(at) === 0x6e ? skipNull(at) : checkIntValue(at);
    case codes.READ_DOUBLE:
      return load<u8>(at) === 0x6e ? skipNull(at) : checkNumber(checkDouble(at), cell);
    case codes.READ_COUNT: {
      if (load<u8>(at) === 0x6e) return skipNull(at);
      at = readCount(at);
      return setValue(at, cell, state.value);
    }
    case codes.READ_BUCKET_COUNTS:
      return checkBucketCounts(at);
    case codes.READ_BOUNDS:
      return checkBounds(at);
    default:
      return unusual(at);
  }
}

function detailOf(entry: i32): i32 {
  return load<i32>(entry + codes.MEMBER_DETAIL);
}

/** Notes that the number before `at` is there; @returns `at` */
function checkNumber(at: i32, cell: i32): i32 {
  return setValue(at, cell, 0);
}

function checkList(at: i32, object: i32): i32 {
  if (load<u8>(at) !== 0x5b) return skipNull(at);
  state.structures += 1;
  at = skipSpace(at + 1);
  while (load<u8>(at) !== 0x5d) {
    at = checkObject(at, object);
    if (at === 0) return 0;
    at = nextElement(at);
    if (at === 0) return 0;
  }
  return at + 1;
}

/** Checks null or a list of {key, value}. */
function checkAttributes(at: i32): i32 {
  return checkNested(at, true);
}

function checkValues(at: i32): i32 {
  return checkNested(at, false);
}

/** Checks null or a list, one level deeper. */
function checkNested(at: i32, isOfEntries: bool): i32 {
  if (load<u8>(at) !== 0x5b) return skipNull(at);
  if (state.depth >= DEPTH_MAX) return unusual(at);
  state.depth += 1;
  state.structures += 1;
  at = skipSpace(at + 1);
  while (load<u8>(at) !== 0x5d) {
    at = isOfEntries ? checkEntry(at) : checkElement(at);
    if (at === 0) return 0;
    at = nextElement(at);
    if (at === 0) return 0;
  }
  state.depth -= 1;
  return at + 1;
}

/** Checks an AnyValue of a list; null is an empty one. */
function checkElement(at: i32): i32 {
  return load<u8>(at) === 0x6e ? skipNull(at) : checkObject(at, codes.VALUE);
}

/** Checks one entry, most quickly as exporters write it. */
function checkEntry(at: i32): i32 {
  if (load<u64>(at) !== ENTRY_START) return checkObject(at, codes.ENTRY);
  state.structures += 1;
  at = skipString(at + 8);
  if (at === 0) return 0;
  if (load<u64>(at) !== STRING_START_0) return checkRest(at, codes.ENTRY, KEY);
  if (
    load<u64>(at + 8) === STRING_START_1 &&
    load<u64>(at + 16) === STRING_START_2 &&
    load<u8>(at + 24) === 0x22
  ) {
    state.structures += 1;
    at = skipString(at + STRING_START_BYTES);
    if (at === 0) return 0;
    if (load<u16>(at) === BRACES) return at + 2;
    at = checkRest(at, codes.VALUE, STRING_VALUE);
  } else if (load<u16>(at + VALUE_NAME_BYTES - 1) === COLON_BRACE) {
    at = checkObject(at + VALUE_NAME_BYTES, codes.VALUE);
  } else {
    return checkRest(at, codes.ENTRY, KEY);
  }
  if (at === 0) return 0;
  return load<u8>(at) === 0x7d ? at + 1 : checkRest(at, codes.ENTRY, ENTRY_VALUE);
}

/** Reads an id of so many bytes. An id of zeros is invalid, and not ordinary. */
function readId(at: i32, cell: i32, bytes: i32): i32 {
  if (load<u8>(at) !== 0x22 || !readHex(at + 1)) return unusual(at);
  const first = state.value;
  let any = first;
  if (bytes === 16) {
    if (!readHex(at + 17)) return unusual(at);
    store<u64>(cellAt(cell) + 8, state.value);
    any |= state.value;
  }
  const end = at + 1 + 2 * bytes;
  if (any === 0 || load<u8>(end) !== 0x22) return unusual(end);
  return setValue(end + 1, cell, first);
}

/** Reads a trace id; null, or any text without escapes, means no id. */
function readOptionalId(at: i32, cell: i32): i32 {
  if (load<u8>(at) !== 0x22) return skipNull(at);
  const end = readId(at, cell, 16);
  return end === 0 ? skipPlainString(at) : end;
}

/** Reads a span id; null, an empty text or zeros are none. */
function readParentId(at: i32, cell: i32): i32 {
  if (load<u8>(at) !== 0x22) return skipNull(at);
  if (load<u8>(at + 1) === 0x22) return at + 2;
  const end = readId(at, cell, 8);
  if (end !== 0) return end;
  const isZero = readHex(at + 1) && state.value === 0 && load<u8>(at + 17) === 0x22;
  return isZero ? at + 18 : unusual(at);
}
