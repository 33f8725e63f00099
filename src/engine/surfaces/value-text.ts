/**
 * Owns how a value becomes text to match: stored values to plain JSON, JSON inside strings opened,
 * structures to the texts rules are written for. Bytes, base64 and redaction marks are no text.
 *
 * Must never throw for what a sender put into a value: what cannot be opened is matched as it
 * stands.
 */
import type { JsonObject, JsonValue } from '../../model.ts';

/** JSON strings inside JSON strings are opened this many times (tool arguments reach two). */
const LEVELS = 3;

/** Deeper nesting is no tool call; left closed, it is matched as the text it is. */
const DEPTH = 64;

/** What instrumentations leave where they withheld a text; it says nothing about the run. */
const PLACEHOLDERS = new Set([
  '<REDACTED>',
  '[REDACTED]',
  '__REDACTED__',
  '<elided>',
  'FILTERED',
  'readacted',
  '<not specified>',
  '<not serializable>',
  'N/A',
]);

/** Pictures and the like. `data:text/html;base64,…` is not among them: it may be an attack. */
const BINARY_URL =
  /^data:(?:image|audio|video|font|application\/(?:octet-stream|pdf|zip))[^,]{0,200};base64,/i;

/**
 * Base64 inside a structure (screenshots, files): its first 256 characters stay, enough for rules
 * about base64 itself; the rest would use up the surface's cap and leave no room for the text
 * around it. The look-behind makes it linear: only the beginning of a run is tried.
 */
const BINARY_RUN = /(?<![A-Za-z0-9+/_-])([A-Za-z0-9+/_-]{256})[A-Za-z0-9+/_-]{768,}={0,2}/g;

/** Is there anything to match in this string? */
export function isText(text: string): boolean {
  return text.trim() !== '' && !PLACEHOLDERS.has(text.trim()) && !BINARY_URL.test(text);
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * A stored attribute value as the JSON its sender meant: bytes become null (they are no text), a
 * non-finite number its name, a key that was doubled to "$$…" its own self.
 */
export function toPlain(stored: JsonValue): JsonValue {
  if (Array.isArray(stored)) return stored.map(toPlain);
  if (!isObject(stored)) return stored;
  if (typeof stored.$bytes === 'string') return null;
  if (typeof stored.$double === 'string') return stored.$double;
  return Object.fromEntries(
    Object.entries(stored).map(([key, value]) => [
      key.startsWith('$$') ? key.slice(1) : key,
      toPlain(value),
    ]),
  );
}

/**
 * The same for a map of attributes: its own keys are the sender's, never tags of the stored form.
 */
export function toPlainMap(attributes: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [key, toPlain(value)]),
  );
}

/**
 * The value with JSON in its string opened, up to `LEVELS` deep; a string that is no JSON as it
 * is.
 */
export function open(value: JsonValue): JsonValue {
  let opened = value;
  for (let level = 0; level < LEVELS && typeof opened === 'string'; level += 1) {
    const inner = parseJson(opened);
    if (inner === undefined) break;
    opened = inner;
  }
  return opened;
}

/**
 * The texts of a value that may be structured, such as tool arguments or results: the JSON as it
 * was written (rules look for `"key": "value"`), and its strings one per line with escapes
 * resolved (rules look for what the tool will see). A plain string is one text, also where it is
 * quoted.
 */
export function textsOf(value: JsonValue): string[] {
  if (value === null) return [];
  if (typeof value !== 'object' && typeof value !== 'string') return [String(value)];
  const { layers, inner } =
    typeof value === 'string' ? unfold(value) : { layers: [JSON.stringify(value)], inner: value };
  if (inner === null) return layers;
  const strings = stringsOf(inner);
  const isEmpty = strings.length === 0 && !layers.some((layer) => /[\w"]/.test(layer));
  if (isEmpty) return [];
  const texts = [...layers, strings.join('\n')].map((text) => text.replace(BINARY_RUN, '$1…'));
  return distinct(texts.filter(isText));
}

/** Every string in a value that is text, in order; JSON inside a string follows the string. */
export function stringsOf(root: JsonValue): string[] {
  const strings: string[] = [];
  // A stack, not recursion: the depth is the sender's choice.
  const waiting: JsonValue[] = [root];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value === 'string') {
      const { layers, inner } = unfold(value);
      strings.push(...layers);
      if (inner !== null) waiting.push(inner);
    } else if (typeof value === 'object' && value !== null) {
      const members = Array.isArray(value) ? value : Object.values(value);
      for (const member of members.toReversed()) waiting.push(member);
    }
  }
  return strings;
}

/**
 * A string as written and, while it is a JSON string, what is inside; then the structure it ends
 * in. What looks like the beginning of JSON but is none (an exporter cut it) also has its escapes
 * resolved as far as they can be, or they would hide line ends and quotes.
 */
function unfold(text: string): { layers: string[]; inner: JsonValue[] | JsonObject | null } {
  const layers = [text];
  let current = text;
  for (let level = 0; level < LEVELS; level += 1) {
    const parsed = parseJson(current);
    if (parsed === undefined) {
      if (JSON_BEGINS.test(current)) layers.push(current.replace(ESCAPE, resolveEscape));
      break;
    }
    if (typeof parsed === 'object' && parsed !== null) {
      return { layers: distinct(layers.filter(isText)), inner: parsed };
    }
    current = String(parsed);
    layers.push(current);
  }
  return { layers: distinct(layers.filter(isText)), inner: null };
}

const JSON_BEGINS = /^\s*["[{]/;
const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(["\\/nrtbf]))/g;
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

function resolveEscape(_escape: string, hex: string | undefined, letter: string): string {
  if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
  return ESCAPED[letter] ?? letter;
}

function parseJson(text: string): JsonValue | undefined {
  if (!JSON_BEGINS.test(text)) return undefined;
  let parsed: JsonValue;
  try {
    parsed = JSON.parse(text);
  } catch {
    // Not JSON after all (a Python repr, a cut value): the caller matches it as it stands.
    return undefined;
  }
  return isDeep(parsed) ? undefined : parsed;
}

function isDeep(root: JsonValue): boolean {
  let level: JsonValue[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEPTH) return true;
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    );
  }
  return false;
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
