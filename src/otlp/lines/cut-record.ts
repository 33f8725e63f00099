/**
 * Cuts a span or a log record that is too large to be shown whole. The record is walked in its bytes; only
 * the parts that are kept are parsed. They have these shares of a maximum:
 *
 *   attributes  half of it: short values first, then the beginnings of strings
 *   events      a quarter: the first ones that fit, whole
 *   body        a quarter: as attributes, or the beginning of a string
 */
import type { JsonObject, JsonValue } from '../../model/json.ts';
import { parseJson } from '../json.ts';
import { PIECE_BYTES, type Pieces } from '../pieces.ts';
import { JsonWalk } from './json-walk.ts';

/** Most characters of a string that are kept; a page shows fewer. Of little room, an eighth for each. */
const CHARS_MAX = 8192;
const CHARS_PART = 8;
const LITTLE_BYTES = 4096;
/** Largest value, in bytes, that is kept as it is. */
const SHORT_BYTES_MAX = 1024;
const NAME_CHARS_MAX = 256;
/** Most attributes or events that are read. */
const MEMBERS_MAX = 1000;
/** Bytes of `{"stringValue":}`: a value's bytes are counted without them. */
const VALUE_BYTES = 16;

/** Structures of OTLP/JSON that take about as long as one structure in a text, which is parsed later. */
const STRUCTURES_PER_ONE = 4;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const IS_STRUCTURE = new Uint8Array(256);
for (const byte of Buffer.from('{}[],:')) IS_STRUCTURE[byte] = 1;
const SMALL_U = 0x75;
const CLOSING = Buffer.from('"');
/** Bytes of `\u0001`, the longest form of a character. */
const ESCAPE_BYTES = 6;
/** The first half of a character that is escaped as two. */
const HIGH_SURROGATE = /^\\u[dD][89abAB]/;

/** Members that are kept whole; numbers and ids, which are short. */
const KEPT = [
  'flags',
  'droppedAttributesCount',
  'droppedEventsCount',
  'traceId',
  'timeUnixNano',
  'observedTimeUnixNano',
  'severityNumber',
];
/** Strings that are cut. */
const NAMES = ['name', 'eventName', 'severityText'];

interface Range {
  readonly start: number;
  readonly end: number;
}

/** An attribute, or a member of a kvlist. */
interface Entry {
  readonly key: string;
  /** AnyValue; null for an entry without a value */
  readonly value: Range | null;
  /** bytes of its key and value */
  readonly bytes: number;
  /** the string that it holds, if it is long; null for other long values, which are not kept */
  readonly long: Range | null;
  readonly isShort: boolean;
}

/**
 * Checks whether a record has too many structures to be parsed whole: brackets, commas and colons. In texts
 * they count, too, because texts may be JSON.
 */
export function isDense(record: Buffer, structuresMax: number): boolean {
  let isInString = false;
  let inside = 0;
  let outside = 0;
  for (let at = 0; at < record.length; at += 1) {
    const byte = record[at] as number;
    if (byte === QUOTE) isInString = !isInString;
    else if (byte === BACKSLASH) at += 1;
    else if (IS_STRUCTURE[byte] !== 1) continue;
    else if (isInString) inside += 1;
    else outside += 1;
  }
  return inside + outside / STRUCTURES_PER_ONE > structuresMax;
}

/**
 * Cuts a record.
 *
 * @param record JSON of an object that was accepted
 * @param bytesMax about the most bytes that are kept
 * @returns the record with the members that a step has, as parsed JSON
 */
export function* cutRecord(record: Buffer, bytesMax: number): Pieces<JsonObject> {
  const cutter = new Cutter(record);
  return yield* cutter.cut(bytesMax);
}

class Cutter {
  readonly #record: Buffer;
  readonly #walk: JsonWalk;

  constructor(record: Buffer) {
    this.#record = record;
    this.#walk = new JsonWalk(record);
  }

