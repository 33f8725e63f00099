/**
 * Finds a text in records of OTLP/JSON: in names, attributes and bodies, as a person sees them, also in JSON that an
 * attribute holds. A to Z count as a to z; everything else must be equal.
 */
import { type JsonValue, parsedJson } from '../json.ts';
import type { TextMatch } from '../runs.ts';

const PIECE_BYTES = 512 * 1024;
/** A longer record is not parsed: it matches as it is stored. */
const PARSED_BYTES_MAX = 1024 * 1024;
/** Levels of JSON in JSON. */
const LEVELS_MAX = 3;
/** Backslashes of one escape: four levels. */
const BACKSLASHES_MAX = 15;
const AROUND = 80;
/** Bytes of one character: two escapes. */
const CHARACTER_BYTES_MAX = 2 * (BACKSLASHES_MAX + 5);

const NO_TEXT = /^(?:traceId|spanId|parentSpanId|[A-Za-z]*UnixNano)$/;
const ESCAPED_BY: Readonly<Record<string, string>> = {
  '\n': 'n',
  '\r': 'r',
  '\t': 't',
  '\b': 'b',
  '\f': 'f',
};

const lower = (text: string): string => text.replace(/[A-Z]+/g, (part) => part.toLowerCase());
const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

/** Returns a pattern for the stored bytes, as latin1, of a character. It may match more. */
function patternOf(character: string): string {
  const slashes = `\\\\{1,${BACKSLASHES_MAX}}`;
  if (character === '\\') return slashes;
  const bytes = [...Buffer.from(character).toString('latin1')].map((one) =>
    /[a-z]/.test(one) ? `[${one}${one.toUpperCase()}]` : literal(one),
  );
  const codes = (character === lower(character.toUpperCase()) ? [character.toUpperCase()] : [])
    .filter((one) => one.length === 1)
    .concat(character)
    .map((one) =>
      Array.from({ length: one.length }, (_, at) => {
        const digits = one.charCodeAt(at).toString(16).padStart(4, '0');
        return `${slashes}u${digits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)}`;
      }).join(''),
    );
  const short = ESCAPED_BY[character];
  const plain = short === undefined ? bytes.join('') : `${slashes}${short}`;
  const before = character === '"' || character === '/' ? `\\\\{0,${BACKSLASHES_MAX}}` : '';
  return `(?:${before}${plain}|${codes.join('|')})`;
}

export class TextMatcher {
  readonly #text: string;
  /** finds all stored forms of the text, and perhaps more */
  readonly #stored: RegExp;
  readonly #edgeBytes: number;

  constructor(text: string) {
    this.#text = lower(text);
    const characters = [...this.#text];
    this.#stored = new RegExp(characters.map(patternOf).join(''));
    this.#edgeBytes = characters.length * CHARACTER_BYTES_MAX;
  }

  /** Checks whether a stored text may have it; pauses between pieces. */
  *mayBeIn(text: Buffer): Generator<void, boolean, void> {
    for (let at = 0; at < text.length; at += PIECE_BYTES) {
      if (at > 0) yield;
      const end = Math.min(text.length, at + PIECE_BYTES + this.#edgeBytes);
      if (this.#stored.test(text.toString('latin1', at, end))) return true;
    }
    return false;
  }

  *findIn(record: Buffer): Generator<void, TextMatch | null, void> {
    if (!(yield* this.mayBeIn(record))) return null;
    if (record.length > PARSED_BYTES_MAX) return { before: '', match: this.#text, after: '' };
    return this.findInValue(JSON.parse(record.toString()));
  }

  findInValue(value: unknown): TextMatch | null {
    const open: [value: unknown, level: number][] = [[value, 0]];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const [one, level] = next;
      if (typeof one === 'string') {
        const at = lower(one).indexOf(this.#text);
        if (at >= 0) return matchAt(one, at, this.#text.length);
        const inner = level < LEVELS_MAX ? parsedIn(one) : undefined;
        if (inner !== undefined) open.push([inner, level + 1]);
      } else if (typeof one === 'object' && one !== null) {
        for (const [key, member] of Object.entries(one).reverse()) {
          if (level > 0 || !NO_TEXT.test(key)) open.push([member, level]);
        }
      }
    }
    return null;
  }
}

/** Parses JSON that a string holds; undefined if it holds none. */
const parsedIn = (text: string): JsonValue | undefined =>
  /^\s*["[{]/.test(text) ? parsedJson(text) : undefined;

function matchAt(text: string, at: number, length: number): TextMatch {
  const end = at + length;
  return {
    before: text.slice(Math.max(0, at - AROUND), at).toWellFormed(),
    match: text.slice(at, end),
    after: text.slice(end, end + AROUND).toWellFormed(),
  };
}
