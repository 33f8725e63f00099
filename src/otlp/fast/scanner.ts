/**
 * A JSON tokenizer over the bytes of a body, without building values. Knows no OTLP.
 *
 * It supports the common ways to write JSON, and reads them exactly as `JSON.parse` does. Anything
 * else, valid or not, throws `FALLBACK`: the plain decoder then reads the body. Reading past the
 * end of the body or of the allowed bytes throws RangeError, which means the same. Strings are
 * searched four bytes at a time, in 32-bit integers: a third of the work of a byte loop.
 */

import { isAscii, isUtf8 } from 'node:buffer';
import { STRUCTURES_MAX } from '../structure-count.ts';
import { bytesBefore, isDigit, isHexDigit, specials } from './byte-tests.ts';
import { matchesAt } from './byte-words.ts';
import { FieldTable, UNKNOWN_FIELD } from './field-table.ts';

/**
 * Thrown for a body that the plain decoder must read. Always the same object: creating an error
 * costs more than scanning most bodies.
 */
export const FALLBACK = new Error('falls back to the plain decoder');

/**
 * Falls back for an object in which nothing is known (`../envelope.ts`): the plain decoder says so.
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

/** Adds a member to the set `seen` of an object's members; a repeated one falls back. */
export function markSeen(seen: number, field: number): number {
  if ((seen & (1 << field)) !== 0) throw FALLBACK;
  return seen | (1 << field);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
export const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const MINUS = 0x2d;
const ZERO = 0x30;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const LETTER_U = 0x75;
const NO_FIELD = -1;
const NULL_WORD = 0x6c6c756e; // `null`, little-endian
const TRUE_WORD = 0x65757274; // `true`
const ALSE_WORD = 0x65736c61; // `alse`

/** Nesting depth of a skipped value; deeper bodies are rare and fall back to `JSON.parse`. */
const SKIP_DEPTH_MAX = 64;

const SHORT_ESCAPES = byteSet('"\\/bfnrt');
function byteSet(characters: string): Uint8Array {
  const set = new Uint8Array(256);
  for (const byte of Buffer.from(characters)) set[byte] = 1;
  return set;
}

const NO_BODY = Buffer.alloc(0);
const NO_VIEW = new DataView(NO_BODY.buffer, 0, 0);

export class Scanner {
  body: Buffer = NO_BODY;
  view: DataView = NO_VIEW;
  at = 0;
  /** objects and lists opened so far; one that is read twice counts twice */
  structures = 0;
  /** members skipped so far because their object's table does not have them */
  unknownFields = 0;
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

  close(): void {
    this.body = NO_BODY;
    this.view = NO_VIEW;
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

  #skipBool(): void {
    const first = this.peek();
    if (this.view.getInt32(this.at, true) === TRUE_WORD) {
      this.at += 4;
      return;
    }
    if (first !== 0x66 || this.view.getInt32(this.at + 1, true) !== ALSE_WORD) throw FALLBACK;
    this.at += 5;
  }

  /** The body's text from `start` to `end`, which must be character boundaries. */
  slice(start: number, end: number): string {
    return this.body.toString(this.#encoding, start, end);
  }

  /** Skips a value; @returns its text, which is valid JSON */
  textOfValue(): string {
    this.peek();
    const start = this.at;
    this.skipValue();
    return this.slice(start, this.at);
  }

  skipValue(depth = 0): void {
    const byte = this.peek();
    if (byte === QUOTE) this.#skipString();
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#skipNested(byte, depth);
    else if (byte === 0x74 || byte === 0x66) this.#skipBool();
    else if (!this.isNull()) this.#skipNumber();
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
        this.#requireUnit(at + 2);
        at += 6;
      } else if (SHORT_ESCAPES[next] === 1) {
        at += 2;
      } else {
        throw FALLBACK;
      }
    }
    this.at = at + 1;
  }

  /** Requires the four hexadecimal digits of an escape. */
  #requireUnit(at: number): void {
    for (let index = at; index < at + 4; index += 1) {
      if (!isHexDigit(this.view.getUint8(index))) throw FALLBACK;
    }
  }

  #skipNumber(): void {
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
