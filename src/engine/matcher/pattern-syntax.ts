/**
 * Owns how a pattern that is written for RE2 is read with JavaScript's parser: where both read the same
 * it is handed over, without the escapes that only RE2 allows; where they do not, it is not read at all.
 */
import { type AST, RegExpParser } from '@eslint-community/regexpp';

const parser = new RegExpParser({ ecmaVersion: 2025 });

/** Punctuation that RE2 lets be escaped without need, and that means nothing when it is bare. */
const NEEDLESS = new Set('"\'#%&;@!~` ');
/** `[[:alpha:]]` is a class of letters to RE2, something else to JavaScript. */
const POSIX_CLASS = /\[:\^?\w+:\]/;
/** What loose syntax reads as RE2 does. Any other escaped letter is one of RE2's, or a plain letter. */
const SAME_ESCAPE = /\\(?:[bBdDsSwWnrtf]|x[\da-fA-F]{2}|u[\da-fA-F]{4}|[^a-zA-Z\d])/g;

const LEADING_FLAGS = /^\(\?[a-zA-Z]+\)/;

/** The flags that a pattern begins with, `(?is)` or nothing, and what follows them. */
export function splitFlags(source: string): { readonly flags: string; readonly body: string } {
  const flags = LEADING_FLAGS.exec(source)?.[0] ?? '';
  return { flags, body: source.slice(flags.length) };
}

/**
 * @param body a pattern without its leading flags
 * @returns null for what JavaScript cannot read, or would read otherwise than RE2
 */
export function parsePattern(body: string): AST.Pattern | null {
  const strict = withoutNeedlessEscapes(body);
  if (strict === null) return null;
  return parsed(strict, true) ?? (isReadAlike(body) ? parsed(body, false) : null);
}

/** The same, of strict syntax only: its nodes tell where they stand in `body`. */
export function parseAsWritten(body: string): AST.Pattern | null {
  return withoutNeedlessEscapes(body) === null ? null : parsed(body, true);
}

function parsed(body: string, unicode: boolean): AST.Pattern | null {
  try {
    return parser.parsePattern(body, 0, body.length, { unicode });
  } catch {
    return null;
  }
}

/** Without strict syntax, characters beyond the basic plane would count twice. */
function isReadAlike(body: string): boolean {
  return !/[\ud800-\udfff]/.test(body) && !body.replace(SAME_ESCAPE, '').includes('\\');
}

/**
 * The pattern in JavaScript's strict syntax, letter by letter.
 * @returns null where a class means something else to RE2: one of POSIX's, or one that begins with `]`,
 *   a member to RE2, the end of the class to JavaScript
 */
function withoutNeedlessEscapes(body: string): string | null {
  if (POSIX_CLASS.test(body)) return null;
  let strict = '';
  let isInClass = false;
  for (let at = 0; at < body.length; at += 1) {
    const letter = body[at] as string;
    if (letter === '\\') {
      at += 1;
      const escaped = body[at] ?? '';
      const isBare = NEEDLESS.has(escaped) || (escaped === '-' && !isInClass);
      strict += isBare ? escaped : letter + escaped;
      continue;
    }
    if (isInClass) {
      isInClass = letter !== ']';
    } else if (letter === '[') {
      if (/^\^?\]/.test(body.slice(at + 1, at + 3))) return null;
      isInClass = true;
    }
    strict += letter;
  }
  return strict;
}
