/**
 * Writes attribute lists and AnyValues as the JSON text that `../any-value.ts` defines, directly
 * from the body's bytes. Supports the members and the order that exporters write; any other list or
 * value is parsed and written by `../any-value.ts` (`VALUE_FALLBACK`).
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
  FALLBACK,
  MINUS,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  Scanner,
} from './scanner.ts';

/** Deeper values fall back to the plain decoder, which enforces the limit. */
const DEPTH_MAX = 60;
/** Longer lists use `../any-value.ts`, which finds repeated keys without comparing all pairs. */
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

// The bytes that exporters write around a string attribute, as little-endian words.
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

/** Thrown for a list or value that `../any-value.ts` must write; caught within this file. */
const VALUE_FALLBACK = new Error('falls back to any-value.ts');

/** Whether the byte starts a fraction or an exponent. */
function isNumberByte(byte: number): boolean {
  return byte === 0x2e || byte === 0x65 || byte === 0x45;
}

export class AttributeScanner extends Scanner {
  readonly #entry = new FieldTable(ENTRY);
  readonly #anyValue = new FieldTable(ANY_VALUE);
  readonly #values = new FieldTable(['values']);
  /** stack of the keys of the lists being written: where each is in the arena */
  readonly #keyStarts = new Int32Array(NESTED_KEYS_MAX);
  readonly #keyEnds = new Int32Array(NESTED_KEYS_MAX);
  #keyCount = 0;

  /** Reads null or a list of {key, value} and writes one JSON object. */
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
      if (error !== VALUE_FALLBACK) throw error;
      const fault = new Fault();
      const text = parseAttributes(this.#parseFrom(start, end), '', fault);
      if (fault.refused) throw FALLBACK;
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
      if (error !== VALUE_FALLBACK) throw error;
      const fault = new Fault();
      const text = parseAnyValue(this.#parseFrom(start, end), 1, fault);
      if (fault.refused) throw FALLBACK;
      this.#write(text);
    }
  }

  /** Returns to the start of a value, drops its output, and parses it. */
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

  /** @param nested for a kvlist, where keys that begin with `$` fall back */
  #copyEntries(depth: number, nested: boolean): void {
    if (depth > DEPTH_MAX) throw FALLBACK;
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
        // The AnyValue or the entry may have more members.
        if (this.nextMember() || this.nextField(this.#entry) >= 0) throw VALUE_FALLBACK;
        return;
      }
      this.#copyRest(depth);
      return;
    }
    this.#copyEntryByField(depth, nested, firstKey);
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

  /** Copies an entry with white space or other members; its key must come before its value. */
  #copyEntryByField(depth: number, nested: boolean, firstKey: number): void {
    if (this.peek() !== OPEN_OBJECT) throw FALLBACK;
    if (!this.openObject()) throw VALUE_FALLBACK;
    if (this.field(this.#entry) !== KEY || this.peek() !== QUOTE) throw VALUE_FALLBACK;
    this.at += 1;
    this.#copyKey(nested, firstKey);
    this.#copyRest(depth);
  }

  /** Copies the entry's members after its key. */
  #copyRest(depth: number): void {
    const field = this.nextField(this.#entry);
    if (field < 0) {
      this.arena.literal(NULL);
      return;
    }
    if (field === KEY) throw VALUE_FALLBACK;
    this.#copyValue(depth);
    if (this.nextField(this.#entry) >= 0) throw VALUE_FALLBACK;
  }

  /** Writes the key (after its opening quote) and the colon. */
  #copyKey(nested: boolean, firstKey: number): void {
    this.arena.byte(QUOTE);
    const start = this.arena.end;
    this.copyJsonRest();
    const { arena } = this;
    if (nested && arena.view.getUint8(start) === DOLLAR) throw VALUE_FALLBACK;
    this.#noteKey(arena.view, start, arena.end, firstKey);
    arena.byte(QUOTE);
    arena.byte(COLON);
  }

  /**
   * Adds a key to the current list; a repeated key falls back. The limits bound the comparisons.
   */
  #noteKey(view: DataView, start: number, end: number, firstKey: number): void {
    const length = end - start;
    if (
      length > KEY_BYTES_MAX ||
      this.#keyCount - firstKey >= KEYS_MAX ||
      this.#keyCount >= NESTED_KEYS_MAX
    ) {
      throw VALUE_FALLBACK;
    }
    for (let index = firstKey; index < this.#keyCount; index += 1) {
      const other = this.#keyStarts[index] ?? 0;
      if (
        (this.#keyEnds[index] ?? 0) - other === length &&
        isSame(view, start, view, other, length)
      ) {
        throw VALUE_FALLBACK;
      }
    }
    this.#keyStarts[this.#keyCount] = start;
    this.#keyEnds[this.#keyCount] = end;
    this.#keyCount += 1;
  }

  #copyValue(depth: number): void {
    if (depth > DEPTH_MAX) throw FALLBACK;
    const { arena } = this;
    if (this.isNull()) {
      arena.literal(NULL);
      return;
    }
    let written = -1;
    const members = this.#anyValue;
    for (let field = this.firstField(members); field >= 0; field = this.nextField(members)) {
      if (this.isNull()) {
        if (field === written) throw VALUE_FALLBACK;
        continue;
      }
      // `../any-value.ts` decides which of several members counts.
      if (written >= 0) throw VALUE_FALLBACK;
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
      if (this.peek() === QUOTE) throw VALUE_FALLBACK;
      copyDouble(this);
    } else if (field === ARRAY_VALUE) {
      this.#copyArray(depth);
    } else if (field === KVLIST_VALUE) {
      this.#copyKvlist(depth);
    } else {
      throw VALUE_FALLBACK;
    }
  }

  /** Copies an integer's digits if `toInt64` would write the same; otherwise falls back. */
  #copyInt(): void {
    const { view, arena } = this;
    const quoted = this.peek() === QUOTE;
    const start = quoted ? this.at + 1 : this.at;
    const first = view.getUint8(start) === MINUS ? start + 1 : start;
    let at = first;
    while (view.getUint8(at) >= ZERO && view.getUint8(at) <= NINE) at += 1;
    const digits = at - first;
    if (digits === 0 || digits > (quoted ? INT_DIGITS_MAX : EXACT_DIGITS_MAX)) throw VALUE_FALLBACK;
    if (view.getUint8(first) === ZERO && at > start + 1) throw VALUE_FALLBACK;
    for (let index = start; index < at; index += 1) arena.byte(view.getUint8(index));
    if (quoted) {
      if (view.getUint8(at) !== QUOTE) throw VALUE_FALLBACK;
      at += 1;
    } else if (isNumberByte(view.getUint8(at))) {
      throw VALUE_FALLBACK;
    }
    this.at = at;
  }

  /** Reads to the list in {"values": […]}; false when there is none. */
  #openValues(): boolean {
    const values = this.#values;
    for (let field = this.firstField(values); field >= 0; field = this.nextField(values)) {
      if (!this.isNull()) return true;
    }
    return false;
  }

  /** Reads to the end of {"values": […]}; a second list falls back. */
  #closeValues(): void {
    if (this.nextField(this.#values) >= 0) throw VALUE_FALLBACK;
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