  *cut(bytesMax: number): Pieces<JsonObject> {
    const walk = this.#walk;
    const cut: JsonObject = {};
    for (let key = walk.firstKey(); key !== null; key = walk.nextKey()) {
      if (key === 'attributes' && walk.isList) {
        cut[key] = yield* this.#attributes(bytesMax / 2);
      } else if (key === 'events' && walk.isList) {
        cut[key] = yield* this.#events(bytesMax / 4);
      } else if (key === 'body' && walk.isObject) {
        cut[key] = yield* this.#body(bytesMax / 4);
      } else if (key === 'status' && walk.isObject) {
        cut[key] = yield* this.#status();
      } else {
        const value = yield* this.#range();
        if (NAMES.includes(key)) cut[key] = this.#beginning(value, NAME_CHARS_MAX);
        else if (KEPT.includes(key)) cut[key] = this.#parsed(value);
      }
    }
    return cut;
  }

  *#range(): Pieces<Range> {
    const walk = this.#walk;
    const start = walk.at;
    if (!walk.skipUpTo(start + PIECE_BYTES)) yield* walk.skipInPieces();
    return { start, end: walk.at };
  }

  *#status(): Pieces<JsonObject> {
    const walk = this.#walk;
    const status: JsonObject = {};
    for (let key = walk.firstKey(); key !== null; key = walk.nextKey()) {
      const value = yield* this.#range();
      if (key === 'code') status.code = this.#parsed(value);
      if (key === 'message') status.message = this.#beginning(value, SHORT_BYTES_MAX);
    }
    return status;
  }

  *#attributes(bytesMax: number): Pieces<JsonValue[]> {
    return this.#kept(yield* this.#entries(), bytesMax);
  }

  *#events(bytesMax: number): Pieces<JsonValue[]> {
    const events: JsonValue[] = [];
    let bytes = 0;
    for (const event of yield* this.#elements()) {
      bytes += event.end - event.start;
      if (bytes > bytesMax) break;
      events.push(this.#parsed(event));
    }
    return events;
  }

  *#elements(): Pieces<readonly Range[]> {
    const walk = this.#walk;
    const elements: Range[] = [];
    let pauseAt = walk.at + PIECE_BYTES;
    for (let more = walk.firstElement(); more; more = walk.nextElement()) {
      const element = yield* this.#range();
      if (elements.length < MEMBERS_MAX) elements.push(element);
      if (walk.at < pauseAt) continue;
      pauseAt = walk.at + PIECE_BYTES;
      yield;
    }
    return elements;
  }

  *#body(bytesMax: number): Pieces<JsonObject> {
    const walk = this.#walk;
    const start = walk.at;
    let cut: JsonObject = {};
    for (let kind = walk.firstKey(); kind !== null; kind = walk.nextKey()) {
      if (kind === 'kvlistValue' && walk.isObject) {
        for (let key = walk.firstKey(); key !== null; key = walk.nextKey()) {
          if (key !== 'values' || !walk.isList) {
            yield* this.#range();
            continue;
          }
          cut = { kvlistValue: { values: yield* this.#attributes(bytesMax) } };
        }
        continue;
      }
      const value = yield* this.#range();
      if (kind === 'stringValue' && this.#record[value.start] === QUOTE) {
        cut = { stringValue: this.#beginning(value, CHARS_MAX) };
      }
    }
    const body = { start, end: walk.at };
    const isShort = body.end - start <= SHORT_BYTES_MAX + VALUE_BYTES;
    return isShort ? (this.#parsed(body) as JsonObject) : cut;
  }

  /** Reads the first entries of a list; of entries with the same key, the last one. */
  *#entries(): Pieces<readonly Entry[]> {
    const walk = this.#walk;
    const entries = new Map<string, Entry>();
    let pauseAt = walk.at + PIECE_BYTES;
    for (let more = walk.firstElement(); more; more = walk.nextElement()) {
      if (walk.at >= pauseAt) {
        pauseAt = walk.at + PIECE_BYTES;
        yield;
      }
      if (entries.size === MEMBERS_MAX || !walk.isObject) {
        if (!walk.skipUpTo(walk.at + PIECE_BYTES)) yield* walk.skipInPieces();
        continue;
      }
      const entry = yield* this.#entry();
      if (entry === null) continue;
      entries.delete(entry.key);
      entries.set(entry.key, entry);
    }
    return [...entries.values()];
  }

  /** Reads an entry; null for one whose key is too long. */
  *#entry(): Pieces<Entry | null> {
    const walk = this.#walk;
    let key: string | null = '';
    let value: Range | null = null;
    let long: Range | null = null;
    for (let member = walk.firstKey(); member !== null; member = walk.nextKey()) {
      if (member === 'value' && walk.isObject) {
        const start = walk.at;
        long = yield* this.#string();
        value = { start, end: walk.at };
        continue;
      }
      const { start, end } = yield* this.#range();
      if (member === 'value') value = null;
      if (member !== 'key' || this.#record[start] !== QUOTE) continue;
      const isLong = end - start > NAME_CHARS_MAX * ESCAPE_BYTES + 2;
      key = isLong ? null : (this.#parsed({ start, end }) as string);
    }
    if (key === null || key.length > NAME_CHARS_MAX) return null;
    const valueBytes = value === null ? 0 : Math.max(1, value.end - value.start - VALUE_BYTES);
    const isShort = valueBytes <= SHORT_BYTES_MAX;
    return { key, value, bytes: Buffer.byteLength(key) + valueBytes, long, isShort };
  }

  /** Reads an AnyValue; returns where its string is, or null for another value. */
  *#string(): Pieces<Range | null> {
    const walk = this.#walk;
    let found: Range | null = null;
    for (let kind = walk.firstKey(); kind !== null; kind = walk.nextKey()) {
      const value = yield* this.#range();
      if (kind === 'stringValue' && this.#record[value.start] === QUOTE) found = value;
    }
    return found;
  }

  /** Parses the entries that fit, in their order. */
  #kept(entries: readonly Entry[], bytesMax: number): JsonValue[] {
    const kept = new Map<Entry, JsonValue>();
    let bytes = 0;
    for (const entry of entries) {
      if (!entry.isShort) continue;
      bytes += entry.bytes;
      if (bytes > bytesMax) break;
      kept.set(entry, entry.value === null ? null : this.#parsed(entry.value));
    }
    const charactersMax = bytesMax < LITTLE_BYTES ? bytesMax / CHARS_PART : CHARS_MAX;
    for (const entry of entries) {
      if (bytes > bytesMax) break;
      if (entry.isShort || entry.long === null) continue;
      const stringValue = this.#beginning(entry.long, charactersMax);
      bytes += Buffer.byteLength(entry.key) + Buffer.byteLength(JSON.stringify(stringValue));
      if (bytes <= bytesMax) kept.set(entry, { stringValue });
    }
    return entries.flatMap((entry) => {
      const value = kept.get(entry);
      return value === undefined ? [] : [{ key: entry.key, value }];
    });
  }

  #parsed({ start, end }: Range): JsonValue {
    return parsed(this.#record.subarray(start, end));
  }

  /** Returns the first characters of a string; an empty one for another value. */
  #beginning({ start, end }: Range, charactersMax: number): string {
    const record = this.#record;
    if (record[start] !== QUOTE) return '';
    let at = start + 1;
    let last = at;
    for (let characters = 0; characters < charactersMax && at < end - 1; characters += 1) {
      last = at;
      if (record[at] === BACKSLASH) at += record[at + 1] === SMALL_U ? ESCAPE_BYTES : 2;
      else at += 1;
      // The other bytes of a character in UTF-8.
      while (((record[at] as number) & 0xc0) === 0x80) at += 1;
    }
    const isParted = at < end - 1 && HIGH_SURROGATE.test(record.toString('latin1', last, at));
    const text = record.subarray(start, isParted ? last : at);
    return parsed(Buffer.concat([text, CLOSING])) as string;
  }
}

function parsed(json: Buffer): JsonValue {
  const result = parseJson(json);
  return result.ok ? result.value : null;
}
