/**
 * Reads spans, log records and data points into cells, one per column, by the rules of
 * `src/otlp/fast/span-scanner.ts`, `log-scanner.ts` and `src/otlp/metrics.ts`. JavaScript provides the
 * table of members and their columns.
 */
import {
  MEMBER_BYTES,
  MEMBER_COLUMN,
  MEMBER_LARGEST,
  MEMBER_LENGTH,
  MEMBER_READ,
  READ_ATTRIBUTES,
  READ_BOUNDS,
  READ_BUCKET_COUNTS,
  READ_COUNT,
  READ_DOUBLE,
  READ_EVENTS,
  READ_EXEMPLARS,
  READ_INT64,
  READ_OPTIONAL_SPAN_ID,
  READ_OPTIONAL_TRACE_ID,
  READ_SPAN_ID,
  READ_STATUS,
  READ_TEXT,
  READ_TIME,
  READ_TRACE_ID,
  READ_UINT,
  READ_VALUE,
} from './codes.ts';
import { checkBounds, checkBucketCounts } from './distributions.ts';
import { checkExemplars } from './exemplars.ts';
import {
  CELL_BYTES,
  CELLS,
  COLUMNS_MAX,
  MEMBERS_MAX,
  nextElement,
  put,
  put2,
  skipColon,
  skipNull,
  skipSpace,
  state,
  TEXT,
  TEXT_BYTES,
  unusual,
} from './memory.ts';
import { readCount, readDouble, readHex, readInt64, readTime, readUint } from './numbers.ts';
import { copyJson, copyText } from './strings.ts';
import { copyAttributes, copyValue } from './values.ts';

/** The members of a record. */
export const MEMBERS = <i32>memory.data(MEMBERS_MAX * MEMBER_BYTES, 16);
/** By member, from that before the first: which one followed the last time. */
const FOLLOWERS = <i32>memory.data(MEMBERS_MAX + 1, 16);

/** What an event has beside its attributes and its name: fewer bytes than this. */
const EVENT_BYTES: i32 = 256;

const CODE_NAME: u64 = 0x00002265646f6322; // "code"
const MESSAGE_NAME: u64 = 0x6567617373656d22; // "message
const EVENT_NAME: u64 = 0x000022656d616e22; // "name"
const EVENT_TIME: u64 = 0x78696e55656d6974; // timeUnix
const EVENT_DROPPED: u64 = 0x41646570706f7264; // droppedA
const EVENT_ATTRIBUTES: u64 = 0x7475626972747461; // attribut
const SIX_BYTES: u64 = 0x0000ffffffffffff;

/** What `configure` sets, and what the current record has. */
export class record {
  static members: i32 = 0;
  static messageColumn: i32 = 0;
  static codeMax: i32 = 0;
  /** members of the current record */
  static seen: u32 = 0;
  /** columns of the current record that have an id, or an optional number */
  static present: u32 = 0;
  /** members that every record has */
  static required: u32 = 0;
}

/** Where a column's value is. */
export function cellOf(column: i32): i32 {
  return CELLS + column * CELL_BYTES;
}

/** Starts a record. */
function clear(): void {
  for (let at = CELLS; at < CELLS + COLUMNS_MAX * CELL_BYTES; at += CELL_BYTES) {
    v128.store(at, i64x2.splat(0));
  }
  state.text = TEXT;
  record.seen = 0;
  record.present = 0;
}

/** Reads one record from its brace on. */
export function readRecord(at: i32): i32 {
  if (load<u8>(at) !== 0x7b) return unusual(at);
  clear();
  state.structures += 1;
  at = skipSpace(at + 1);
  let byte = load<u8>(at);
  let before = 0;
  while (byte !== 0x7d) {
    const member = memberAt(at, before);
    if (member === 0) return unusual(at);
    const bit = (<u32>1) << (member - 1);
    if ((record.seen & bit) !== 0) return unusual(at);
    record.seen |= bit;
    before = member;
    const entry = MEMBERS + (member - 1) * MEMBER_BYTES;
    at = skipColon(at + <i32>load<u8>(entry + MEMBER_LENGTH));
    if (at === 0) return 0;
    at = readMember(at, entry);
    if (at === 0) return 0;
    at = skipSpace(at);
    byte = load<u8>(at);
    if (byte === 0x2c) at = skipSpace(at + 1);
    else if (byte !== 0x7d) return unusual(at);
  }
  if ((record.seen & record.required) !== record.required) return unusual(at);
  return at + 1;
}

