/**
 * Owns the writing of attribute lists and AnyValues as the JSON text that `../any-value.ts` defines,
 * straight from the body's bytes. Ordinary members are read here, in the order in which exporters
 * write them; a list or value that is not ordinary is given to `../any-value.ts`, for itself alone.
 */

import { parseAnyValue, parseAttributes } from '../any-value.ts';
import { Fault } from '../fault.ts';
import { ZERO } from './byte-tests.ts';
import { isSame } from './byte-words.ts';
import { EXACT_DIGITS_MAX } from './decimal-double.ts';
import { FieldTable } from './field-table.ts';
import { copyDouble } from './number-scanner.ts';
import {
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  LEFT_TO_PLAIN,
  MINUS,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  type Scanner,
} from './scanner.ts';

/** Deeper values are left to the plain decoder, which knows the limit. */
const DEPTH_MAX = 60;
/** Longer lists are given to `../any-value.ts`, which does not compare every key with every other. */
const KEYS_MAX = 64;
const NESTED_KEYS_MAX = 4096;
const KEY_BYTES_MAX = 128;
const INT_DIGITS_MAX = 18;

const NINE = 0x39;
const DOLLAR = 0x24;

const ENTRY = new FieldTable(['key', 'value']);
const KEY = 0;

const ANY_VALUE = new FieldTable([
  'stringValue',
  'boolValue',
  'intValue',
  'doubleValue',
  'bytesValue',
  'arrayValue',
  'kvlistValue',
]);
const STRING_VALUE = 0;
const BOOL_VALUE = 1;
const INT_VALUE = 2;
const DOUBLE_VALUE = 3;
const ARRAY_VALUE = 5;
const KVLIST_VALUE = 6;

const VALUES = new FieldTable(['values']);

const TRUE = Buffer.from('true');
const FALSE = Buffer.from('false');
const NULL = Buffer.from('null');
const EMPTY_OBJECT = Buffer.from('{}');
const EMPTY_LIST = Buffer.from('[]');

// What every exporter writes around a string attribute, as little-endian words.
const word = (text: string): number => Buffer.from(text).readInt32LE();
const ENTRY_START = [word('{"ke'), word('y":"')] as const;
const STRING_START = [
  word(',"va'),
  word('lue"'),
  word(':{"s'),
  word('trin'),
  word('gVal'),
  word('ue":'),
] as const;
const STRING_START_BYTES = 25;
const STRING_END = Buffer.from('}}').readInt16LE();

/** Something in a list or value is not ordinary; thrown and caught within this file. */
const NOT_ORDINARY = new Error('not ordinary');

/** Where the keys of the lists being written stand in the arena, one list above the other. */
const keyStarts = new Int32Array(NESTED_KEYS_MAX);
const keyEnds = new Int32Array(NESTED_KEYS_MAX);
let keyCount = 0;

/** Reads null or a list of {key, value} and writes it as one JSON object. */
export function copyAttributes(scanner: Scanner): void {
  if (scanner.isNull()) {
    scanner.arena.literal(EMPTY_OBJECT);
    return;
  }
  const start = scanner.at;
  const { end } = scanner.arena;
  keyCount = 0;
  try {
    copyEntries(scanner, 1, false);
  } catch (error) {
    if (error !== NOT_ORDINARY) throw error;
    const fault = new Fault();
    const text = parseAttributes(parseFrom(scanner, start, end), '', fault);
    if (fault.refused) throw LEFT_TO_PLAIN;
    write(scanner, text);
  }
}

/** Reads an AnyValue (or null) and writes it. */
export function copyAnyValue(scanner: Scanner): void {
  const start = scanner.at;
  const { end } = scanner.arena;
  keyCount = 0;
  try {
    copyValue(scanner, 1);
  } catch (error) {
    if (error !== NOT_ORDINARY) throw error;
    const fault = new Fault();
    const text = parseAnyValue(parseFrom(scanner, start, end), 1, fault);
    if (fault.refused) throw LEFT_TO_PLAIN;
    write(scanner, text);
  }
}

/** Goes back to where a value begins, parses it, and drops what was written of it. */
function parseFrom(scanner: Scanner, start: number, arenaEnd: number) {
  scanner.at = start;
  scanner.arena.end = arenaEnd;
  scanner.skipValue();
  return scanner.parse(start, scanner.at);
}

