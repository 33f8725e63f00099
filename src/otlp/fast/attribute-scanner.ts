/**
 * Writes attribute lists and AnyValues as the JSON text that `../any-value.ts` defines, straight
 * from the body's bytes. Reads ordinary members in the order in which exporters write them; a list
 * or value that is not ordinary is parsed and written by `../any-value.ts`.
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
  Scanner,
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

const ENTRY = ['key', 'value'];
const KEY = 0;

const ANY_VALUE = [
  'stringValue',
  'boolValue',
  'intValue',
  'doubleValue',
  'bytesValue',
  'arrayValue',
  'kvlistValue',
];
const STRING_VALUE = 0;
const BOOL_VALUE = 1;
const INT_VALUE = 2;
const DOUBLE_VALUE = 3;
const ARRAY_VALUE = 5;
const KVLIST_VALUE = 6;

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

/** Begins a fraction or an exponent. */
function isNumberByte(byte: number): boolean {
  return byte === 0x2e || byte === 0x65 || byte === 0x45;
}

export class AttributeScanner extends Scanner {
  readonly #entry = new FieldTable(ENTRY);
  readonly #anyValue = new FieldTable(ANY_VALUE);
  readonly #values = new FieldTable(['values']);
  /** where the keys of the lists being written are in the arena, one list above the other */
  readonly #keyStarts = new Int32Array(NESTED_KEYS_MAX);
  readonly #keyEnds = new Int32Array(NESTED_KEYS_MAX);
  #keyCount = 0;

  /** Reads null or a list of {key, value} and writes it as one JSON object. */
  copyAttributes(): void {
    if (this.isNull()) {
      this.arena.literal(EMPTY_OBJECT);
      return;
    }
    const start = this.at;
    const { end } = this.arena;
    this.#keyCount = 0;
    try {
      this.#copyEntries(1, false);
    } catch (error) {
      if (error !== NOT_ORDINARY) throw error;
      const fault = new Fault();
      const text = parseAttributes(this.#parseFrom(start, end), '', fault);
      if (fault.refused) throw LEFT_TO_PLAIN;
      this.#write(text);
    }
  }

  /** Reads an AnyValue (or null) and writes it. */
  copyAnyValue(): void {
    const start = this.at;
    const { end } = this.arena;
    this.#keyCount = 0;
    try {
      this.#copyValue(1);
    } catch (error) {
      if (error !== NOT_ORDINARY) throw error;
      const fault = new Fault();
      const text = parseAnyValue(this.#parseFrom(start, end), 1, fault);
      if (fault.refused) throw LEFT_TO_PLAIN;
      this.#write(text);
    }
  }

  /** Goes back to where a value begins, parses it, and drops what was written of it. */
  #parseFrom(start: number, arenaEnd: number) {
    this.at = start;
    this.arena.end = arenaEnd;
    this.skipValue();
    return this.parse(start, this.at);
  }

  #write(text: string): void {
    this.arena.text(text);
    this.arena.reserveRow(this.body.length - this.at);
  }

