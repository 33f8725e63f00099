/**
 * Puts what was read into the marked part of an answer, for a model that follows what it reads. Names and
 * texts were chosen by people who wrote to the agents, so they must not look like words of this server:
 *
 *   <untrusted-content-7f1c…>     the end has 16 random digits, different for every answer
 *   {"findings":[…]}              one line of JSON; `<`, `>` and invisible characters are escaped
 *   </untrusted-content-7f1c…>
 */
import { escapeInvisible } from '../../model/invisible.ts';
import type { JsonValue } from '../../model/json.ts';

const ANGLES = /[<>]/g;

/** JSON that holds no mark, line break or invisible character. */
function escaped(value: unknown): string {
  const json = JSON.stringify(value).replace(ANGLES, (angle) =>
    angle === '<' ? '\\u003c' : '\\u003e',
  );
  return escapeInvisible(json);
}

/** Returns the longest beginning of a text that takes at most `charsMax` characters once it is escaped. */
export function cutEscaped(text: string, charsMax: number): string {
  const beginning = text.slice(0, charsMax);
  const quotes = 2;
  if (escaped(beginning).length - quotes <= charsMax) {
    return beginning.length === text.length ? text : beginning.replace(/[\ud800-\udbff]$/, '');
  }
  let chars = 0;
  let end = 0;
  for (const character of beginning) {
    chars += escaped(character).length - quotes;
    if (chars > charsMax) break;
    end += character.length;
  }
  return beginning.slice(0, end);
}

const isEmpty = (value: unknown): boolean =>
  value === null || value === undefined || (Array.isArray(value) && value.length === 0);

/** Cuts every text, and leaves out members that are empty or named in `omitted`. */
function bounded(value: JsonValue, charsMax: number, omitted: ReadonlySet<string>): JsonValue {
  if (typeof value === 'string') {
    const kept = cutEscaped(value, charsMax);
    return kept.length === value.length ? value : `${kept}… [cut]`;
  }
  if (Array.isArray(value)) return value.map((one) => bounded(one, charsMax, omitted));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, one]) => !omitted.has(name) && !isEmpty(one))
      .map(([name, one]) => [name, bounded(one, charsMax, omitted)]),
  );
}

/**
 * @param mark random, made for this answer
 * @param charsMax longest text in it, as it is escaped
 * @param omitted members that are left out, at every level
 */
export function untrustedContent(
  value: JsonValue,
  mark: string,
  charsMax: number,
  omitted: ReadonlySet<string> = new Set(),
): string {
  const name = `untrusted-content-${mark}`;
  return `<${name}>\n${escaped(bounded(value, charsMax, omitted))}\n</${name}>`;
}