/** The number of the member at `at`, from 1; 0 for an unknown one. @param before the one before it */
function memberAt(at: i32, before: i32): i32 {
  const first = v128.load(at);
  const second = v128.load(at + 16);
  const expected = <i32>load<u8>(FOLLOWERS + before);
  if (expected !== 0 && isNamed(expected, first, second)) return expected;
  for (let member = 1; member <= record.members; member += 1) {
    if (!isNamed(member, first, second)) continue;
    store<u8>(FOLLOWERS + before, <u8>member);
    return member;
  }
  return 0;
}

/** Whether 32 bytes begin with a member's name. */
function isNamed(member: i32, first: v128, second: v128): bool {
  const entry = MEMBERS + (member - 1) * MEMBER_BYTES;
  const upper = v128.or(i8x16.eq(first, v128.load(entry)), v128.load(entry, 32));
  const lower = v128.or(i8x16.eq(second, v128.load(entry, 16)), v128.load(entry, 48));
  return i8x16.all_true(v128.and(upper, lower));
}

/** Reads a member's value into its cell. */
function readMember(at: i32, entry: i32): i32 {
  const column = <i32>load<u8>(entry + MEMBER_COLUMN);
  const cell = cellOf(column);
  const start = state.text;
  switch (<i32>load<u8>(entry + MEMBER_READ)) {
    case READ_TIME: {
      at = readTime(at);
      store<u64>(cell, state.value);
      return at;
    }
    case READ_UINT: {
      at = readUint(at, load<u32>(entry + MEMBER_LARGEST));
      store<u64>(cell, state.value);
      return at;
    }
    case READ_TEXT: {
      at = load<u8>(at) === 0x22 ? copyText(at + 1) : skipNull(at);
      break;
    }
    case READ_TRACE_ID:
      return readId(at, column, 16);
    case READ_SPAN_ID:
      return readId(at, column, 8);
    case READ_OPTIONAL_TRACE_ID:
      return readOptionalId(at, column, 16);
    case READ_OPTIONAL_SPAN_ID:
      return readOptionalId(at, column, 8);
    case READ_ATTRIBUTES: {
      at = copyAttributes(at);
      break;
    }
    case READ_VALUE: {
      if (load<u8>(at) !== 0x7b) return skipNull(at);
      state.keys = 0;
      at = copyValue(at, 1);
      break;
    }
    case READ_STATUS:
      return readStatus(at, cell);
    case READ_EVENTS: {
      if (load<u8>(at) !== 0x5b) return skipNull(at);
      at = copyEvents(at);
      break;
    }
    case READ_INT64: {
      if (load<u8>(at) === 0x6e) return skipNull(at);
      at = readInt64(at);
      return setValue(at, column, state.value);
    }
    case READ_DOUBLE: {
      if (load<u8>(at) === 0x6e) return skipNull(at);
      at = readDouble(at);
      return setValue(at, column, reinterpret<u64>(state.real));
    }
    case READ_COUNT: {
      if (load<u8>(at) === 0x6e) return setValue(skipNull(at), column, 0);
      at = readCount(at);
      return setValue(at, column, state.value);
    }
    case READ_BUCKET_COUNTS:
      return checkBucketCounts(at);
    case READ_BOUNDS:
      return checkBounds(at);
    case READ_EXEMPLARS:
      return checkExemplars(at);
    default:
      return skipEmptyList(at);
  }
  store<u32>(cell, start);
  store<u32>(cell + 4, state.text);
  return at;
}

/** Sets an optional number; @returns `at` */
export function setValue(at: i32, column: i32, value: u64): i32 {
  store<u64>(cellOf(column), value);
  record.present |= (<u32>1) << column;
  return at;
}

/** Whether a column of the current record has an id, or an optional number. */
export function isPresent(column: i32): bool {
  return (record.present & ((<u32>1) << column)) !== 0;
}

/** Reads an id of so many bytes. One of zeros is none, and not ordinary. */
function readId(at: i32, column: i32, bytes: i32): i32 {
  const cell = cellOf(column);
  if (load<u8>(at) !== 0x22 || !readHex(at + 1)) return unusual(at);
  let any = state.value;
  store<u64>(cell, state.value);
  if (bytes === 16) {
    if (!readHex(at + 17)) return unusual(at);
    store<u64>(cell + 8, state.value);
    any |= state.value;
  }
  const end = at + 1 + 2 * bytes;
  if (any === 0 || load<u8>(end) !== 0x22) return unusual(end);
  record.present |= (<u32>1) << column;
  return end + 1;
}

