/**
 * Owns the division of a list of objects, in JSON, into the texts of its elements. It finds where strings and
 * structures end, and checks nothing inside the elements: they are valid JSON if `JSON.parse` says so.
 */
import { quoteFrom } from '../../../../model/json.ts';

const QUOTE = '"'.charCodeAt(0);
const COMMA = ','.charCodeAt(0);
const OPEN_LIST = '['.charCodeAt(0);
const CLOSE_LIST = ']'.charCodeAt(0);
const OPEN_OBJECT = '{'.charCodeAt(0);
const CLOSE_OBJECT = '}'.charCodeAt(0);
const BLANKS: readonly number[] = [' ', '\n', '\r', '\t'].map((blank) => blank.charCodeAt(0));

/**
 * Returns the texts of the elements of a list. If each is valid JSON, so is the list.
 * @returns null if the text does not begin and end as a list, or has no elements or others than objects
 */
export function elementsOf(json: string): string[] | null {
  if (json.charCodeAt(0) !== OPEN_LIST) return null;
  const elements: string[] = [];
  for (let at = 1; ; at += 1) {
    const start = afterBlanks(json, at);
    const end = json.charCodeAt(start) === OPEN_OBJECT ? endOfObject(json, start) : -1;
    if (end === -1) return null;
    elements.push(json.slice(start, end));
    at = afterBlanks(json, end);
    const code = json.charCodeAt(at);
    if (code === CLOSE_LIST) return at + 1 === json.length ? elements : null;
    if (code !== COMMA) return null;
  }
}

function afterBlanks(json: string, from: number): number {
  let at = from;
  while (BLANKS.includes(json.charCodeAt(at))) at += 1;
  return at;
}

/** @returns -1 if it does not end */
function endOfObject(json: string, from: number): number {
  let depth = 0;
  for (let at = from; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      at = quoteFrom(json, at + 1);
      if (at === -1) return -1;
    } else if (code === OPEN_OBJECT || code === OPEN_LIST) depth += 1;
    else if (code === CLOSE_OBJECT || code === CLOSE_LIST) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return -1;
}