  /** @param nested a kvlist's: keys that begin with `$` are not ordinary there */
  #copyEntries(depth: number, nested: boolean): void {
    if (depth > DEPTH_MAX) throw LEFT_TO_PLAIN;
    const { arena } = this;
    const firstKey = this.#keyCount;
    arena.byte(OPEN_OBJECT);
    let more = this.openList();
    while (more) {
      this.#copyEntry(depth, nested, firstKey);
      more = this.nextElement();
      if (more) arena.byte(COMMA);
    }
    arena.byte(CLOSE_OBJECT);
    this.#keyCount = firstKey;
  }

  #copyEntry(depth: number, nested: boolean, firstKey: number): void {
    const { view, arena } = this;
    this.peek();
    const { at } = this;
    if (
      view.getInt32(at, true) === ENTRY_START[0] &&
      view.getInt32(at + 4, true) === ENTRY_START[1]
    ) {
      this.at = at + 8;
      this.noteStructures(1);
      this.#copyKey(nested, firstKey);
      if (this.#startsString()) {
        this.at += STRING_START_BYTES;
        this.noteStructures(1);
        arena.byte(QUOTE);
        this.copyJsonRest();
        this.arena.byte(QUOTE);
        if (view.getInt16(this.at, true) === STRING_END) {
          this.at += 2;
          return;
        }
        // The AnyValue or the entry has more members than this one.
        if (this.nextMember() || this.nextField(this.#entry) >= 0) throw NOT_ORDINARY;
        return;
      }
      this.#copyRest(depth);
      return;
    }
    this.#copyOddEntry(depth, nested, firstKey);
  }

  #startsString(): boolean {
    const { view, at } = this;
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
  #copyOddEntry(depth: number, nested: boolean, firstKey: number): void {
    if (this.peek() !== OPEN_OBJECT) throw LEFT_TO_PLAIN;
    if (!this.openObject()) throw NOT_ORDINARY;
    if (this.field(this.#entry) !== KEY || this.peek() !== QUOTE) throw NOT_ORDINARY;
    this.at += 1;
    this.#copyKey(nested, firstKey);
    this.#copyRest(depth);
  }

  /** The entry's members behind its key. */
  #copyRest(depth: number): void {
    const field = this.nextField(this.#entry);
    if (field < 0) {
      this.arena.literal(NULL);
      return;
    }
    if (field === KEY) throw NOT_ORDINARY;
    this.#copyValue(depth);
    if (this.nextField(this.#entry) >= 0) throw NOT_ORDINARY;
  }

  /** Writes the key, whose opening quote has been read, and the colon. */
  #copyKey(nested: boolean, firstKey: number): void {
    this.arena.byte(QUOTE);
    const start = this.arena.end;
    this.copyJsonRest();
    const { arena } = this;
    if (nested && arena.view.getUint8(start) === DOLLAR) throw NOT_ORDINARY;
    this.#noteKey(arena.view, start, arena.end, firstKey);
    arena.byte(QUOTE);
    arena.byte(COLON);
  }

  /**
   * Remembers a key of the current list; one that the list has already is not ordinary. The limits on
   * keys bound what comparing them may cost.
   */
  #noteKey(view: DataView, start: number, end: number, firstKey: number): void {
    const length = end - start;
    if (
      length > KEY_BYTES_MAX ||
      this.#keyCount - firstKey >= KEYS_MAX ||
      this.#keyCount >= NESTED_KEYS_MAX
    ) {
      throw NOT_ORDINARY;
    }
    for (let index = firstKey; index < this.#keyCount; index += 1) {
      const other = this.#keyStarts[index] ?? 0;
      if (
        (this.#keyEnds[index] ?? 0) - other === length &&
        isSame(view, start, view, other, length)
      ) {
        throw NOT_ORDINARY;
      }
    }
    this.#keyStarts[this.#keyCount] = start;
    this.#keyEnds[this.#keyCount] = end;
    this.#keyCount += 1;
  }

  #copyValue(depth: number): void {
    if (depth > DEPTH_MAX) throw LEFT_TO_PLAIN;
    const { arena } = this;
    if (this.isNull()) {
      arena.literal(NULL);
      return;
    }
    let written = -1;
    const members = this.#anyValue;
    for (let field = this.firstField(members); field >= 0; field = this.nextField(members)) {
      if (this.isNull()) {
        if (field === written) throw NOT_ORDINARY;
        continue;
      }
      // Which of several members counts is a rule of `../any-value.ts`.
      if (written >= 0) throw NOT_ORDINARY;
      this.#copyMember(field, depth);
      written = field;
    }
    if (written < 0) arena.literal(NULL);
  }

  #copyMember(field: number, depth: number): void {
    if (field === STRING_VALUE) {
      this.arena.byte(QUOTE);
      this.copyJsonString();
      this.arena.byte(QUOTE);
    } else if (field === BOOL_VALUE) {
      this.arena.literal(this.bool() ? TRUE : FALSE);
    } else if (field === INT_VALUE) {
      this.#copyInt();
    } else if (field === DOUBLE_VALUE) {
      if (this.peek() === QUOTE) throw NOT_ORDINARY;
      copyDouble(this);
    } else if (field === ARRAY_VALUE) {
      this.#copyArray(depth);
    } else if (field === KVLIST_VALUE) {
      this.#copyKvlist(depth);
    } else {
      throw NOT_ORDINARY;
    }
  }

  /** Copies an integer's digits when they are as `toInt64` would write them. */
  #copyInt(): void {
    const { view, arena } = this;
    const quoted = this.peek() === QUOTE;
    const start = quoted ? this.at + 1 : this.at;
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
    this.at = at;
  }

  /** Finds the list in {"values": […]}; false when there is none. */
  #openValues(): boolean {
    const values = this.#values;
    for (let field = this.firstField(values); field >= 0; field = this.nextField(values)) {
      if (!this.isNull()) return true;
    }
    return false;
  }

  /** Goes past what {"values": […]} has behind its list. */
  #closeValues(): void {
    if (this.nextField(this.#values) >= 0) throw NOT_ORDINARY;
  }

  #copyArray(depth: number): void {
    const { arena } = this;
    if (!this.#openValues()) {
      arena.literal(EMPTY_LIST);
      return;
    }
    arena.byte(OPEN_LIST);
    let more = this.openList();
    while (more) {
      this.#copyValue(depth + 1);
      more = this.nextElement();
      if (more) arena.byte(COMMA);
    }
    arena.byte(CLOSE_LIST);
    this.#closeValues();
  }

  #copyKvlist(depth: number): void {
    if (!this.#openValues()) {
      this.arena.literal(EMPTY_OBJECT);
      return;
    }
    this.#copyEntries(depth + 1, true);
    this.#closeValues();
  }
}
