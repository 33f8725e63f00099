/**
 * Owns the code in a text, as the corpus's reference engine finds it for rules with
 * `suppress_in_code_blocks`: fenced blocks, `inline code`, and "quotes" in the rows of tables. Its rule
 * is taken over exactly, because the authors measured their rules with it (`buildCodeBlockRanges` in
 * the package's `dist/engine.js`; a test compares the two).
 */
import { type CharacterRange, normalise } from './normalised-text.ts';
import type { Pattern } from './pattern.ts';

const FENCE = '```';
const INLINE_CODE = /`[^`\n]+`/g;
/** A row begins after any line end of JavaScript and ends before the next. */
const TABLE_ROW = /^\|.*$/gm;
const QUOTE = /"[^"\n]+"/g;

/** U+2028 and U+2029 end a row of a table; in the normalised text they are blanks. */
const LINE_SEPARATOR = /([\u2028\u2029])/;

export interface CodeText {
  /** the normalised text as UTF-8 */
  readonly bytes: Buffer;
  /** code in the normalised text: UTF-16 offsets; ranges may overlap and are not in order */
  readonly ranges: readonly CharacterRange[];
  /** code in the text as it was written */
  readonly written: readonly CharacterRange[];
}

/** @param text as it was written */
export function createCodeText(text: string): CodeText {
  const written = codeRanges(text);
  const normalised = normalise(text);
  const bytes = Buffer.from(normalised);
  if (normalised === text) return { bytes, ranges: written, written };
  const parts = text.split(LINE_SEPARATOR);
  const withSeparators = parts.map((part, index) => (index % 2 === 0 ? normalise(part) : part));
  return { bytes, ranges: codeRanges(withSeparators.join('')), written };
}

/**
 * Checks whether a hit does not count because it is code: it begins in code as the text was written, and the
 * leftmost match in the normalised text begins in code, too. So normalisation, which turns other characters
 * into backticks, does not turn text into code.
 * @param at where the hit begins in the text as it was written
 * @throws what RE2 throws
 */
export function isInCode(pattern: Pattern, at: number, code: CodeText): boolean {
  return isWithin(at, code.written) && beginsInCode(pattern, code);
}

/**
 * Checks whether the leftmost match of a pattern in the normalised text begins in code. Then the reference engine
 * does not count the text as matched, even if the pattern matches again outside.
 */
function beginsInCode(pattern: Pattern, { bytes, ranges }: CodeText): boolean {
  if (ranges.length === 0) return false;
  const found = pattern.find(bytes);
  return found !== null && isWithin(bytes.toString('utf8', 0, found.start).length, ranges);
}

function isWithin(at: number, ranges: readonly CharacterRange[]): boolean {
  return ranges.some(({ start, end }) => start <= at && at < end);
}

export function codeRanges(text: string): CharacterRange[] {
  const fenced = fencedRanges(text);
  const quotes = [...text.matchAll(TABLE_ROW)].flatMap(({ 0: row, index }) =>
    rangesOf(QUOTE, row, index),
  );
  return [...fenced, ...inlineRanges(text, fenced), ...quotes];
}

/** @param fenced in order */
function inlineRanges(text: string, fenced: readonly CharacterRange[]): CharacterRange[] {
  let block = 0;
  return rangesOf(INLINE_CODE, text, 0).filter(({ start }) => {
    while ((fenced[block]?.end ?? Number.POSITIVE_INFINITY) <= start) block += 1;
    return start < (fenced[block]?.start ?? Number.POSITIVE_INFINITY);
  });
}

/** A block extends from the line that opens it to the line that closes it, or to the text's end. */
function fencedRanges(text: string): CharacterRange[] {
  const ranges: CharacterRange[] = [];
  let opened: number | null = null;
  let at = 0;
  for (const line of text.split('\n')) {
    const end = at + line.length + 1;
    if (line.trimStart().startsWith(FENCE)) {
      if (opened !== null) ranges.push({ start: opened, end });
      opened = opened === null ? at : null;
    }
    at = end;
  }
  if (opened !== null) ranges.push({ start: opened, end: text.length });
  return ranges;
}

function rangesOf(pattern: RegExp, text: string, offset: number): CharacterRange[] {
  return [...text.matchAll(pattern)].map(({ 0: found, index }) => ({
    start: offset + index,
    end: offset + index + found.length,
  }));
}
