/**
 * Owns the one way in which a corpus pattern becomes an RE2 program, and the reasons why one
 * cannot. Nothing else in the project imports `re2`. Compiling never throws: a bad pattern is a
 * value.
 *
 * The corpus is written for engines that ignore case; RE2 reads the leading inline groups ((?i),
 * (?is) …) itself, so the source is handed over unchanged.
 */
import { visitRegExpAST } from '@eslint-community/regexpp';
import RE2 from 're2';
import type { UnsupportedReason } from '../../model.ts';
import { remembered } from './memoize.ts';
import { parseAsWritten, splitFlags } from './pattern-syntax.ts';

/** A compiled pattern over UTF-8 bytes. */
export interface Pattern {
  /**
   * Does it match anywhere in `bytes`? Throws what RE2 throws; the caller decides what that
   * means.
   */
  test(bytes: Buffer): boolean;
  /**
   * Byte range of the leftmost match in `bytes`, or null. Slower than `test`: ask it after a hit.
   */
  find(bytes: Buffer): ByteRange | null;
  /**
   * As `find`, with greedy and lazy repetitions swapped (`(?U)`): the match starts at the same
   * place, and greedy repetitions match as little as possible.
   */
  findShort(bytes: Buffer): ByteRange | null;
}

export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export type Compiled =
  | { readonly pattern: Pattern; readonly reason: null }
  | { readonly pattern: null; readonly reason: UnsupportedReason };

/** Compiles a source; the same source gives the same program for the compiler's lifetime. */
export type PatternCompiler = (source: string) => Compiled;

/**
 * Case-insensitive, Unicode. No `g` or `y`: a pattern with a moving `lastIndex` would have
 * memory.
 */
const FLAGS = 'iu';
/** RE2's flag that swaps greedy and lazy repetitions. */
const UNGREEDY = '(?U)';

/** Look-around by the way it is written. */
const LOOK_AROUNDS: Readonly<Record<string, string>> = {
  '(?=': 'a look-ahead',
  '(?!': 'a negative look-ahead',
  '(?<=': 'a look-behind',
  '(?<!': 'a negative look-behind',
};

/**
 * What RE2 says (re2/re2.cc, `RE2::ErrorCode` texts) to what a rule's reader needs to know; `found`
 * is what stands in the brackets of the first expression. First fit wins, so the narrow ones stand
 * first.
 */
const REASONS: readonly {
  readonly says: RegExp;
  readonly code: string;
  readonly message: (found: string) => string;
}[] = [
  {
    says: /invalid (?:perl operator|named capture group|group): (\(\?<?[=!])/,
    code: 'lookaround',
    message: (found) =>
      `needs ${LOOK_AROUNDS[found] ?? 'look-around'}, ${found}…), which RE2 has not`,
  },
  {
    says: /invalid escape sequence: (\\(?:[1-9]|k))/,
    code: 'backreference',
    message: (found) => `refers back to what a group matched, ${found}, which RE2 does not do`,
  },
  {
    says: /invalid escape sequence: (\\.?)/,
    code: 'invalid_escape',
    message: (found) => `uses the escape ${found} in a place where RE2 knows no such escape`,
  },
  {
    says: /invalid repetition size: (\S+)/,
    code: 'repeat_over_1000',
    message: (found) => `repeats ${found} times; RE2 repeats at most 1000 times`,
  },
  {
    says: /pattern too large/,
    code: 'pattern_too_large',
    message: () => 'is larger, when compiled, than the memory RE2 allows for a pattern',
  },
];

/**
 * A compiler with its own memory: one program per distinct source, kept as long as the compiler is.
 */
export function createPatternCompiler(): PatternCompiler {
  return remembered(compile);
}

function compile(source: string): Compiled {
  try {
    return { pattern: toPattern(source, new RE2(source, FLAGS)), reason: null };
  } catch (error) {
    return { pattern: null, reason: toReason(error instanceof Error ? error.message : 'unknown') };
  }
}

function toPattern(source: string, program: RE2): Pattern {
  /** made at the first hit: most patterns never have one, and most have no groups that capture */
  let finder: RE2 | null = null;
  let ungreedy: RE2 | null = null;
  return {
    test: (bytes) => program.test(bytes),
    find: (bytes) => {
      finder ??= finderOf(source, program);
      return rangeOf(finder.exec(bytes));
    },
    findShort: (bytes) => {
      ungreedy ??= new RE2(UNGREEDY + withoutCaptures(source), FLAGS);
      return rangeOf(ungreedy.exec(bytes));
    },
  };
}

function rangeOf(match: { readonly index: number; readonly 0: Buffer } | null): ByteRange | null {
  return match === null ? null : { start: match.index, end: match.index + match[0].byteLength };
}

function finderOf(source: string, program: RE2): RE2 {
  const without = withoutCaptures(source);
  return without === source ? program : new RE2(without, FLAGS);
}

/**
 * The pattern with groups that capture nothing: where it matches is the same, and RE2 need not follow
 * every group through the text to say so. A source that cannot be read stays as it is.
 */
export function withoutCaptures(source: string): string {
  const { flags, body } = splitFlags(source);
  const starts: number[] = [];
  const groups = parseAsWritten(body);
  // Not read as RE2 does; such a source is rare and only found more slowly.
  if (groups === null) return source;
  visitRegExpAST(groups, {
    onCapturingGroupEnter: ({ name, start }) => {
      if (name === null) starts.push(start);
    },
  });
  let rewritten = flags;
  let from = 0;
  for (const start of starts) {
    rewritten += `${body.slice(from, start)}(?:`;
    from = start + 1;
  }
  return rewritten + body.slice(from);
}

function toReason(said: string): UnsupportedReason {
  for (const { says, code, message } of REASONS) {
    const found = says.exec(said);
    if (found !== null) return { code, message: message(found[1] ?? '') };
  }
  return { code: 'invalid_pattern', message: `is no pattern to RE2: ${said}` };
}
