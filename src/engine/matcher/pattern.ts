/**
 * Owns the compilation of corpus patterns to RE2 programs, and the reasons why a pattern is not
 * supported. The only file that imports `re2`. Compiling never throws: a bad pattern is a value.
 *
 * The corpus is written for engines that ignore case; RE2 reads the leading inline flags ((?i),
 * (?is) …) itself, so the source is passed unchanged, but for surrogate pairs.
 */
import { visitRegExpAST } from '@eslint-community/regexpp';
import RE2 from 're2';
import type { UnsupportedReason } from '../../model/rules.ts';
import { memoize } from './memoize.ts';
import { parseAsWritten, splitFlags } from './pattern-syntax.ts';
import { areWithin, relaxedSource, relaxedWithRuns } from './relaxed-pattern.ts';
import { loneSurrogate, withoutSurrogates } from './surrogate-pairs.ts';

export interface Pattern {
  /** Checks whether it matches anywhere in `bytes`. Throws what RE2 throws. */
  test(bytes: Buffer): boolean;
  /** False if it matches nowhere in `bytes`, nearly always. Never false if it does. */
  mayMatch(bytes: Buffer): boolean;
  /** Byte range of the leftmost match in `bytes`, or null. Slower than `test` and `mayMatch`. */
  find(bytes: Buffer): ByteRange | null;
  /**
   * The same among the matches that start at `from` or later. What is before it counts as the text
   * before the match: to `^` the bytes do not begin there, and `\b` sees the character before.
   * @param from where a character begins
   */
  findFrom(bytes: Buffer, from: number): ByteRange | null;
  /**
   * As `find`, with greedy and lazy repetitions swapped (`(?U)`): the match starts at the same
   * place, and greedy repetitions match as little as possible. With `from`, as `findFrom`.
   */
  findShort(bytes: Buffer, from?: number): ByteRange | null;
}

export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export type Compiled =
  | { readonly pattern: Pattern; readonly reason: null }
  | { readonly pattern: null; readonly reason: UnsupportedReason };

/** Compiles a source; the same source gives the same program. */
export type PatternCompiler = (source: string) => Compiled;

/** Case-insensitive, Unicode. Not `g` or `y`: a `lastIndex` would be state. */
const FLAGS = 'iu';
/** With a `lastIndex`, which is set before each search. */
const FROM = 'iug';
/** RE2's flag that swaps greedy and lazy repetitions. */
const UNGREEDY = '(?U)';
/** From the beginning of the bytes only; `lastIndex` must be 0. */
const AT_START = 'iuy';
/**
 * As few characters as possible before the match, captured. At the start of the bytes, with a capture,
 * RE2 backtracks with a bitmap of what it has tried instead of building an automaton. For bytes it has
 * not seen before that is three times as fast; in longer ones the bitmap is too large.
 */
const BEFORE = '((?s:.*?))';
const BACKTRACKED_BYTES_MAX = 4096;

const LOOK_AROUNDS: Readonly<Record<string, string>> = {
  '(?=': 'a look-ahead',
  '(?!': 'a negative look-ahead',
  '(?<=': 'a look-behind',
  '(?<!': 'a negative look-behind',
};

/**
 * RE2's messages (re2/re2.cc, texts of `RE2::ErrorCode`) → reasons for the reader of a rule; `found` is
 * the first group of the expression. The first that fits counts, so narrow ones come first.
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

/** A compiler with its own cache: one program per distinct source. */
export function createPatternCompiler(): PatternCompiler {
  return memoize(compile);
}

function compile(written: string): Compiled {
  const source = withoutSurrogates(written);
  const half = loneSurrogate(source);
  if (half !== null) return { pattern: null, reason: loneHalf(half) };
  try {
    return { pattern: toPattern(source, new RE2(source, FLAGS)), reason: null };
  } catch (error) {
    return { pattern: null, reason: toReason(error instanceof Error ? error.message : 'unknown') };
  }
}

