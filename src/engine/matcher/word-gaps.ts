/**
 * Owns the division of letters at U+FEFF, which may be a blank or nothing: `ig_nore_all` is `ignore all`. Letters
 * are divided so that most of them make words of the rules, in as few words as possible.
 */
import { normalise } from './normalised-text.ts';

/** ZERO WIDTH NO-BREAK SPACE; at the beginning of a text it is a byte order mark. */
export const NO_BREAK_SPACE = '\ufeff';

/** The words of the rules' patterns, in lower case and in order. Few texts need them. */
export type RuleWords = () => readonly string[];

/** Letters that are divided together; longer ones in parts. */
export const RUN_CHARS_MAX = 256;
const RUN = new RegExp(`[\\p{L}\\p{M}\\p{DI}]{1,${RUN_CHARS_MAX}}`, 'gu');
/** A place where letters may be divided. */
const GAP = /\ufeff\p{DI}*/gu;

/** Classes, escapes and the flags of a group: what has letters, and is no word. */
const NO_WORD = /\[(?:\\.|[^\]\\])*\]|\\(?:[pP]\{\w+\}|x\{\w+\}|x\w\w|u\w{4}|.)|\(\?[a-z]*[:)]/gs;
/** Letters with an optional last one, or with several endings. */
const WORD = /(\p{L}{2,})(?:(\?)|\(([\p{L}|]+)\))?/gu;

/** A known word costs less than letters that make none. */
const WORD_COST = 1;
const UNKNOWN_COST = 3;

/** Reads the words of patterns when they are first needed. */
export function wordsOf(patterns: readonly string[]): RuleWords {
  let words: readonly string[] | null = null;
  return () => {
    words ??= [...new Set(patterns.flatMap(wordsIn))].sort();
    return words;
  };
}

function wordsIn(pattern: string): string[] {
  const plain = pattern
    .toLowerCase()
    .replace(NO_WORD, (part) => (part.startsWith('(') ? '(' : ' '));
  return [...plain.matchAll(WORD)].flatMap(([, word = '', isOptional, endings]) => {
    const shorter = isOptional === undefined ? [] : [word.slice(0, -1)];
    const longer = endings?.split('|').map((ending) => word + ending) ?? [];
    return [word, ...shorter, ...longer];
  });
}

/**
 * Replaces each U+FEFF that ends a word by a blank. The others stay, to be removed as invisible.
 * @param words in lower case and in order
 */
export function divideWords(text: string, words: readonly string[]): string {
  return text.replace(RUN, (run) => (run.includes(NO_BREAK_SPACE) ? divideRun(run, words) : run));
}

function divideRun(run: string, words: readonly string[]): string {
  const pieces = run.split(GAP);
  const starts = wordStarts(
    pieces.map((piece) => normalise(piece).toLowerCase()),
    words,
  );
  let piece = 0;
  return run.replace(GAP, (gap) => {
    piece += 1;
    return starts.has(piece) ? ` ${gap.slice(1)}` : gap;
  });
}

/** The pieces that begin a word in the cheapest division. */
function wordStarts(pieces: readonly string[], words: readonly string[]): Set<number> {
  /** pieces that are divided → the cost, and the first piece of the last word */
  const cheapest = [{ cost: 0, start: 0 }];
  for (const start of pieces.keys()) {
    const before = cheapest[start]?.cost ?? 0;
    let letters = '';
    for (let end = start + 1; end <= pieces.length; end += 1) {
      letters += pieces[end - 1] ?? '';
      const next = words[lowerBound(words, letters)];
      const own = next === letters ? WORD_COST : UNKNOWN_COST;
      const cost = before + (letters === '' ? 0 : own);
      const isToken = next === letters || end === start + 1;
      // Of equal ones the division into more words, because it is found later.
      if (isToken && cost <= (cheapest[end]?.cost ?? cost)) cheapest[end] = { cost, start };
      if (next?.startsWith(letters) !== true) break;
    }
  }
  const starts = new Set<number>();
  for (let end = pieces.length; end > 0; end = cheapest[end]?.start ?? 0) {
    starts.add(cheapest[end]?.start ?? 0);
  }
  return starts;
}

/** The index of the first word that is not before these letters. */
function lowerBound(words: readonly string[], letters: string): number {
  let low = 0;
  let high = words.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((words[middle] as string) < letters) low = middle + 1;
    else high = middle;
  }
  return low;
}
