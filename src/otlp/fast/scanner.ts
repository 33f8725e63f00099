/**
 * A JSON tokenizer over the bytes of a body, without building values. Knows no OTLP.
 *
 * It supports the common ways to write JSON, and reads them exactly as `JSON.parse` does. Anything
 * else, valid or not, throws `FALLBACK`: the plain decoder then reads the body. Reading past the
 * end of the body or of the allowed bytes throws RangeError, which means the same. Strings are
 * searched four bytes at a time, in 32-bit integers: a third of the work of a byte loop.
 */

import { isAscii, isUtf8 } from 'node:buffer';
import type { JsonValue } from '../../model/json.ts';
import { STRUCTURES_MAX } from '../structure-count.ts';
import { Arena } from './arena.ts';
import { bytesBefore, HEX_VALUES, isDigit, specials, ZERO } from './byte-tests.ts';
import { matchesAt } from './byte-words.ts';
import { FieldTable, UNKNOWN_FIELD } from './field-table.ts';

/**
 * Thrown for a body that the plain decoder must read. Always the same object: creating an error
 * costs more than scanning most bodies.
 */
export const FALLBACK = new Error('falls back to the plain decoder');

/**
 * Falls back for an object in which nothing is known (`../unknown-keys.ts`): the plain decoder says so.
 *
 * @param hasKnown whether it has the list that belongs there, or a log record any known member
 * @param unknownBefore `unknownFields` when it was opened
 */
export function requireKnown(
  { unknownFields }: Pick<Scanner, 'unknownFields'>,
  hasKnown: boolean,
  unknownBefore: number,
): void {
  if (!hasKnown && unknownFields > unknownBefore) throw FALLBACK;
}

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_LIST = 0x5b;
export const CLOSE_LIST = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
export const MINUS = 0x2d;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const LETTER_U = 0x75;
const NO_FIELD = -1;
const NULL_WORD = 0x6c6c756e; // `null`, little-endian
const TRUE_WORD = 0x65757274; // `true`
const ALSE_WORD = 0x65736c61; // `alse`

/** Nesting depth of a skipped value; deeper bodies are rare and fall back to `JSON.parse`. */
const SKIP_DEPTH_MAX = 64;

/** Letters of the escapes that `JSON.stringify` writes too. */
const PLAIN_ESCAPES = byteSet('"\\bfnrt');
const SHORT_ESCAPES = byteSet('"\\/bfnrt');
function byteSet(characters: string): Uint8Array {
  const set = new Uint8Array(256);
  for (const byte of Buffer.from(characters)) set[byte] = 1;
  return set;
}

const NO_BODY = Buffer.alloc(0);
const NO_VIEW = new DataView(NO_BODY.buffer, 0, 0);

export class Scanner {
  readonly arena = new Arena();
  body: Buffer = NO_BODY;
  view: DataView = NO_VIEW;
  /** the next byte to read */
  at = 0;
  /** objects and lists opened so far; one that is read twice counts twice */
  structures = 0;
  /** members skipped so far because their object's table does not have them */
  unknownFields = 0;
  /** the last time read: whole seconds, and nanoseconds below one second */
  seconds = 0;
  nanos = 0;
  #encoding: 'latin1' | 'utf8' = 'latin1';
  #aheadBytesMax = Number.POSITIVE_INFINITY;

