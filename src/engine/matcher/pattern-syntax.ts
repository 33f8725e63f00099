/**
 * Owns the parsing of RE2's pattern syntax with a parser for JavaScript's: escapes that only RE2 allows
 * are removed first, and a pattern that the two would read differently is not parsed at all.
 */
import { type AST, RegExpParser } from '@eslint-community/regexpp';

const parser = new RegExpParser({ ecmaVersion: 2025 });

/** Punctuation without a meaning that RE2 allows to be escaped. */
const NEEDLESS = new Set('"\'#%&;@!~` ');
/** `[[:alpha:]]` is a class of letters in RE2, something else in JavaScript. */
const POSIX_CLASS = /\[:\^?\w+:\]/;
/** Escapes that mean the same in RE2 and in JavaScript without the `u` flag. */
const SAME_ESCAPE = /\\(?:[bBdDsSwWnrtf]|x[\da-fA-F]{2}|u[\da-fA-F]{4}|[^a-zA-Z\d])/g;

const LEADING_FLAGS = /^\(\?[a-zA-Z]+\)/;

/** The flags that a pattern begins with, `(?is)` or nothing, and what follows them. */
export function splitFlags(source: string): { readonly flags: string; readonly body: string } {
  const flags = LEADING_FLAGS.exec(source)?.[0] ?? '';
  return { flags, body: source.slice(flags.length) };
}

/**
 * @param body a pattern without its leading flags
 * @returns null for what JavaScript cannot parse, or would read differently from RE2
 */
export function parsePattern(body: string): AST.Pattern | null {
  const strict = withoutNeedlessEscapes(body);
  if (strict === null) return null;
  return parsed(strict, true) ?? (isReadEqually(body) ? parsed(body, false) : null);
}

/** The same for strict syntax only: offsets of its nodes are offsets into `body`. */
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

/** Without strict syntax, characters outside the basic plane would be two. */
function isReadEqually(body: string): boolean {
  return !/[\ud800-\udfff]/.test(body) && !body.replace(SAME_ESCAPE, '').includes('\\');
}

/**
 * The pattern in JavaScript's strict syntax.
 * @returns null if a class means something else in RE2: a POSIX class, or a class that begins with
 *   `]`, which is a member in RE2 and the end of the class in JavaScript
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
