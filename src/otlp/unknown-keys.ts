/**
 * Finds the objects of a body in which nothing is known: the list that belongs there is absent, and other keys
 * are there instead. That is the body of another signal, snake_case, or an older version of OTLP. The
 * answer is still 200, so a message says so.
 *
 *   body        resourceSpans · resourceLogs · resourceMetrics
 *   └ resource  scopeSpans …  beside resource, schemaUrl
 *     └ scope   spans …       beside scope, schemaUrl
 *       └ gauge, sum …        dataPoints, beside aggregationTemporality, isMonotonic
 *       └ log record          timeUnixNano or any other member; spans and points without theirs are rejected
 *
 * Unknown keys beside a known list are ignored, as OTLP requires; and so is an object without any key.
 */
import type { JsonObject } from '../model/json.ts';
import type { Signal } from '../model/telemetry.ts';
import { isUnset } from './fields.ts';

const KEYS_MAX = 5;
const KEY_CHARS_MAX = 40;
const PLAIN_KEY = /^[\w.$-]+$/;

/**
 * Says what was expected in an object in which nothing is known.
 *
 * @param list key of the list that belongs there
 * @param beside other keys that are known there
 * @param path of the object; empty for the body
 * @returns null when the list is there, or nothing unknown is
 */
export function describeUnknown(
  object: JsonObject,
  list: string,
  beside: readonly string[],
  path: string,
  signal: Signal,
): string | null {
  if (!isUnset(object[list])) return null;
  const keys: string[] = [];
  let more = 0;
  for (const key in object) {
    if (!Object.hasOwn(object, key) || key === list || beside.includes(key)) continue;
    if (keys.length < KEYS_MAX) keys.push(shown(key));
    else more += 1;
  }
  if (keys.length === 0) return null;
  const named = keys.join(', ') + (more > 0 ? ` and ${more} more` : '');
  const there = path === '' ? 'this body' : path;
  return `${signal} were expected (${list}); ${there} has ${named}`;
}

/** A key as a message shows it: cut, and quoted unless it is a plain name. */
function shown(key: string): string {
  const characters = [...key.slice(0, 2 * KEY_CHARS_MAX)];
  const cut = characters.slice(0, KEY_CHARS_MAX).join('');
  const whole = cut.length < key.length ? `${cut}…` : cut;
  return PLAIN_KEY.test(key) ? whole : JSON.stringify(whole);
}