function write(scanner: Scanner, text: string): void {
  scanner.arena.text(text);
  scanner.arena.reserveRow(scanner.body.length - scanner.at);
}

/** @param nested a kvlist's: keys that begin with `$` are not ordinary there */
function copyEntries(scanner: Scanner, depth: number, nested: boolean): void {
  if (depth > DEPTH_MAX) throw LEFT_TO_PLAIN;
  const { arena } = scanner;
  const firstKey = keyCount;
  arena.byte(OPEN_OBJECT);
  let more = scanner.openList();
  while (more) {
    copyEntry(scanner, depth, nested, firstKey);
    more = scanner.nextElement();
    if (more) arena.byte(COMMA);
  }
  arena.byte(CLOSE_OBJECT);
  keyCount = firstKey;
}

function copyEntry(scanner: Scanner, depth: number, nested: boolean, firstKey: number): void {
  const { view, arena } = scanner;
  scanner.peek();
  const { at } = scanner;
  if (
    view.getInt32(at, true) === ENTRY_START[0] &&
    view.getInt32(at + 4, true) === ENTRY_START[1]
  ) {
    scanner.at = at + 8;
    scanner.noteStructures(1);
    copyKey(scanner, nested, firstKey);
    if (startsString(scanner)) {
      scanner.at += STRING_START_BYTES;
      scanner.noteStructures(1);
      arena.byte(QUOTE);
      scanner.copyJsonRest();
      scanner.arena.byte(QUOTE);
      if (view.getInt16(scanner.at, true) === STRING_END) {
        scanner.at += 2;
        return;
      }
      // The AnyValue or the entry has more members than this one.
      if (scanner.nextMember() || scanner.nextField(ENTRY) >= 0) throw NOT_ORDINARY;
      return;
    }
    copyRest(scanner, depth);
    return;
  }
  copyOddEntry(scanner, depth, nested, firstKey);
}

function startsString({ view, at }: Scanner): boolean {
  return (
    view.getInt32(at, true) === STRING_START[0] &&
    view.getInt32(at + 4, true) === STRING_START[1] &&
    view.getInt32(at + 8, true) === STRING_START[2] &&
    view.getInt32(at + 12, true) === STRING_START[3] &&
    view.getInt32(at + 16, true) === STRING_START[4] &&
    view.getInt32(at + 20, true) === STRING_START[5] &&
    view.getUint8(at + 24) === QUOTE
  );
}

/** An entry written with spaces or with other members; its key has to come before its value. */
function copyOddEntry(scanner: Scanner, depth: number, nested: boolean, firstKey: number): void {
  if (scanner.peek() !== OPEN_OBJECT) throw LEFT_TO_PLAIN;
  if (!scanner.openObject()) throw NOT_ORDINARY;
  if (scanner.field(ENTRY) !== KEY || scanner.peek() !== QUOTE) throw NOT_ORDINARY;
  scanner.at += 1;
  copyKey(scanner, nested, firstKey);
  copyRest(scanner, depth);
}

/** The entry's members behind its key. */
function copyRest(scanner: Scanner, depth: number): void {
  const field = scanner.nextField(ENTRY);
  if (field < 0) {
    scanner.arena.literal(NULL);
    return;
  }
  if (field === KEY) throw NOT_ORDINARY;
  copyValue(scanner, depth);
  if (scanner.nextField(ENTRY) >= 0) throw NOT_ORDINARY;
}

/** Writes the key, whose opening quote has been read, and the colon. */
function copyKey(scanner: Scanner, nested: boolean, firstKey: number): void {
  scanner.arena.byte(QUOTE);
  const start = scanner.arena.end;
  scanner.copyJsonRest();
  const { arena } = scanner;
  if (nested && arena.view.getUint8(start) === DOLLAR) throw NOT_ORDINARY;
  noteKey(arena.view, start, arena.end, firstKey);
  arena.byte(QUOTE);
  arena.byte(COLON);
}

/**
 * Remembers a key of the current list; one that the list has already is not ordinary. The limits on
 * keys bound what comparing them may cost.
 */
function noteKey(view: DataView, start: number, end: number, firstKey: number): void {
  const length = end - start;
  if (length > KEY_BYTES_MAX || keyCount - firstKey >= KEYS_MAX || keyCount >= NESTED_KEYS_MAX) {
    throw NOT_ORDINARY;
  }
  for (let index = firstKey; index < keyCount; index += 1) {
    const other = keyStarts[index] ?? 0;
    if ((keyEnds[index] ?? 0) - other === length && isSame(view, start, view, other, length)) {
      throw NOT_ORDINARY;
    }
  }
  keyStarts[keyCount] = start;
  keyEnds[keyCount] = end;
  keyCount += 1;
}

