/**
 * Replaces what a workspace's patterns match in one text by marks: `[redacted:NAME:DIGEST]`, with a keyed
 * digest, so that equal secrets stay recognisable. A text that is or contains JSON is taken apart first:
 * every string in it is redacted with its escapes resolved, then the whole. Pauses within long texts.
 */
import { createHmac } from 'node:crypto';

import { parsedJson, quoteFrom } from '../../model/json.ts';
import type { ByteRange, Pattern } from '../matcher/pattern.ts';

/** How deep strings of JSON may be nested in strings of JSON. */
export const TEXT_DEPTH_MAX = 8;

/** Most matches in a text. */
export const TEXT_MATCHES_MAX = 10_000;
/** Matches between two pauses. */
const PAUSE_MATCHES = 100;

/** Digits of a mark's digest. */
const DIGEST_DIGITS = 16;
const MARK = /\[redacted:[a-z0-9-]{1,40}:[0-9a-f]{16}\]/g;
const JSON_START = /^[ \t\r\n]*[[{"]/;
/** Between two searches of a text that is longer, it pauses. */
const PAUSE_BYTES = 64 * 1024;
/** In JSON inside of a text, a number may be a secret too. */
const NUMBER = /-?\d[\d.eE+-]*/g;
const CUT_ESCAPE = /\\(?:u[0-9a-fA-F]{0,3})?$/;

export interface SoughtPattern {
  readonly name: string;
  /** the name under which its marks are counted */
  readonly counted: string;
  readonly pattern: Pattern;
  /** how many characters of what matched are to be redacted; 0 for none */
  readonly lengthOf: (matched: string) => number;
}

export class Unredactable extends Error {}

interface Found extends ByteRange {
  readonly by: SoughtPattern;
}

export interface SoughtPatterns {
  readonly patterns: readonly SoughtPattern[];
  /** matches wherever one of them does */
  readonly any: Pattern;
  /** is found in JSON wherever one of them may match in a string of it */
  readonly raw: Pattern;
  /** length of the shortest match of any of them */
  readonly leastUnits: number;
}

type Steps<T> = Generator<void, T, void>;

export class TextRedactor {
  readonly #sought: SoughtPatterns;
  readonly #key: Buffer;

  /** @param key of the digests */
  constructor(sought: SoughtPatterns, key: Buffer) {
    this.#sought = sought;
    this.#key = key;
  }

  /**
   * @param counts gets the number of marks by counted name
   * @returns the same text when nothing in it matches
   * @throws {Unredactable}
   */
  *redact(text: string, counts: Map<string, number>, depth = 0): Steps<string> {
    if (text.length < this.#sought.leastUnits) return text;
    if (!JSON_START.test(text)) return yield* this.#mark(text, counts);
    if (depth >= TEXT_DEPTH_MAX) throw new Unredactable('JSON is nested too deep in strings');
    return yield* this.#mark(yield* this.#inJson(text, counts, depth), counts);
  }

  /** Redacts strings and long numbers of a text that begins as JSON; it may be cut, or not be JSON. */
  *#inJson(text: string, counts: Map<string, number>, depth: number): Steps<string> {
    if (this.#sought.raw.findFrom(Buffer.from(text), 0) === null) return text;
    if (text.length > PAUSE_BYTES) yield;
    let out = '';
    let copied = 0;
    let at = 0;
    while (at < text.length) {
      const quote = text.indexOf('"', at);
      const start = quote < 0 ? text.length : quote;
      const between = text.slice(at, start);
      const redacted = between.replace(NUMBER, (number) => this.#markNumber(number, counts));
      if (redacted !== between) {
        out += text.slice(copied, at) + redacted;
        copied = start;
      }
      if (quote < 0) break;
      const { end, inner, tail } = stringAt(text, start);
      const changed = inner === null ? inner : yield* this.redact(inner, counts, depth + 1);
      if (changed !== null && changed !== inner) {
        out += text.slice(copied, start) + JSON.stringify(changed).slice(0, -1) + tail;
        copied = end;
      }
      at = end;
    }
    return copied === 0 ? text : out + text.slice(copied);
  }

  /** A number becomes a string, so that the JSON around it stays JSON. */
  #markNumber(number: string, counts: Map<string, number>): string {
    if (number.length < this.#sought.leastUnits) return number;
    const marked = toEnd(this.#mark(number, counts));
    return marked === number ? number : JSON.stringify(marked);
  }

  *#mark(text: string, counts: Map<string, number>): Steps<string> {
    const bytes = Buffer.from(text);
    const found: Found[] = [];
    for (const one of [bytes, ...withoutEscapes(text)]) {
      if (bytes.length > PAUSE_BYTES) yield;
      if (this.#sought.any.findFrom(one, 0) === null) continue;
      for (const by of this.#sought.patterns) {
        if (bytes.length > PAUSE_BYTES) yield;
        for (const match of yield* matchesOf(by, one)) found.push(match);
      }
    }
    if (found.length === 0) return text;
    found.sort((a, b) => a.start - b.start || b.end - a.end);
    const sought = outsideMarks(found, bytes);
    let out = '';
    let copied = 0;
    let marks = 0;
    for (let index = 0; index < sought.length; ) {
      marks += 1;
      if (marks % PAUSE_MATCHES === 0) yield;
      const { start, by } = sought[index] as Found;
      let { end } = sought[index] as Found;
      // Overlapping matches become one mark, so that no end of one is left.
      for (index += 1; (sought[index]?.start ?? end) < end; index += 1) {
        end = Math.max(end, sought[index]?.end ?? end);
      }
      counts.set(by.counted, (counts.get(by.counted) ?? 0) + 1);
      out += bytes.toString('utf8', copied, start) + this.#markOf(by, bytes.subarray(start, end));
      copied = end;
    }
    return copied === 0 ? text : out + bytes.toString('utf8', copied);
  }

  #markOf({ name }: SoughtPattern, secret: Buffer): string {
    const digest = createHmac('sha256', this.#key).update(secret).digest('hex');
    return `[redacted:${name}:${digest.slice(0, DIGEST_DIGITS)}]`;
  }
}

/**
 * The string that starts at a quote: its text with escapes resolved, null if it is not valid; and the closing
 * quote, or the part of an escape where the text is cut.
 */
function stringAt(text: string, start: number) {
  const end = quoteFrom(text, start + 1);
  const written = text.slice(start + 1, end === -1 ? undefined : end);
  if (end !== -1) return { end: end + 1, inner: resolved(written), tail: '"' };
  const kept = written.length - cutUnits(written);
  return {
    end: text.length,
    inner: resolved(written.slice(0, kept)),
    tail: written.slice(kept),
  };
}

function toEnd<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The length of the escape at the end that is cut; 0 without one. */
function cutUnits(written: string): number {
  const [cut = ''] = CUT_ESCAPE.exec(written) ?? [];
  const slashes = /\\*$/.exec(written.slice(0, written.length - cut.length))?.[0].length ?? 0;
  return slashes % 2 === 0 ? cut.length : 0;
}

/**
 * The text with blanks in place of what may be escapes of JSON that begins inside of the text, if there are
 * any: to a pattern, the letter of an escape would belong to the word behind it.
 */
function withoutEscapes(text: string): Buffer[] {
  if (!text.includes('\\')) return [];
  return [Buffer.from(text.replace(/\\[bfnrt]/g, '  '))];
}

function resolved(written: string): string | null {
  if (!written.includes('\\')) return written;
  const parsed = parsedJson(`"${written}"`);
  // Without one the text around it is redacted as it is written.
  return typeof parsed === 'string' ? parsed : null;
}

/** Leaves out matches inside of marks. @param found in the order of their starts */
function outsideMarks(found: readonly Found[], bytes: Buffer): readonly Found[] {
  if (found.length === 0 || !bytes.includes('[redacted:')) return found;
  // One character for each byte.
  const marks = [...bytes.toString('latin1').matchAll(MARK)];
  let next = 0;
  return found.filter(({ start, end }) => {
    const endOf = (at: number): number => (marks[at]?.index ?? 0) + (marks[at]?.[0].length ?? 0);
    while (next < marks.length && endOf(next) <= start) next += 1;
    const mark = marks[next];
    return mark === undefined || start < mark.index || end > endOf(next);
  });
}

/** @throws {Unredactable} for too many */
function* matchesOf(by: SoughtPattern, bytes: Buffer): Steps<Found[]> {
  const found: Found[] = [];
  let from = 0;
  for (let tried = 1; from < bytes.length; tried += 1) {
    if (tried > TEXT_MATCHES_MAX) throw new Unredactable('a text has too many matches');
    if (tried % PAUSE_MATCHES === 0) yield;
    const match = by.pattern.findFrom(bytes, from);
    if (match === null) break;
    const { start } = match;
    const matched = bytes.toString('utf8', start, match.end);
    const end = start + Buffer.byteLength(matched.slice(0, by.lengthOf(matched)));
    if (end > start) found.push({ start, end, by });
    from = end > start ? end : start + 1;
    while (((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1;
  }
  return found;
}
