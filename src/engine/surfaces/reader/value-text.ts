/**
 * Owns how a value becomes text to match: stored values to plain JSON, JSON inside strings opened,
 * structures to the texts rules are written for. Bytes, base64 and redaction marks are no text.
 *
 * Must never throw for what a sender put into a value, and never lose a string for what is found
 * inside it: opening only adds. What cannot be opened is matched as it stands.
 */
import type { JsonObject, JsonValue } from '../../../model.ts';
import { isPicture, shortenBase64 } from './base64.ts';
import { type Budget, DEPTH_MAX, take } from './budget.ts';
import { resolveEscapes } from './json-escapes.ts';

/** JSON strings inside JSON strings are opened this many times (tool arguments reach two). */
const LEVELS = 3;

/** What instrumentations leave where they withheld a text; it says nothing about the run. */
export const PLACEHOLDERS: ReadonlySet<string> = new Set([
  '<REDACTED>',
  '[REDACTED]',
  '__REDACTED__',
  '<elided>',
  'FILTERED',
  'readacted',
  'redacted-by-litellm',
  '<not specified>',
  '<not serializable>',
  'N/A',
]);

/** Is there anything to match in this string? */
export function isText(text: string): boolean {
  const trimmed = text.trim();
  return trimmed !== '' && !PLACEHOLDERS.has(trimmed) && !isPicture(trimmed);
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * A stored attribute value as the JSON its sender meant: bytes become null (they are no text), a
 * non-finite number its name, a key that was doubled to "$$…" its own self. Recursive: what is
 * stored is at most 64 deep. On no budget: it makes nothing larger, and must leave nothing out.
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
 * The value with JSON in its string opened; a string that is no JSON as it is.
 * @param levels strings inside strings that are opened
 */
export function open(value: JsonValue, budget: Budget, levels = LEVELS): JsonValue {
  let opened = value;
  for (let level = 0; level < levels && typeof opened === 'string'; level += 1) {
    const inner = parseJson(opened, budget);
    if (inner === undefined) break;
    opened = inner;
  }
  return opened;
}

/**
 * The texts of a value that may be structured, such as tool arguments or results: the JSON as it
 * was written (rules look for `"key": "value"`), and its strings one per line with escapes
 * resolved (rules look for what the tool will see). A plain string is one text, also where it is
 * quoted. A structure that exceeds the budget is told string by string.
 */
export function textsOf(value: JsonValue, budget: Budget): string[] {
  if (value === null) return [];
  if (typeof value === 'string') {
    const { layers, inner } = unfold(value, budget);
    return inner === null ? layers : tell(layers, stringsOf(inner, budget));
  }
  if (typeof value !== 'object') return [String(value)];
  if (!take(budget, 'chars', charsOf(value))) return distinct(stringsOf(value, budget));
  return tell([shortenBase64(JSON.stringify(value))], stringsOf(value, budget));
}

function tell(layers: readonly string[], strings: readonly string[]): string[] {
  const isEmpty = strings.length === 0 && !layers.some((layer) => /[\w"]/.test(layer));
  return isEmpty ? [] : distinct([...layers, strings.join('\n')].filter(isText));
}

/**
 * Every string in a value that is text, in order; JSON inside a string follows the string. A key
 * with white space in it is a sentence, and told as one.
 */
export function stringsOf(root: JsonValue, budget: Budget): string[] {
  const strings: string[] = [];
  // A stack, not recursion: the depth is the sender's choice.
  const waiting: JsonValue[] = [root];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value === 'string') {
      const { layers, inner } = unfold(value, budget);
      for (const layer of layers) strings.push(layer);
      if (inner !== null) waiting.push(inner);
    } else if (Array.isArray(value)) {
      for (const member of value.toReversed()) waiting.push(member);
    } else if (isObject(value)) {
      for (const [key, member] of Object.entries(value).toReversed()) {
        waiting.push(member);
        if (/\S\s/.test(key)) waiting.push(key);
      }
    }
  }
  return strings;
}

/**
 * A string as written and, while it is a JSON string, what is inside; then the structure it ends
 * in. What looks like the beginning of JSON but is none (an exporter cut it) also has its escapes
 * resolved as far as they can be, or they would hide line ends and quotes.
 */
function unfold(
  text: string,
  budget: Budget,
): { layers: string[]; inner: JsonValue[] | JsonObject | null } {
  const layers = [text];
  const told = () => distinct(layers.filter(isText).map(shortenBase64));
  let current = text;
  for (let level = 0; level < LEVELS; level += 1) {
    const parsed = parseJson(current, budget);
    if (parsed === undefined) {
      if (JSON_BEGINS.test(current)) layers.push(resolveEscapes(current));
      break;
    }
    if (typeof parsed === 'object' && parsed !== null) return { layers: told(), inner: parsed };
    current = String(parsed);
    layers.push(current);
  }
  return { layers: told(), inner: null };
}

const JSON_BEGINS = /^\s*["[{]/;

function parseJson(text: string, budget: Budget): JsonValue | undefined {
  if (!JSON_BEGINS.test(text)) return undefined;
  // A screenshot inside is no reason to leave its message closed.
  const source = text.length > budget.chars ? shortenBase64(text) : text;
  if (!take(budget, 'chars', source.length)) return undefined;
  let parsed: JsonValue;
  try {
    parsed = JSON.parse(source);
  } catch {
    // Not JSON after all (a Python repr, a cut value): the caller matches it as it stands.
    return undefined;
  }
  return fits(parsed, budget) ? parsed : undefined;
}

/** Is the structure one to walk through: not too deep, within the budget's nodes? */
function fits(root: JsonValue, budget: Budget): boolean {
  let level: JsonValue[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEPTH_MAX || !take(budget, 'nodes', level.length)) return false;
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    );
  }
  return true;
}

/** The characters of all strings and keys in a value. */
function charsOf(root: JsonValue): number {
  let chars = 0;
  const waiting: JsonValue[] = [root];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value === 'string') chars += value.length;
    else if (isObject(value)) for (const key of Object.keys(value)) chars += key.length;
    if (typeof value === 'object' && value !== null) {
      for (const member of Object.values(value)) waiting.push(member);
    }
  }
  return chars;
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