function copyValue(scanner: Scanner, depth: number): void {
  if (depth > DEPTH_MAX) throw LEFT_TO_PLAIN;
  const { arena } = scanner;
  if (scanner.isNull()) {
    arena.literal(NULL);
    return;
  }
  let written = -1;
  for (
    let field = scanner.firstField(ANY_VALUE);
    field >= 0;
    field = scanner.nextField(ANY_VALUE)
  ) {
    if (scanner.isNull()) {
      if (field === written) throw NOT_ORDINARY;
      continue;
    }
    // Which of several members stands is a rule of `../any-value.ts`.
    if (written >= 0) throw NOT_ORDINARY;
    copyMember(scanner, field, depth);
    written = field;
  }
  if (written < 0) arena.literal(NULL);
}

function copyMember(scanner: Scanner, field: number, depth: number): void {
  if (field === STRING_VALUE) {
    scanner.arena.byte(QUOTE);
    scanner.copyJsonString();
    scanner.arena.byte(QUOTE);
  } else if (field === BOOL_VALUE) {
    scanner.arena.literal(scanner.bool() ? TRUE : FALSE);
  } else if (field === INT_VALUE) {
    copyInt(scanner);
  } else if (field === DOUBLE_VALUE) {
    if (scanner.peek() === QUOTE) throw NOT_ORDINARY;
    copyDouble(scanner);
  } else if (field === ARRAY_VALUE) {
    copyArray(scanner, depth);
  } else if (field === KVLIST_VALUE) {
    copyKvlist(scanner, depth);
  } else {
    throw NOT_ORDINARY;
  }
}

/** Copies an integer's digits when they are as `toInt64` would write them. */
function copyInt(scanner: Scanner): void {
  const { view, arena } = scanner;
  const quoted = scanner.peek() === QUOTE;
  const start = quoted ? scanner.at + 1 : scanner.at;
  const first = view.getUint8(start) === MINUS ? start + 1 : start;
  let at = first;
  while (view.getUint8(at) >= ZERO && view.getUint8(at) <= NINE) at += 1;
  const digits = at - first;
  if (digits === 0 || digits > (quoted ? INT_DIGITS_MAX : EXACT_DIGITS_MAX)) throw NOT_ORDINARY;
  if (view.getUint8(first) === ZERO && at > start + 1) throw NOT_ORDINARY;
  for (let index = start; index < at; index += 1) arena.byte(view.getUint8(index));
  if (quoted) {
    if (view.getUint8(at) !== QUOTE) throw NOT_ORDINARY;
    at += 1;
  } else if (isNumberByte(view.getUint8(at))) {
    throw NOT_ORDINARY;
  }
  scanner.at = at;
}

/** A fraction or an exponent goes on. */
function isNumberByte(byte: number): boolean {
  return byte === 0x2e || byte === 0x65 || byte === 0x45;
}

/** Finds the list in {"values": […]}; false when there is none. */
function openValues(scanner: Scanner): boolean {
  for (let field = scanner.firstField(VALUES); field >= 0; field = scanner.nextField(VALUES)) {
    if (!scanner.isNull()) return true;
  }
  return false;
}

/** Goes past what {"values": […]} has behind its list. */
function closeValues(scanner: Scanner): void {
  if (scanner.nextField(VALUES) >= 0) throw NOT_ORDINARY;
}

function copyArray(scanner: Scanner, depth: number): void {
  const { arena } = scanner;
  if (!openValues(scanner)) {
    arena.literal(EMPTY_LIST);
    return;
  }
  arena.byte(OPEN_LIST);
  let more = scanner.openList();
  while (more) {
    copyValue(scanner, depth + 1);
    more = scanner.nextElement();
    if (more) arena.byte(COMMA);
  }
  arena.byte(CLOSE_LIST);
  closeValues(scanner);
}

function copyKvlist(scanner: Scanner, depth: number): void {
  if (!openValues(scanner)) {
    scanner.arena.literal(EMPTY_OBJECT);
    return;
  }
  copyEntries(scanner, depth + 1, true);
  closeValues(scanner);
}
