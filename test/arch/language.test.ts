/**
 * Plain words in comments and names of `src`: no word that a reader would not search for. The list is
 * short on purpose; style is judged in review.
 */
import { describe, expect, test } from 'vitest';

import { readSources, type SourceFile } from './source-file.ts';

/** In comments: what to write instead is the name of the act or the thing. */
const COMMENT_WORDS = /\b(told|asked|stands(?! for)|whoever|anew|goes on)\b/gi;
/** As words of names: `toldAt`, `#told`, `othersTurn`. */
const NAME_WORDS = /(?<![a-z])(told|asked|those|whoever|anew|aids|workshop|riddle)(?![a-z])/i;
const NAMES = new Set(['othersTurn', 'goOn', 'goOnFrom', 'LEFT_TO_PLAIN']);

/** `othersTurn` → `others Turn`, so that each word of a name is seen. */
const wordsOf = (name: string): string => name.replaceAll(/([a-z\d])([A-Z])/g, '$1 $2');

function faultsOf({ path, comments, names }: SourceFile): string[] {
  const inComments = comments.flatMap((text) => text.match(COMMENT_WORDS) ?? []);
  const inNames = new Set(
    names.filter((name) => NAMES.has(name) || NAME_WORDS.test(wordsOf(name))),
  );
  return [...inComments, ...inNames].map((word) => `${path}: ${word}`);
}

describe('the checker', () => {
  const file = (comment: string, name: string): SourceFile => ({
    path: 'src/x.ts',
    lines: 1,
    specifiers: [],
    valueSpecifiers: [],
    reExports: [],
    references: [],
    processProperties: [],
    names: [name],
    comments: [comment],
    exportedTypes: [],
  });

  test.each([
    ['It is Told here.', 'x', 'Told'],
    ['This goes on.', 'x', 'goes on'],
    ['', 'toldAt', 'toldAt'],
    ['', 'whatWasAsked', 'whatWasAsked'],
    ['', 'THOSE_OF_IT', 'THOSE_OF_IT'],
    ['', 'othersTurn', 'othersTurn'],
  ])('finds %s %s', (comment, name, word) => {
    expect(faultsOf(file(comment, name))).toEqual([`src/x.ts: ${word}`]);
  });

  test('leaves other words alone', () => {
    expect(faultsOf(file('understands, tasked, a standstill', 'basked'))).toEqual([]);
  });
});

test('comments and names of src use plain words', () => {
  expect(readSources().flatMap(faultsOf)).toEqual([]);
});
