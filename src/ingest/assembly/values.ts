/** Attribute lists and AnyValues as JSON, by the rules of `src/otlp/fast/attribute-scanner.ts`. */
import {
  FINGERPRINTS,
  isSame,
  KEYS,
  KEYS_MAX,
  nextElement,
  put,
  put2,
  putNull,
  skipColon,
  skipNull,
  skipSpace,
  state,
  unusual,
} from './memory.ts';
import { copyDouble, copyInt } from './numbers.ts';
import { copyJson } from './strings.ts';

const DEPTH_MAX: i32 = 60;
/**
 * Of one list, so that looking for each key among the ones before stays cheap: 10 ns for each byte of the
 * worst list. OpenInference writes eight attributes for each message of a conversation.
 */
const LIST_KEYS_MAX: i32 = 1024;
/** Fits into eight bits. */
const KEY_LENGTH_MAX: i32 = 128;
/** An odd number with random bits, to spread a key's bytes. */
const HASH_FACTOR: u64 = 0x9e3779b97f4a7c15;

// What exporters write around a string attribute, as little-endian words.
const ENTRY_START: u64 = 0x223a2279656b227b; // {"key":"
const STRING_START_0: u64 = 0x2265756c6176222c; // ,"value"
const STRING_START_1: u64 = 0x6e69727473227b3a; // :{"strin
const STRING_START_2: u64 = 0x3a2265756c615667; // gValue":
const STRING_START_BYTES: i32 = 25;
const VALUE_NAME: u64 = 0x002265756c617622; // "value"
const VALUES_NAME: u64 = 0x227365756c617622; // "values"

// The first eight bytes of an AnyValue's member.
const STRING_NAME: u64 = 0x56676e6972747322; // "stringV
const INT_NAME: u64 = 0x756c6156746e6922; // "intValu
const BOOL_NAME: u64 = 0x6c61566c6f6f6222; // "boolVal
const DOUBLE_NAME: u64 = 0x56656c62756f6422; // "doubleV
const ARRAY_NAME: u64 = 0x6156796172726122; // "arrayVa
const KVLIST_NAME: u64 = 0x567473696c766b22; // "kvlistV

/** Copies null or a list of {key, value} as one object. */
export function copyAttributes(at: i32): i32 {
  state.keys = 0;
  if (load<u8>(at) === 0x5b) return copyEntries(at, 1, false);
  put2(0x7d7b); // {}
  return skipNull(at);
}

/** Copies a list of {key, value}. @param nested of a kvlist: keys that begin with `$` are escaped */
function copyEntries(at: i32, depth: i32, nested: bool): i32 {
  if (depth > DEPTH_MAX) return unusual(at);
  const firstKey = state.keys;
  state.structures += 1;
  put(0x7b);
  at = skipSpace(at + 1);
  while (load<u8>(at) !== 0x5d) {
    at = copyEntry(at, depth, nested, firstKey);
    if (at === 0) return 0;
    at = nextElement(at);
    if (at === 0) return 0;
  }
  put(0x7d);
  state.keys = firstKey;
  return at + 1;
}

/** Copies one entry; its key must come before its value. */
function copyEntry(at: i32, depth: i32, nested: bool, firstKey: i32): i32 {
  state.structures += 1;
  if (load<u64>(at) === ENTRY_START) {
    at += 8;
  } else {
    if (load<u8>(at) !== 0x7b) return unusual(at);
    at = skipSpace(at + 1);
    if (load<u32>(at) !== 0x79656b22 || load<u8>(at + 4) !== 0x22) return unusual(at); // "key"
    at = skipColon(at + 5);
    if (at === 0) return 0;
    if (load<u8>(at) !== 0x22) return unusual(at);
    at += 1;
  }
  put(0x22);
  const key = state.text;
  at = copyJson(at);
  if (at === 0) return 0;
  if ((nested && load<u8>(key) === 0x24) || !noteKey(key, firstKey)) return unusual(at);
  put2(0x3a22); // ":
  if (
    load<u64>(at) === STRING_START_0 &&
    load<u64>(at + 8) === STRING_START_1 &&
    load<u64>(at + 16) === STRING_START_2 &&
    load<u8>(at + 24) === 0x22
  ) {
    state.structures += 1;
    put(0x22);
    at = copyJson(at + STRING_START_BYTES);
    if (at === 0) return 0;
    put(0x22);
    if (load<u16>(at) === 0x7d7d) return at + 2;
    at = skipSpace(at);
    if (load<u8>(at) !== 0x7d) return unusual(at);
    at = skipSpace(at + 1);
    return load<u8>(at) === 0x7d ? at + 1 : unusual(at);
  }
  return copyEntryValue(at, depth);
}

/** Copies the rest of an entry after its key. */
function copyEntryValue(at: i32, depth: i32): i32 {
  at = skipSpace(at);
  if (load<u8>(at) === 0x7d) {
    putNull();
    return at + 1;
  }
  if (load<u8>(at) !== 0x2c) return unusual(at);
  at = skipSpace(at + 1);
  if ((load<u64>(at) & 0x00ffffffffffffff) !== VALUE_NAME) return unusual(at);
  at = skipColon(at + 7);
  if (at === 0) return 0;
  at = copyValue(at, depth);
  if (at === 0) return 0;
  at = skipSpace(at);
  return load<u8>(at) === 0x7d ? at + 1 : unusual(at);
}

