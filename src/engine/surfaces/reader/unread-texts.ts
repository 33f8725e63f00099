/**
 * Owns the search for text that no convention reads: long free text under keys of senders that are not known.
 * A run with such text must not look as if all of it was checked.
 *
 * Must return no text, only keys. Ordinary spans of services have none: their keys and operators' keys are
 * in `conventions/not-text.ts`; ids, addresses, code, SQL and stack traces are no free text.
 */
import type { JsonObject, JsonValue } from '../../../model/json.ts';
import type { Step } from '../../../model/steps.ts';
import { LEFT_OUT_SPANS } from '../conventions/not-text.ts';
import { createBudget } from './budget.ts';
import type { StepConventions } from './convention-index.ts';
import { eventRow, logEvent } from './convention-tables.ts';
import { isSchema } from './envelope.ts';
import { RowTable } from './row-table.ts';
import { isOfService, mayHoldText } from './text-names.ts';
import { isObject } from './value-text.ts';

export const FREE_TEXT_CHARS_MIN = 32;

const SEARCHED_CHARS = 16_384;

/** Longest key that is listed by its name. */
export const UNREAD_KEY_CHARS_MAX = 100;

/** In place of a key that may itself be a text. */
const OTHER_KEY = '(other)';

/** Five words in a row, which JSON's separators do not interrupt. */
const WORDS =
  /(?:["'“‘(]?\p{L}[\p{L}\p{M}'’-]{0,30}(?:[,.;:!?)]{1,2}|["'”’]{1,2}[.!?]?)?\s{1,4}){4}["'“‘(]?\p{L}/u;

/** Scripts without blanks. */
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Khmer}\p{sc=Lao}\p{sc=Myanmar}、。，！？]{14}/u;

const SQL =
  /^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|ALTER|DROP|MERGE|BEGIN|SET|CALL|EXPLAIN)\s[\s\S]*?\s(?:FROM|INTO|SET|TABLE|VALUES|AS|WHERE|INDEX|TO)\s/;
const STACK_TRACE =
  /Traceback \(most recent call last\)|\n[ \t]{1,16}at [\w$.<>[\] ]{1,200}\(|\n[ \t]{1,16}File "[^"\n]+", line \d|^goroutine \d/;
const MARKUP = /^\s*<(?:!doctype|html|svg|\?xml)\b/i;

/** Checks whether this is free text: sentences, or parts of them. */
export function isFreeText(value: string): boolean {
  const text = value.slice(0, SEARCHED_CHARS).replaceAll(/\\+[nrt]/g, ' ');
  const isWords = (text.length >= FREE_TEXT_CHARS_MIN && WORDS.test(text)) || UNSPACED.test(text);
  return isWords && !SQL.test(text) && !STACK_TRACE.test(text) && !MARKUP.test(text);
}

/** Names of events as conventions choose them; loggers name theirs as classes or not at all. */
const EVENT_NAME = /^[a-z][a-z\d]*(?:[._:-]\w+)+$/;

/**
 * Finds the values of a step that are text and that nothing reads.
 * @param known whether a text of the step was read under another key
 * @returns the key of each, without the sender's numbers
 */
export function unreadKeysOf(
  step: Step,
  { tables, unread }: Pick<StepConventions, 'tables' | 'unread'>,
  known: (text: string) => boolean,
): string[] {
  if (LEFT_OUT_SPANS.has(step.name)) return [];
  if (step.source === 'log') {
    const row = logEvent(step, tables);
    const name = String(step.attributes['event.name'] ?? step.name);
    if (row === undefined ? !EVENT_NAME.test(name) : row.carries !== 'own') return [];
    const own = row?.carries === 'own' ? new RowTable(row.attributes) : tables.rows;
    const others = unread.filter((key) => !own.reads(key));
    const keys = unreadIn(step.attributes, others, known);
    if (row === undefined) keys.push(...unreadInBody(step, name, known));
    return keys;
  }
  const keys = unreadIn(step.attributes, unread, known);
  for (const { name, attributes } of step.events) {
    const row = eventRow(tables.events, name);
    if (row === undefined || row.carries === 'attributes' || row.carries === 'own') {
      const rows = row?.carries === 'own' ? new RowTable(row.attributes) : tables.rows;
      const others = Object.keys(attributes).filter((key) => mayHoldText(key) && !rows.reads(key));
      for (const key of unreadIn(attributes, others, known)) keys.push(key);
    }
  }
  return keys;
}

/** The same for the body of an event's log record; a service's event has a message for people there. */
function unreadInBody(
  { body, scopeName }: Step,
  name: string,
  known: (text: string) => boolean,
): string[] {
  if (body === null || name === scopeName || isOfService(name)) return [];
  const members = isObject(body)
    ? Object.entries(body).map(([key, value]) => [`body.${key}`, value] as const)
    : [['body', body] as const];
  const keys = members.map(([key]) => key).filter(mayHoldText);
  return unreadIn(Object.fromEntries(members), keys, known);
}

/** @param keys of attributes that may be texts, and that nothing reads */
function unreadIn(
  attributes: JsonObject,
  keys: readonly string[],
  known: (text: string) => boolean,
): string[] {
  return keys.flatMap((key) => {
    const value = attributes[key] ?? null;
    const text = asText(value);
    const isUnread = text !== null && isFreeText(text) && !known(text);
    return isUnread && !isSchema(value, createBudget()) ? [listed(key)] : [];
  });
}

/** @returns null for a value that is too short to be text */
function asText(value: JsonValue): string | null {
  if (typeof value !== 'object' || value === null) return typeof value === 'string' ? value : null;
  const parts: string[] = [];
  let chars = 0;
  const waiting: JsonValue[] = [value];
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    if (typeof one === 'string') {
      parts.push(one);
      chars += one.length;
    } else if (typeof one === 'object' && one !== null) {
      for (const inner of Object.values(one)) waiting.push(inner);
    }
    if (chars > SEARCHED_CHARS) break;
  }
  // A blank line between them: words of two values are no sentence.
  return parts.length === 0 ? null : parts.join('\n\n\n\n\n');
}

const NAME = /^[\w.:/@-]+$/;

/** A key as it may be shown: one name for all elements of a list; no sentence. */
function listed(key: string): string {
  if (key.length > UNREAD_KEY_CHARS_MAX || !NAME.test(key)) return OTHER_KEY;
  return key.replaceAll(/(?<=^|[._:-])\d+(?=$|[._:-])/g, 'N');
}