function toPattern(source: string, program: RE2): Pattern {
  /** compiled at the first hit: most patterns never have one */
  let finder: RE2 | null = null;
  let backtracker: Finder | undefined;
  let ungreedy: RE2 | null = null;
  let relaxed: RE2 | null = null;
  let fromFinder: RE2 | null = null;
  return {
    test: (bytes) => program.test(bytes),
    mayMatch: (bytes) => {
      relaxed ??= relaxedOf(source, program);
      return relaxed.test(bytes);
    },
    find: (bytes) => {
      if (bytes.length <= BACKTRACKED_BYTES_MAX) {
        backtracker ??= backtrackerOf(source);
        const found = backtracker(bytes);
        if (found !== undefined) return found;
      }
      finder ??= finderOf(source, program);
      return rangeOf(finder.exec(bytes));
    },
    findFrom: (bytes, from) => {
      fromFinder ??= new RE2(withoutCaptures(source), FROM);
      fromFinder.lastIndex = from;
      return rangeOf(fromFinder.exec(bytes));
    },
    findShort: (bytes, from = 0) => {
      ungreedy ??= new RE2(UNGREEDY + withoutCaptures(source), FROM);
      ungreedy.lastIndex = from;
      return rangeOf(ungreedy.exec(bytes));
    },
  };
}

function relaxedOf(source: string, program: RE2): RE2 {
  const relaxed = relaxedSource(source);
  return relaxed === source ? program : new RE2(relaxed, FLAGS);
}

function rangeOf(match: { readonly index: number; readonly 0: Buffer } | null): ByteRange | null {
  return match === null ? null : { start: match.index, end: match.index + match[0].byteLength };
}

/** The leftmost match or null; undefined when it cannot say. */
type Finder = (bytes: Buffer) => ByteRange | null | undefined;

/** Tries the relaxed pattern first: it is smaller, and its match is mostly the pattern's. */
function backtrackerOf(source: string): Finder {
  const relaxed = relaxedWithRuns(source);
  const first = relaxed === null ? null : programAtStart(relaxed.source);
  let exact: RE2 | null | undefined;
  return (bytes) => {
    if (first !== null && relaxed !== null) {
      const match = execAtStart(first, bytes);
      if (match === null) return null;
      if (areWithin(match.slice(2), relaxed.runs)) return rangeBehind(match);
    }
    if (exact === undefined) exact = programAtStart(withoutCaptures(source));
    if (exact === null) return undefined;
    const match = execAtStart(exact, bytes);
    return match === null ? null : rangeBehind(match);
  };
}

/** @returns null when the pattern is too large with `BEFORE` */
function programAtStart(source: string): RE2 | null {
  try {
    return new RE2(`${BEFORE}(?:${source})`, AT_START);
  } catch {
    return null;
  }
}

/** The types of `re2` leave groups out: first what is before the match and the match, then `BEFORE`. */
function execAtStart(program: RE2, bytes: Buffer): readonly Buffer[] | null {
  program.lastIndex = 0;
  return program.exec(bytes) as unknown as readonly Buffer[] | null;
}

function rangeBehind([upToEnd, before]: readonly Buffer[]): ByteRange {
  return { start: before?.byteLength ?? 0, end: upToEnd?.byteLength ?? 0 };
}

function finderOf(source: string, program: RE2): RE2 {
  const without = withoutCaptures(source);
  return without === source ? program : new RE2(without, FLAGS);
}

/**
 * The pattern without capturing groups: it matches at the same places, and faster, because RE2 need
 * not follow every group through the text. A source that cannot be parsed is returned unchanged.
 */
export function withoutCaptures(source: string): string {
  const { flags, body } = splitFlags(source);
  const starts: number[] = [];
  const groups = parseAsWritten(body);
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

function loneHalf(half: string): UnsupportedReason {
  return {
    code: 'lone_surrogate',
    message: `names half of a surrogate pair, ${half}, which no UTF-8 text has`,
  };
}

function toReason(said: string): UnsupportedReason {
  for (const { says, code, message } of REASONS) {
    const found = says.exec(said);
    if (found !== null) return { code, message: message(found[1] ?? '') };
  }
  return { code: 'invalid_pattern', message: `is no pattern to RE2: ${said}` };
}
