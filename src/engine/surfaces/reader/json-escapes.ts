/**
 * Owns the resolving of JSON escapes, in JSON and in a text that is not valid JSON. Loops by hand over code units,
 * a chunk at a time: a regular expression with a callback took 5 s for 16 MB of backslashes.
 * Must never throw; anything that is no escape is left as it is.
 */
import { parsedJson } from '../../../model/json.ts';

const CHUNK = 8192;
const BACKSLASH = '\\'.charCodeAt(0);
const U = 'u'.charCodeAt(0);
const HEX = /^[0-9a-fA-F]{4}$/;

/** The letter after a backslash → the code unit it stands for. */
const ESCAPED = new Uint16Array(128);
for (const [letter, unit] of ['""', '\\\\', '//', 'n\n', 'r\r', 't\t', 'b\b', 'f\f']) {
  if (letter !== undefined) ESCAPED[letter.charCodeAt(0)] = unit?.charCodeAt(0) ?? 0;
}

/**
 * The text with the escapes of JSON strings resolved, wherever they are. Linear. What is inside the quotes of a
 * valid string is left to `JSON.parse`, which takes a tenth of the time.
 */
export function resolveEscapes(text: string): string {
  const first = text.indexOf('\\');
  if (first === -1) return text;
  const parsed = parsedJson(`"${text}"`);
  return typeof parsed === 'string' ? parsed : resolveAnywhere(text, first);
}

/** One for all calls: a text's characters are in it only while it is resolved. */
const chunk = new Uint16Array(CHUNK);

function resolveAnywhere(text: string, first: number): string {
  let at = first;
  let resolved = text.slice(0, at);
  let filled = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    const next = code === BACKSLASH ? text.charCodeAt(at + 1) : Number.NaN;
    const unit = ESCAPED[next] ?? 0;
    if (unit !== 0) {
      chunk[filled] = unit;
      at += 2;
    } else if (next === U && HEX.test(text.slice(at + 2, at + 6))) {
      chunk[filled] = Number.parseInt(text.slice(at + 2, at + 6), 16);
      at += 6;
    } else {
      chunk[filled] = code;
      at += 1;
    }
    filled += 1;
    if (filled === CHUNK || at >= text.length) {
      resolved += String.fromCharCode(...chunk.subarray(0, filled));
      filled = 0;
    }
  }
  return resolved;
}

const QUOTE = '"'.charCodeAt(0);
const STRUCTURE_BEGINS = /^\s*[[{]/;

/**
 * Returns JSON with the escapes inside its strings resolved; names, quotes and white space stay. In a
 * string that holds a list or an object as JSON, its escapes are resolved, too.
 * @param json valid, or the beginning of valid JSON
 * @param levels of JSON in strings that are resolved, this one included: linear in the text for each
 */
export function resolveJson(json: string, levels: number): string {
  let backslash = json.indexOf('\\');
  if (backslash === -1) return json;
  const parts: string[] = [];
  let from = 0;
  while (backslash !== -1) {
    // Before the first backslash of a string there is no escaped quote.
    const start = json.lastIndexOf('"', backslash) + 1;
    const { end, complete } = stringEnd(json, backslash);
    parts.push(json.slice(from, start), resolveString(json.slice(start, complete), levels));
    from = end;
    backslash = json.indexOf('\\', end);
  }
  parts.push(json.slice(from));
  return parts.join('');
}

/** Half of a character outside the BMP, at the end of a text that was cut. */
const HALF = /[\uD800-\uDBFF]$/;

/** Finds the quote that ends a string; without one, where the last complete character ends. */
function stringEnd(json: string, from: number): { end: number; complete: number } {
  let at = from;
  let lastAt = from;
  while (at < json.length && json.charCodeAt(at) !== QUOTE) {
    lastAt = at;
    if (json.charCodeAt(at) !== BACKSLASH) at += 1;
    else at += json.charCodeAt(at + 1) === U ? 6 : 2;
  }
  if (at < json.length) return { end: at, complete: at };
  return { end: json.length, complete: at > json.length ? lastAt : at };
}

function resolveString(escaped: string, levels: number): string {
  const text = resolveEscapes(escaped).replace(HALF, '');
  return levels > 1 &&
    STRUCTURE_BEGINS.test(text) &&
    text.includes('\\') &&
    parsedJson(text) !== undefined
    ? resolveJson(text, levels - 1)
    : text;
}
