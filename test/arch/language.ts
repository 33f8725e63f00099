/**
 * Plain words in comments, names and titles of tests: no word that a reader would not search for. The
 * list is short on purpose; style is judged in review.
 */
import { describe, expect, test } from 'vitest';

import { parseSource, readSources, type SourceFile } from './source-file.ts';

/** In comments and titles: what to write instead is the name of the act or the thing. */
const TEXT_WORDS =
  /\b(told|asked|stands(?! for)|whoever|anew|(?:go|goes|went|going) on|(?:say|says|said|become|becomes|became) of)\b/gi;
/** As words of names: `toldAt`, `#told`, `othersTurn`. */
const NAME_WORDS = /(?<![a-z])(told|asked|those|whoever|anew|aids|workshop|riddle)(?![a-z])/i;
const NAMES = new Set(['othersTurn', 'goOn', 'goOnFrom', 'LEFT_TO_PLAIN']);

/** `othersTurn` → `others Turn`, so that each word of a name is seen. */
const wordsOf = (name: string): string => name.replaceAll(/([a-z\d])([A-Z])/g, '$1 $2');

/** Name → whether it has such a word: files share most of their names. */
const judged = new Map<string, boolean>();

function isFault(name: string): boolean {
  const known = judged.get(name) ?? (NAMES.has(name) || NAME_WORDS.test(wordsOf(name)));
  judged.set(name, known);
  return known;
}

/** This file names the words. */
const CHECKER = 'test/arch/language.ts';

function faultsOf({ path, comments, titles, names }: SourceFile): string[] {
  const inTexts = [...comments, ...titles].flatMap((text) => text.match(TEXT_WORDS) ?? []);
  const inNames = [...new Set(names)].filter(isFault);
  return [...inTexts, ...inNames].map((word) => `${path}: ${word}`);
}

describe('the checker', () => {
  const faultsIn = (text: string): string[] => faultsOf(parseSource('src/x.ts', text));

  test.each([
    ['// It is Told here.', 'Told'],
    ['/** This goes on. */', 'goes on'],
    ['// What became of it.', 'became of'],
    ['const toldAt = 1;', 'toldAt'],
    ['f({ whatWasAsked: 1 });', 'whatWasAsked'],
    ['const THOSE_OF_IT = 1;', 'THOSE_OF_IT'],
    ['class A { #othersTurn = 1; }', 'othersTurn'],
    ["test('is told', f);", 'told'],
    ["describe.each(cases)('stands for %s, asked', f);", 'asked'],
    ['it.skipIf(a).each(cases)(`begins anew`, f);', 'anew'],
  ])('finds %s', (text, word) => {
    expect(faultsIn(text)).toEqual([`src/x.ts: ${word}`]);
  });

  test('leaves other words alone, and texts that are no titles', () => {
    expect(faultsIn("// understands, tasked, a standstill\nbasked('was told');")).toEqual([]);
  });
});

test.each(['src', 'test', 'bench', 'demo', 'bin'])('%s uses plain words', (folder) => {
  const sources = readSources(folder).filter(({ path }) => path !== CHECKER);
  expect(sources.length).toBeGreaterThan(0);
  expect(sources.flatMap(faultsOf)).toEqual([]);
});