/** Adds the key that ends at `state.text` to the current list; false for a repeated one. */
function noteKey(key: i32, firstKey: i32): bool {
  const length = state.text - key;
  const count = state.keys;
  if (length > KEY_LENGTH_MAX || count - firstKey >= LIST_KEYS_MAX || count >= KEYS_MAX) {
    return false;
  }
  const fingerprint = fingerprintOf(key, length);
  const four = i32x4.splat(fingerprint);
  for (let other = firstKey; other < count; other += 4) {
    const found = i32x4.eq(v128.load(FINGERPRINTS + (other << 2)), four);
    if (v128.any_true(found) && hasKey(other, count, fingerprint, key)) return false;
  }
  store<i32>(FINGERPRINTS + (count << 2), fingerprint);
  store<i32>(KEYS + (count << 2), key);
  state.keys = count + 1;
  return true;
}

/** Checks whether the key at `key` is among four keys from `first` on. */
function hasKey(first: i32, count: i32, fingerprint: i32, key: i32): bool {
  const end = min(first + 4, count);
  for (let other = first; other < end; other += 1) {
    if (load<i32>(FINGERPRINTS + (other << 2)) !== fingerprint) continue;
    if (isSame(load<i32>(KEYS + (other << 2)), key, fingerprint & 0xff)) return true;
  }
  return false;
}

/** A hash of a key with its length in the lowest eight bits: equal keys have equal ones. */
function fingerprintOf(key: i32, length: i32): i32 {
  let hash: u64 = <u64>length;
  let at = key;
  const end = key + length;
  for (; at + 8 <= end; at += 8) hash = rotl<u64>((hash ^ load<u64>(at)) * HASH_FACTOR, 29);
  if (at < end) {
    const bits = <u64>((end - at) << 3);
    const rest = load<u64>(at) & (((<u64>1) << bits) - 1);
    hash = rotl<u64>((hash ^ rest) * HASH_FACTOR, 29);
  }
  return (<i32>(hash >> 32) & ~0xff) | length;
}

/** Copies null or an AnyValue with at most one member. */
export function copyValue(at: i32, depth: i32): i32 {
  if (depth > DEPTH_MAX) return unusual(at);
  if (load<u8>(at) !== 0x7b) {
    putNull();
    return skipNull(at);
  }
  state.structures += 1;
  at = skipSpace(at + 1);
  if (load<u8>(at) === 0x7d) {
    putNull();
    return at + 1;
  }
  at = copyMember(at, depth);
  if (at === 0) return 0;
  at = skipSpace(at);
  return load<u8>(at) === 0x7d ? at + 1 : unusual(at);
}

/** Past a member's name of so many bytes, which ends with `Value"`, and its colon. */
function skipName(at: i32, bytes: i32): i32 {
  const end = at + bytes;
  // Value"
  if (load<u32>(end - 6) !== 0x756c6156 || load<u16>(end - 2) !== 0x2265) return unusual(at);
  return skipColon(end);
}

/** Copies the member of an AnyValue. */
function copyMember(at: i32, depth: i32): i32 {
  const name = load<u64>(at);
  if (name === STRING_NAME) {
    at = skipName(at, 13);
    if (at === 0) return 0;
    if (load<u8>(at) !== 0x22) return unusual(at);
    put(0x22);
    at = copyJson(at + 1);
    put(0x22);
    return at;
  }
  if (name === INT_NAME) {
    at = skipName(at, 10);
    return at === 0 ? 0 : copyInt(at);
  }
  if (name === BOOL_NAME) {
    at = skipName(at, 11);
    return at === 0 ? 0 : copyBool(at);
  }
  if (name === DOUBLE_NAME) {
    at = skipName(at, 13);
    return at === 0 ? 0 : copyDouble(at);
  }
  if (name === ARRAY_NAME) {
    at = skipName(at, 12);
    return at === 0 ? 0 : copyValues(at, depth, false);
  }
  if (name !== KVLIST_NAME) return unusual(at);
  at = skipName(at, 13);
  return at === 0 ? 0 : copyValues(at, depth, true);
}

/** Copies true or false. */
function copyBool(at: i32): i32 {
  const word = load<u32>(at);
  store<u32>(state.text, word);
  if (word === 0x65757274) {
    state.text += 4;
    return at + 4;
  }
  if (word !== 0x736c6166 || load<u8>(at + 4) !== 0x65) return unusual(at);
  store<u8>(state.text + 4, 0x65);
  state.text += 5;
  return at + 5;
}

/** Copies the list of {"values": […]}, or an empty one without it. */
function copyValues(at: i32, depth: i32, isKvlist: bool): i32 {
  if (load<u8>(at) !== 0x7b) return unusual(at);
  state.structures += 1;
  at = skipSpace(at + 1);
  if (load<u8>(at) === 0x7d) {
    put2(isKvlist ? 0x7d7b : 0x5d5b);
    return at + 1;
  }
  if (load<u64>(at) !== VALUES_NAME) return unusual(at);
  at = skipColon(at + 8);
  if (at === 0) return 0;
  if (load<u8>(at) !== 0x5b) return unusual(at);
  at = isKvlist ? copyEntries(at, depth + 1, true) : copyArray(at, depth + 1);
  if (at === 0) return 0;
  at = skipSpace(at);
  return load<u8>(at) === 0x7d ? at + 1 : unusual(at);
}

/** Copies a list of AnyValues. */
function copyArray(at: i32, depth: i32): i32 {
  state.structures += 1;
  put(0x5b);
  at = skipSpace(at + 1);
  while (load<u8>(at) !== 0x5d) {
    at = copyValue(at, depth);
    if (at === 0) return 0;
    at = nextElement(at);
    if (at === 0) return 0;
  }
  put(0x5d);
  return at + 1;
}
