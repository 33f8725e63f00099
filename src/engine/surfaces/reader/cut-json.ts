/**
 * Owns the repair of JSON that its sender truncated: strings, lists and objects that are open at the
 * end are closed, so that the rest can be read as the structure that it was. Must lose no string, not
 * even the truncated one, and leaves alone what is not the beginning of JSON.
 */
import { CHARS_MAX, DEPTH_MAX } from './budget.ts';
import { cutMarkAt } from './run-rows.ts';

const JSON_BEGINS = /^\s*[[{]/;

/**
 * Closes a text that is the beginning of a JSON list or object. Linear in its length.
 *
 * @returns the text itself when it is complete, not the beginning of JSON, or beyond the limits of
 *   parsing: too long or too deep (40 MB of brackets took 17 s and 4 GB to close)
 */
export function closeCut(text: string): string {
  if (text.length > CHARS_MAX || !JSON_BEGINS.test(text)) return text;
  const mark = cutMarkAt(text);
  const bare = mark === -1 ? text : text.slice(0, mark);
  const end = scan(bare);
  if (end === null || end.open === '') return text;
  const closed = closeAt(bare, end);
  try {
    JSON.parse(closed);
  } catch {
    return text;
  }
  return closed;
}

/** The state of JSON's syntax at the end of a text. */
interface End {
  /** the open brackets, outermost first */
  readonly open: string;
  readonly inString: boolean;
  /** the open, or last, string is a member's name without its colon */
  readonly isName: boolean;
  /** start of an incomplete escape; the length of the text if there is none */
  readonly escapeAt: number;
}

/** @returns null if brackets do not match, text follows the last, or too many are open */
function scan(text: string): End | null {
  const open: string[] = [];
  let inString = false;
  let isName = false;
  let namesNext = false;
  let escapeAt = -1;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (inString) {
      if (char === '\\') {
        escapeAt = at;
        at += text[at + 1] === 'u' ? 5 : 1;
      } else if (char === '"') inString = false;
      continue;
    }
    if (char === '"') {
      inString = true;
      isName = namesNext;
    } else if (char === '{' || char === '[') {
      open.push(char);
      if (open.length > DEPTH_MAX) return null;
      namesNext = char === '{';
    } else if (char === '}' || char === ']') {
      if (open.pop() !== (char === '}' ? '{' : '[')) return null;
      if (open.length === 0 && text.slice(at + 1).trim() !== '') return null;
      namesNext = false;
      isName = false;
    } else if (char === ',') {
      namesNext = open.at(-1) === '{';
    } else if (char === ':') {
      namesNext = false;
      isName = false;
    }
  }
  const isEscaping =
    inString && escapeAt >= 0 && escapeAt + (text[escapeAt + 1] === 'u' ? 6 : 2) > text.length;
  return {
    open: open.join(''),
    inString,
    isName,
    escapeAt: isEscaping ? escapeAt : text.length,
  };
}

/** The beginning of a number, true, false or null. */
const WORD =
  /(?<![\w.+-])(?:-?\d*\.?\d*(?:[eE][+-]?\d*)?|t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?)$/;
const WORD_CHARS_MAX = 512;

function closeAt(text: string, { open, inString, isName, escapeAt }: End): string {
  const closers = [...open].reverse().map((bracket) => (bracket === '{' ? '}' : ']'));
  const member = isName ? ':null' : '';
  if (inString) return `${text.slice(0, escapeAt)}"${member}${closers.join('')}`;
  const kept = withoutWord(text.trimEnd());
  if (isName) return `${kept}${member}${closers.join('')}`;
  const last = kept.at(-1);
  if (last === ',') return kept.slice(0, -1) + closers.join('');
  return `${kept}${last === ':' ? 'null' : ''}${closers.join('')}`;
}

function withoutWord(text: string): string {
  const from = Math.max(0, text.length - WORD_CHARS_MAX);
  return (text.slice(0, from) + text.slice(from).replace(WORD, '')).trimEnd();
}