  /**
   * Starts a body, which is not modified.
   *
   * @param aheadBytesMax most bytes that may be read before the next `lookAhead`; a body that needs
   *   more falls back to the plain decoder
   */
  open(body: Buffer, aheadBytesMax = Number.POSITIVE_INFINITY): void {
    this.body = body;
    this.at = 0;
    this.#aheadBytesMax = aheadBytesMax;
    this.lookAhead();
    this.structures = 0;
    this.#encoding = isAscii(body) ? 'latin1' : 'utf8';
    if (this.#encoding === 'utf8' && !isUtf8(body)) throw FALLBACK;
  }

  /**
   * Allows the next `aheadBytesMax` bytes to be read: `view` ends there, so no read checks the
   * limit.
   */
  lookAhead(): void {
    const { buffer, byteOffset, byteLength } = this.body;
    this.view = new DataView(
      buffer,
      byteOffset,
      Math.min(byteLength, this.at + this.#aheadBytesMax),
    );
  }

  /** Releases the body. */
  close(): void {
    this.body = NO_BODY;
    this.view = NO_VIEW;
    this.arena.release();
  }

  /** The next byte that is not white space; `at` moves to it, not past it. */
  peek(): number {
    const { view } = this;
    let byte = view.getUint8(this.at);
    while (byte <= SPACE) {
      if (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) throw FALLBACK;
      this.at += 1;
      byte = view.getUint8(this.at);
    }
    return byte;
  }

  /** Throws unless only white space is left. */
  expectEnd(): void {
    if (this.body.length > this.view.byteLength) throw FALLBACK;
    if (this.at < this.body.length) {
      const last = this.body.subarray(this.at);
      for (const byte of last) {
        if (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) throw FALLBACK;
      }
    }
  }

  /** Opens an object; reads an empty one to its end and returns false. */
  openObject(): boolean {
    return this.#open(OPEN_OBJECT, CLOSE_OBJECT);
  }

  /** After a member: whether another follows. */
  nextMember(): boolean {
    return this.#next(CLOSE_OBJECT);
  }

  openList(): boolean {
    return this.#open(OPEN_LIST, CLOSE_LIST);
  }

  nextElement(): boolean {
    return this.#next(CLOSE_LIST);
  }

  /**
   * Counts opened objects and lists. A body with too many falls back to the plain decoder, which
   * counts them exactly and refuses the body before it builds any.
   */
  noteStructures(count: number): void {
    this.structures += count;
    if (this.structures > STRUCTURES_MAX) throw FALLBACK;
  }

  #open(open: number, close: number): boolean {
    if (this.peek() !== open) throw FALLBACK;
    this.at += 1;
    this.noteStructures(1);
    if (this.peek() !== close) return true;
    this.at += 1;
    return false;
  }

  #next(close: number): boolean {
    const byte = this.peek();
    this.at += 1;
    if (byte === COMMA) return true;
    if (byte === close) return false;
    throw FALLBACK;
  }

  /**
   * Opens an object and reads to the value of its first member in the table; −1 if there is none.
   */
  firstField(table: FieldTable): number {
    return this.openObject() ? this.#knownField(table) : NO_FIELD;
  }

  /**
   * Reads from the end of a member's value to the next one in the table; −1 at the object's end.
   */
  nextField(table: FieldTable): number {
    return this.nextMember() ? this.#knownField(table) : NO_FIELD;
  }

