/**
 * Owns how a value becomes text to match: stored values to plain JSON, JSON inside strings opened,
 * structures to the texts rules are written for. Bytes, base64 and redaction marks are no text.
 *
 * Must never throw for what a sender put into a value: what cannot be opened is matched as it stands.
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

const BASE64_URL = /^data:[^,]{0,200};base64,/i;

/** Is there anything to match in this string? */
export function isText(text: string): boolean {
  return text.trim() !== '' && !PLACEHOLDERS.has(text.trim()) && !BASE64_URL.test(text);
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

/** The same for a map of attributes: its own keys are the sender's, never tags of the stored form. */
export function toPlainMap(attributes: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [key, toPlain(value)]),
  );
}

/** The value with JSON in its string opened, up to `LEVELS` deep; a string that is no JSON as it is. */
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
 * The texts of a structured value, such as tool arguments or results: the JSON as it was written
 * (rules look for `"key": "value"`), and its strings one per line with escapes resolved (rules look
 * for what the tool will see). A plain string is one text.
 */
export function textsOf(value: JsonValue): string[] {
  const opened = open(value);
  if (typeof opened === 'string') return unopened(opened);
  if (typeof opened !== 'object' || opened === null) return opened === null ? [] : [String(opened)];
  const strings = stringsOf(opened);
  const written = typeof value === 'string' ? value : JSON.stringify(opened);
  if (strings.length === 0) return /[\w"]/.test(written) ? [written] : [];
  return distinct([written, strings.join('\n')].filter(isText));
}

/** Every string of a structure that is text, in order, JSON inside strings opened. */
export function stringsOf(root: JsonValue): string[] {
  const strings: string[] = [];
  // A stack, not recursion: the depth is the sender's choice.
  const waiting: JsonValue[] = [root];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    const opened = open(value);
    if (typeof opened === 'string') strings.push(...unopened(opened));
    else if (Array.isArray(opened)) pushReversed(waiting, opened);
    else if (isObject(opened)) pushReversed(waiting, Object.values(opened));
  }
  return strings;
}

/**
 * The texts of a string that is not JSON. When it looks like the beginning of some (an exporter cut
 * it), its escapes are also resolved as far as they can be, or they would hide line ends and quotes.
 */
function unopened(text: string): string[] {
  if (!isText(text)) return [];
  if (!/^\s*["[{]/.test(text) || !text.includes('\\')) return [text];
  return distinct([text, text.replace(ESCAPE, resolveEscape)]);
}

const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(["\\/nrtbf]))/g;
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

function resolveEscape(_escape: string, hex: string | undefined, letter: string): string {
  if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
  return ESCAPED[letter] ?? letter;
}

function parseJson(text: string): JsonValue | undefined {
  if (!/^\s*["[{]/.test(text)) return undefined;
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

function pushReversed(waiting: JsonValue[], values: readonly JsonValue[]): void {
  for (let at = values.length - 1; at >= 0; at -= 1) waiting.push(values[at] ?? null);
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
