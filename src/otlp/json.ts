/**
 * Parses a body or a record to a JSON value whose texts PostgreSQL can store. Repairs are made in the
 * text, after a cheap test for whether they are needed: an ordinary body costs one search and one
 * `JSON.parse`. Must never recurse (a body may nest as deep as it is long) nor quote the body in a
 * message.
 */

import { isAscii } from 'node:buffer';
import { type JsonValue, quoteFrom } from '../model/json.ts';
import { toPlainInteger } from './fields.ts';

/** A parsed body, and the text it was parsed from, for `parseLongIntegers`. */
export type ParsedJson =
  | {
      readonly ok: true;
      readonly value: JsonValue;
      readonly text: string;
    }
  | { readonly ok: false; readonly message: string };

/** `\u0000` or any surrogate escape; also matches pairs and, after a backslash, plain text. */
const SUSPECT_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;

/**
 * The run of backslashes before such an escape, the escape, and a low surrogate right after it.
 * Starting at the first backslash keeps the search linear, and shows whether the last is escaped.
 */
const UNSTORABLE =
  /\\(?<!\\\\)(\\*)u(0000|[dD][89a-fA-F][\da-fA-F]{2})(\\u[dD][c-fC-F][\da-fA-F]{2})?/g;

const HIGH_SURROGATE = /^[dD][89abAB]/;

/** At a value's position, 16 digits (2^53 has 16) or an exponent; also matches inside strings. */
const SUSPECT_INTEGER = /[:[,][ \t\n\r]*-?(?:\d{16}|\d[\d.]*[eE])/;

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const PLAIN_INTEGER = /^-?\d+$/;

/** The double of the largest 64-bit integer; a number beyond it can only be meant as a double. */
export const INT64_LIMIT = 2 ** 63;

/**
 * Parses a request body.
 *
 * - A UTF-8 byte order mark is dropped; bytes that are not UTF-8 become U+FFFD (RFC 8259 §8.1).
 * - U+0000 and lone surrogates, in values and in keys, become U+FFFD: PostgreSQL stores neither in the names
 *   of runs nor in findings. Records keep them.
 * - Integers beyond 2^53 that are written as numbers are rounded: see `parseLongIntegers`.
 *
 * @param body the request body, decompressed; only read during the call
 * @returns the value, or a message without any of the body's text
 */
export function parseJson(body: Buffer): ParsedJson {
  let text = decodeText(body);
  if (text.includes('\\u') && SUSPECT_ESCAPE.test(text)) text = replaceUnstorable(text);
  try {
    return { ok: true, value: JSON.parse(text) as JsonValue, text };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { ok: false, message: syntaxMessage(error) };
  }
}

/**
 * Parses a text again without rounding integers: one beyond 2^53 becomes a string of its digits.
 * OTLP's 64-bit and double fields accept such strings (ProtoJSON).
 *
 * @param text valid JSON, as `parseJson` returned it
 * @returns the value, or null if the text has no such integer
 */
export function parseLongIntegers(text: string): JsonValue | null {
  if (!SUSPECT_INTEGER.test(text)) return null;
  const quoted = quoteLongIntegers(text);
  return quoted === text ? null : (JSON.parse(quoted) as JsonValue);
}

function decodeText(body: Buffer): string {
  // ASCII is copied, not decoded, and one-byte strings parse faster.
  if (isAscii(body)) return body.toString('latin1');
  const text = body.toString('utf8');
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

function replaceUnstorable(text: string): string {
  let out = '';
  let copied = 0;
  for (const match of text.matchAll(UNSTORABLE)) {
    const [whole, slashes = '', unit = '', low = ''] = match;
    const isEscape = slashes.length % 2 === 0;
    if (isEscape && low !== '' && HIGH_SURROGATE.test(unit)) continue;
    // In plain text like `\\ud83d` only a low surrogate after it needs replacing.
    const replaced = (isEscape ? 1 : 0) + (low === '' ? 0 : 1);
    const kept = isEscape ? slashes.length : whole.length - low.length;
    out += text.slice(copied, match.index + kept) + '\\ufffd'.repeat(replaced);
    copied = match.index + whole.length;
  }
  return out + text.slice(copied);
}

/** Puts quotes around every integer beyond 2^53, in valid JSON. */
function quoteLongIntegers(text: string): string {
  let out = '';
  let copied = 0;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      at = quoteFrom(text, at + 1) + 1;
    } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      NUMBER.lastIndex = at;
      const literal = NUMBER.exec(text)?.[0] ?? '-';
      const digits = longDigits(literal);
      if (digits !== null) {
        out += `${text.slice(copied, at)}"${digits}"`;
        copied = at + literal.length;
      }
      at += literal.length;
    } else {
      at += 1;
    }
  }
  return out + text.slice(copied);
}

/** All digits of an integer beyond 2^53, also of `1.7e18`; null for any other number. */
function longDigits(literal: string): string | null {
  const value = Number(literal);
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return null;
  if (Math.abs(value) > INT64_LIMIT) return null;
  return PLAIN_INTEGER.test(literal) ? literal : toPlainInteger(literal);
}

/** Uses only the position of V8's message, which quotes the text around the fault. */
function syntaxMessage(error: SyntaxError): string {
  const position = /at position (\d+)/.exec(error.message)?.[1];
  if (position === undefined) return 'the body is not valid JSON';
  return `the body is not valid JSON: unexpected text at character ${position}`;
}