  #knownField(table: FieldTable): number {
    let field = this.field(table);
    while (field === UNKNOWN_FIELD) {
      this.unknownFields += 1;
      this.skipValue();
      if (!this.nextMember()) return NO_FIELD;
      field = this.field(table);
    }
    return field;
  }

  /** Reads a member's name and colon; `UNKNOWN_FIELD` for a name that is not in the table. */
  field(table: FieldTable): number {
    if (this.peek() !== QUOTE) throw FALLBACK;
    const { view } = this;
    const expected = table.last === null ? null : table.last.next;
    if (expected !== null && matchesAt(expected.quoted, view, this.at)) {
      table.last = expected;
      this.at += expected.quoted.length;
      return expected.id;
    }
    const start = this.at + 1;
    let at = start;
    let sum = 0;
    let byte = view.getUint8(at);
    while (byte !== QUOTE) {
      if (byte === BACKSLASH || byte < SPACE) throw FALLBACK;
      sum = FieldTable.add(sum, byte);
      at += 1;
      byte = view.getUint8(at);
    }
    this.at = at + 1;
    if (this.peek() !== COLON) throw FALLBACK;
    this.at += 1;
    const field = table.at(sum);
    if (field === null || field.bytes.length !== at - start) return UNKNOWN_FIELD;
    const { bytes } = field;
    for (let index = 0; index < bytes.length; index += 1) {
      if (view.getUint8(start + index) !== bytes[index]) return UNKNOWN_FIELD;
    }
    table.note(field);
    return field.id;
  }

  /** Reads a null if it is the next value; whether it was. */
  isNull(): boolean {
    if (this.peek() !== 0x6e) return false;
    if (this.view.getInt32(this.at, true) !== NULL_WORD) throw FALLBACK;
    this.at += 4;
    return true;
  }

  /** Reads true or false. */
  bool(): boolean {
    const first = this.peek();
    if (this.view.getInt32(this.at, true) === TRUE_WORD) {
      this.at += 4;
      return true;
    }
    if (first !== 0x66 || this.view.getInt32(this.at + 1, true) !== ALSE_WORD) throw FALLBACK;
    this.at += 5;
    return false;
  }

  /**
   * Reads a string and writes it as JSON text without its quotes, as `JSON.stringify` writes it.
   * The arena must have room; past its end, RangeError is thrown.
   */
  copyJsonString(): void {
    if (this.peek() !== QUOTE) throw FALLBACK;
    this.at += 1;
    this.copyJsonRest();
  }

  /** `copyJsonString` after the opening quote. */
  copyJsonRest(): void {
    const { view } = this;
    const target = this.arena.view;
    const start = this.at;
    let at = start;
    let to = this.arena.end;
    for (;;) {
      const word = view.getInt32(at, true);
      target.setInt32(to, word, true);
      const special = specials(word);
      if (special === 0) {
        at += 4;
        to += 4;
        continue;
      }
      const before = bytesBefore(special);
      at += before;
      to += before;
      const byte = view.getUint8(at);
      if (byte === QUOTE) break;
      const next = byte === BACKSLASH ? view.getUint8(at + 1) : 0;
      if (PLAIN_ESCAPES[next] === 0) {
        this.#copyEscaped(start, true);
        return;
      }
      target.setUint8(to, BACKSLASH);
      target.setUint8(to + 1, next);
      at += 2;
      to += 2;
    }
    this.at = at + 1;
    this.arena.end = to;
  }

  /**
   * Reads null (as empty) or a string and writes its text, unescaped; room as in `copyJsonString`.
   */
  copyText(): void {
    if (this.isNull()) return;
    if (this.peek() !== QUOTE) throw FALLBACK;
    const { view } = this;
    const target = this.arena.view;
    const start = this.at + 1;
    let at = start;
    let to = this.arena.end;
    for (;;) {
      const word = view.getInt32(at, true);
      target.setInt32(to, word, true);
      const special = specials(word);
      if (special === 0) {
        at += 4;
        to += 4;
        continue;
      }
      const before = bytesBefore(special);
      at += before;
      to += before;
      if (view.getUint8(at) === QUOTE) break;
      this.#copyEscaped(start, false);
      return;
    }
    this.at = at + 1;
    this.arena.end = to;
  }

  /** Copies a string with escapes through `JSON.parse`. */
  #copyEscaped(start: number, asJson: boolean): void {
    this.at = start - 1;
    const text = this.string();
    this.arena.text(asJson ? JSON.stringify(text).slice(1, -1) : text);
    this.arena.reserveRow(this.body.length - this.at);
  }

  /** Reads a string; one that PostgreSQL cannot store falls back to the plain decoder. */
  string(): string {
    this.peek();
    const start = this.at;
    this.#skipString();
    return JSON.parse(this.slice(start, this.at)) as string;
  }

  /** The body's text from `start` to `end`, which must be character boundaries. */
  slice(start: number, end: number): string {
    return this.body.toString(this.#encoding, start, end);
  }

  /** Skips a value; @returns its text, which is valid JSON that PostgreSQL can store. */
  textOfValue(): string {
    this.peek();
    const start = this.at;
    this.skipValue();
    return this.slice(start, this.at);
  }

  /** Parses the value from `start` to `end`, which `skipValue` has skipped. */
  parse(start: number, end: number): JsonValue {
    return JSON.parse(this.slice(start, end)) as JsonValue;
  }

  /** Skips a value of any type and validates it: JSON that PostgreSQL can store. */
  skipValue(depth = 0): void {
    const byte = this.peek();
    if (byte === QUOTE) this.#skipString();
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#skipNested(byte, depth);
    else if (byte === 0x74 || byte === 0x66) this.bool();
    else if (!this.isNull()) this.skipNumber();
  }

  #skipNested(open: number, depth: number): void {
    if (depth > SKIP_DEPTH_MAX) throw FALLBACK;
    if (open === OPEN_LIST) {
      for (let more = this.openList(); more; more = this.nextElement()) this.skipValue(depth + 1);
      return;
    }
    for (let more = this.openObject(); more; more = this.nextMember()) {
      if (this.peek() !== QUOTE) throw FALLBACK;
      this.#skipString();
      if (this.peek() !== COLON) throw FALLBACK;
      this.at += 1;
      this.skipValue(depth + 1);
    }
  }

  #skipString(): void {
    const { view } = this;
    let at = this.at + 1;
    for (;;) {
      const special = specials(view.getInt32(at, true));
      if (special === 0) {
        at += 4;
        continue;
      }
      at += bytesBefore(special);
      const byte = view.getUint8(at);
      if (byte === QUOTE) break;
      if (byte !== BACKSLASH) throw FALLBACK;
      const next = view.getUint8(at + 1);
      if (next === LETTER_U) {
        at += this.#escapeLength(at);
      } else if (SHORT_ESCAPES[next] === 1) {
        at += 2;
      } else {
        throw FALLBACK;
      }
    }
    this.at = at + 1;
  }

  /** The length of a `\u` escape or surrogate pair; lone surrogates and U+0000 throw. */
  #escapeLength(at: number): number {
    const unit = this.#unit(at + 2);
    if (unit === 0 || (unit >= 0xdc00 && unit <= 0xdfff)) throw FALLBACK;
    if (unit < 0xd800 || unit > 0xdfff) return 6;
    const { view } = this;
    if (view.getUint8(at + 6) !== BACKSLASH || view.getUint8(at + 7) !== LETTER_U) {
      throw FALLBACK;
    }
    const low = this.#unit(at + 8);
    if (low < 0xdc00 || low > 0xdfff) throw FALLBACK;
    return 12;
  }

  /** The UTF-16 unit of four hexadecimal digits. */
  #unit(at: number): number {
    let unit = 0;
    for (let index = at; index < at + 4; index += 1) {
      const value = HEX_VALUES[this.view.getUint8(index)] ?? 255;
      if (value > 15) throw FALLBACK;
      unit = unit * 16 + value;
    }
    return unit;
  }

  skipNumber(): void {
    const { view } = this;
    let at = this.at;
    if (view.getUint8(at) === MINUS) at += 1;
    const first = at;
    at = this.#skipDigits(at);
    if (at > first + 1 && view.getUint8(first) === ZERO) throw FALLBACK;
    if (view.getUint8(at) === 0x2e) at = this.#skipDigits(at + 1);
    if ((view.getUint8(at) | 0x20) === 0x65) {
      at += 1;
      const sign = view.getUint8(at);
      at = this.#skipDigits(sign === 0x2b || sign === MINUS ? at + 1 : at);
    }
    this.at = at;
  }

  #skipDigits(start: number): number {
    let at = start;
    while (isDigit(this.view.getUint8(at))) at += 1;
    if (at === start) throw FALLBACK;
    return at;
  }
}