/** Reads an id, or null or an empty string for none. */
function readOptionalId(at: i32, column: i32, bytes: i32): i32 {
  if (load<u16>(at) === 0x2222) return at + 2;
  return load<u8>(at) === 0x22 ? readId(at, column, bytes) : skipNull(at);
}

/** Reads a span's status: the code into its cell, the message into that of another column. */
function readStatus(at: i32, cell: i32): i32 {
  if (load<u8>(at) !== 0x7b) return skipNull(at);
  state.structures += 1;
  let seen = 0;
  at = skipSpace(at + 1);
  let byte = load<u8>(at);
  while (byte !== 0x7d) {
    const name = load<u64>(at);
    const isCode = (name & SIX_BYTES) === CODE_NAME;
    if (!isCode && (name !== MESSAGE_NAME || load<u8>(at + 8) !== 0x22)) return unusual(at);
    const bit = isCode ? 1 : 2;
    if ((seen & bit) !== 0) return unusual(at);
    seen |= bit;
    at = skipColon(at + (isCode ? 6 : 9));
    if (at === 0) return 0;
    if (isCode) {
      at = readUint(at, record.codeMax);
      store<u64>(cell, state.value);
    } else {
      const message = cellOf(record.messageColumn);
      store<u32>(message, state.text);
      at = load<u8>(at) === 0x22 ? copyText(at + 1) : skipNull(at);
      store<u32>(message + 4, state.text);
    }
    if (at === 0) return 0;
    at = skipSpace(at);
    byte = load<u8>(at);
    if (byte === 0x2c) at = skipSpace(at + 1);
    else if (byte !== 0x7d) return unusual(at);
  }
  return at + 1;
}

/** Past null or an empty list. */
function skipEmptyList(at: i32): i32 {
  if (load<u8>(at) !== 0x5b) return skipNull(at);
  state.structures += 1;
  at = skipSpace(at + 1);
  return load<u8>(at) === 0x5d ? at + 1 : unusual(at);
}

/** Copies a list of events; nothing for an empty one. */
function copyEvents(at: i32): i32 {
  state.structures += 1;
  at = skipSpace(at + 1);
  if (load<u8>(at) === 0x5d) return at + 1;
  put(0x5b);
  while (load<u8>(at) !== 0x5d) {
    // Its parts, and then what they are joined to; the rest of the window needs as much.
    const needed = 4 * (state.limit - at) + 2 * EVENT_BYTES;
    if (load<u8>(at) !== 0x7b || state.text + needed > TEXT + TEXT_BYTES) return unusual(at);
    at = copyEvent(at);
    if (at === 0) return 0;
    at = nextElement(at);
    if (at === 0) return 0;
  }
  put(0x5d);
  return at + 1;
}

/** Past the name of an event's member and its colon. */
function skipEventName(at: i32, field: i32): i32 {
  if (field === 0) return skipColon(at + 6);
  if (field === 1) {
    // Nano"
    if (load<u32>(at + 9) !== 0x6f6e614e || load<u8>(at + 13) !== 0x22) return unusual(at);
    return skipColon(at + 14);
  }
  if (field === 2) {
    // ttribute sCount"
    if (load<u64>(at + 9) !== 0x6574756269727474) return unusual(at);
    if ((load<u64>(at + 17) & 0x00ffffffffffffff) !== 0x22746e756f4373) return unusual(at);
    return skipColon(at + 24);
  }
  // es"
  if (load<u16>(at + 9) !== 0x7365 || load<u8>(at + 11) !== 0x22) return unusual(at);
  return skipColon(at + 12);
}

/** The number of an event's member in the order of what is written; −1 for others. */
function eventField(at: i32): i32 {
  if ((load<u64>(at) & SIX_BYTES) === EVENT_NAME) return 0;
  if (load<u8>(at) !== 0x22) return -1;
  const name = load<u64>(at + 1);
  if (name === EVENT_TIME) return 1;
  if (name === EVENT_DROPPED) return 2;
  return name === EVENT_ATTRIBUTES ? 3 : -1;
}

