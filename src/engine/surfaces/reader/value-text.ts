/**
 * Owns the conversion of a value to texts: stored values to plain JSON, JSON inside strings parsed,
 * structures as the texts that rules are written for. JSON that ends early is read up to its end. Bytes,
 * base64 and placeholders are no text.
 *
 * Must never throw for any value, and never lose a string: what is parsed inside a string is matched
 * in addition. What cannot be parsed is matched as it is.
 */
import type { JsonObject, JsonValue } from '../../../model/json.ts';
import type { Surface } from '../../../model/steps.ts';
import { isPicture, shortenBase64 } from './base64.ts';
import { type Budget, DEPTH_MAX, isOpenEnded, take } from './budget.ts';
import { parseCut } from './cut-json.ts';
import { resolveEscapes, resolveJson } from './json-escapes.ts';
import { isPlaceholder } from './run-rows.ts';

/** Levels of JSON strings inside JSON strings that are parsed (tool arguments have two). */
const LEVELS = 3;

/** Checks whether there is anything to match in this string. */
export function isText(text: string): boolean {
  const trimmed = text.trim();
  return trimmed !== '' && !isPlaceholder(trimmed) && !isPicture(trimmed);
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * A stored attribute value as the sender's JSON: bytes become null (they are no text), a non-finite
 * number its name, a key escaped as "$$…" the key. Recursive: stored values are at most 64 deep.
 * Without a budget: the result is no larger, and must be complete.
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

/** The same for a map of attributes: its own keys are never tags of the stored form. */
export function toPlainMap(attributes: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [key, toPlain(value)]),
  );
}

/**
 * The value with the JSON in its string parsed; a string that is no JSON is returned as it is.
 * @param levels of strings inside strings
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

export interface ValueTexts {
  readonly texts: readonly string[];
  /** all are the same content in several forms, the first one as it was written */
  readonly areForms: boolean;
}

/** Surfaces on which a person or a model wrote the strings: their JSON is also matched as written. */
const WRITTEN: ReadonlySet<Surface> = new Set(['step_input', 'agent_output']);

/**
 * Returns the texts of a value that may be a structure, such as tool arguments or results: its JSON
 * with the escapes inside strings resolved (rules match `"key": "value"`), and its strings, one per
 * line (rules match what the tool will see). A plain string is one text, quoted or not. A structure
 * that exceeds the budget is returned string by string.
 */
export function textsOf(value: JsonValue, budget: Budget, surface: Surface): ValueTexts {
  if (typeof value === 'object' && value !== null && !take(budget, 'chars', charsOf(value))) {
    return { texts: distinct(stringsOf(value, budget)), areForms: false };
  }
  return { texts: formsOf(value, budget, WRITTEN.has(surface)), areForms: true };
}

/** @param keepsEscapes the JSON of a string keeps its escapes */
function formsOf(value: JsonValue, budget: Budget, keepsEscapes: boolean): string[] {
  if (value === null) return [];
  if (typeof value === 'string') {
    const { layers, inner } = unfold(value, budget, keepsEscapes);
    return inner === null ? layers : joined(layers, stringsOf(inner, budget));
  }
  if (typeof value !== 'object') return [String(value)];
  const written = JSON.stringify(value);
  const sent = isOpenEnded(value, budget) ? withoutClosers(written) : written;
  return joined([shortenBase64(resolveJson(sent, LEVELS))], stringsOf(value, budget));
}

/** The JSON of a structure that was cut, without the closing that its sender did not send. */
function withoutClosers(written: string): string {
  let end = written.length;
  while (end > 0 && (written[end - 1] === '}' || written[end - 1] === ']')) end -= 1;
  return written.slice(0, written[end - 1] === '"' ? end - 1 : end);
}

function joined(layers: readonly string[], strings: readonly string[]): string[] {
  const isEmpty = strings.length === 0 && !layers.some((layer) => /[\w"]/.test(layer));
  return isEmpty ? [] : distinct([...layers, strings.join('\n')].filter(isText));
}

/**
 * Every string in a value that is text, in order; JSON inside a string follows the string. A key
 * with white space in it is a sentence, and a string too.
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
 * Returns a string and, while it is a JSON string, the string inside; then the structure inside, if
 * any. JSON has the escapes inside its strings resolved, because no reader sees them. A string that
 * begins like JSON but is not JSON is returned as written and with its escapes resolved, because they
 * would hide line breaks and quotes.
 * @param keepsEscapes the string itself keeps its escapes
 */
function unfold(
  text: string,
  budget: Budget,
  keepsEscapes = false,
): { layers: string[]; inner: JsonValue[] | JsonObject | null } {
  const layers: string[] = [];
  const texts = () => distinct(layers.filter(isText).map(shortenBase64));
  let current = text;
  for (let level = 0; level < LEVELS; level += 1) {
    const parsed = parseJson(current, budget);
    if (parsed === undefined) break;
    const isKept = keepsEscapes && level === 0;
    layers.push(isKept ? current : resolveJson(current, LEVELS - level));
    if (typeof parsed === 'object' && parsed !== null) return { layers: texts(), inner: parsed };
    current = String(parsed);
  }
  layers.push(current);
  // Three levels of JSON strings are resolved; what is left may be JSON.
  if (JSON_BEGINS.test(current)) layers.push(resolveEscapes(current));
  return { layers: texts(), inner: null };
}

const JSON_BEGINS = /^\s*["[{]/;

function parseJson(text: string, budget: Budget): JsonValue | undefined {
  if (!JSON_BEGINS.test(text)) return undefined;
  // A screenshot inside is no reason not to parse its message.
  const source = text.length > budget.chars ? shortenBase64(text) : text;
  if (!take(budget, 'chars', source.length)) return undefined;
  try {
    const parsed: JsonValue = JSON.parse(source);
    return fits(parsed, budget) ? parsed : undefined;
  } catch {
    const cut = parseCut(source);
    // Not JSON (a Python repr): the caller matches it as it is.
    if (cut === undefined) return undefined;
    budget.hasCutJson = true;
    if (!budget.cut) budget.cut = budget.sent.includes(text);
    if (!fits(cut.value, budget)) return undefined;
    for (const one of cut.open) budget.openEnded.add(one);
    return cut.value;
  }
}

/** Checks whether the structure is not too deep, and within the budget's nodes. */
function fits(root: JsonValue, budget: Budget): boolean {
  let level: JsonValue[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEPTH_MAX || !take(budget, 'nodes', level.length)) return false;
    const next: JsonValue[] = [];
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue;
      for (const member of Object.values(value)) next.push(member);
    }
    level = next;
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
  return texts.length < 2 ? [...texts] : [...new Set(texts)];
}