/** Copies one event: its parts behind each other, and then as they are to be, in their place. */
function copyEvent(at: i32): i32 {
  const start = state.text;
  state.structures += 1;
  let seen = 0;
  let name = start;
  let nameEnd = start;
  let attributes = start;
  let attributesEnd = start;
  let time = 0;
  let timeEnd = 0;
  let dropped = 0;
  let droppedEnd = 0;
  at = skipSpace(at + 1);
  let byte = load<u8>(at);
  while (byte !== 0x7d) {
    const field = eventField(at);
    if (field < 0 || (seen & (1 << field)) !== 0) return unusual(at);
    seen |= 1 << field;
    at = skipEventName(at, field);
    if (at === 0) return 0;
    const value = at;
    if (field === 0) {
      if (load<u8>(at) !== 0x22) return unusual(at);
      name = state.text;
      at = copyJson(at + 1);
      nameEnd = state.text;
    } else if (field === 1) {
      at = readTime(at);
      // Digits without leading zeros, as they are written.
      const quoted = <i32>(load<u8>(value) === 0x22);
      time = value + quoted;
      timeEnd = load<u8>(value) === 0x6e ? time : at - quoted;
    } else if (field === 2) {
      at = readUint(at, u32.MAX_VALUE);
      dropped = value;
      droppedEnd = state.value === 0 ? value : at;
    } else {
      attributes = state.text;
      at = copyAttributes(at);
      attributesEnd = state.text;
    }
    if (at === 0) return 0;
    at = skipSpace(at);
    byte = load<u8>(at);
    if (byte === 0x2c) at = skipSpace(at + 1);
    else if (byte !== 0x7d) return unusual(at);
  }
  const joined = state.text;
  store<u64>(joined, 0x3a22656d616e227b); // {"name":
  state.text += 8;
  put(0x22);
  putRange(name, nameEnd);
  v128.store(state.text, v128.load(TIME_TEXT));
  store<u32>(state.text + 16, load<u32>(TIME_TEXT + 16));
  state.text += TIME_TEXT_BYTES;
  if (time === timeEnd) put(0x30);
  else putRange(time, timeEnd);
  v128.store(state.text, v128.load(ATTRIBUTES_TEXT));
  state.text += ATTRIBUTES_TEXT_BYTES;
  if (attributes === attributesEnd) put2(0x7d7b);
  else putRange(attributes, attributesEnd);
  if (dropped !== droppedEnd) {
    v128.store(state.text, v128.load(DROPPED_TEXT));
    v128.store(state.text + 16, v128.load(DROPPED_TEXT + 16));
    state.text += DROPPED_TEXT_BYTES;
    putRange(dropped, droppedEnd);
  }
  put(0x7d);
  const length = state.text - joined;
  memory.copy(start, joined, length);
  state.text = start + length;
  return at + 1;
}

// ","timeUnixNano":"
const TIME_TEXT = <i32>(
  memory.data<u8>([
    0x22, 0x2c, 0x22, 0x74, 0x69, 0x6d, 0x65, 0x55, 0x6e, 0x69, 0x78, 0x4e, 0x61, 0x6e, 0x6f, 0x22,
    0x3a, 0x22, 0, 0,
  ])
);
const TIME_TEXT_BYTES: i32 = 18;
// ","attributes":
const ATTRIBUTES_TEXT = <i32>(
  memory.data<u8>([
    0x22, 0x2c, 0x22, 0x61, 0x74, 0x74, 0x72, 0x69, 0x62, 0x75, 0x74, 0x65, 0x73, 0x22, 0x3a, 0,
  ])
);
const ATTRIBUTES_TEXT_BYTES: i32 = 15;
// ,"droppedAttributesCount":
const DROPPED_TEXT = <i32>(
  memory.data<u8>([
    0x2c, 0x22, 0x64, 0x72, 0x6f, 0x70, 0x70, 0x65, 0x64, 0x41, 0x74, 0x74, 0x72, 0x69, 0x62, 0x75,
    0x74, 0x65, 0x73, 0x43, 0x6f, 0x75, 0x6e, 0x74, 0x22, 0x3a, 0, 0, 0, 0, 0, 0,
  ])
);
const DROPPED_TEXT_BYTES: i32 = 26;

/** Appends bytes of the window or of the texts. */
function putRange(start: i32, end: i32): void {
  memory.copy(state.text, start, end - start);
  state.text += end - start;
}
