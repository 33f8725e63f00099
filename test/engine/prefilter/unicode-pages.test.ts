import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createNonAsciiTables } from '../../../src/engine/prefilter/non-ascii-literals.ts';
import { NonAsciiScan } from '../../../src/engine/prefilter/non-ascii-scan.ts';
import { type PageRange, pageOf, TextPages } from '../../../src/engine/prefilter/unicode-pages.ts';
import { anyCharacter } from '../../support/cases.ts';

const pages = new TextPages();
const scan = new NonAsciiScan(createNonAsciiTables([]));
const enter = (text: string): void => {
  scan.read(Buffer.from(text), null);
  pages.enter(scan.pages);
};
const touched = (text: string, ...wanted: number[]): boolean => {
  enter(text);
  return pages.hasAny(wanted.map((page): PageRange => [page, page]));
};

it.each([
  ['é', 0x1d],
  ['Ω', 0x75],
  ['я', 0x89],
  ['→', 0x432],
  ['漢', 0xde4],
  ['\ufeff', 0x1fdf],
  ['😀', 0x3ec0],
  ['\u{10ffff}', 0x21fff],
])('%s is on its page alone', (character, page) => {
  expect(pageOf(character.codePointAt(0) ?? 0)).toBe(page);
  expect(touched(`plain ${character} plain`, page)).toBe(true);
  expect(touched(`plain ${character} plain`, page + 1, page - 1)).toBe(false);
});

it('ASCII touches none, and a text is forgotten with the next', () => {
  expect(touched('я', 0x89)).toBe(true);
  expect(touched('plain', 0x89, 0x08, 0x00)).toBe(false);
});

it('ranges of pages are touched when one within them is', () => {
  enter('a — b 漢');
  expect(pages.hasAny([[0x400, 0x403]])).toBe(true);
  expect(
    pages.hasAny([
      [0x400, 0x401],
      [0x403, 0xde3],
    ]),
  ).toBe(false);
  expect(
    pages.hasAny([
      [0x500, 0x600],
      [0xde4, 0x7000],
    ]),
  ).toBe(true);
  expect(pages.hasAny([[0x7000, 0x8000]])).toBe(false);
});

it('every character beyond ASCII touches its page', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      const valid = Buffer.from(text).toString();
      for (const character of valid) {
        const point = character.codePointAt(0) ?? 0;
        if (point > 127) expect(touched(valid, pageOf(point))).toBe(true);
      }
    }),
  );
});
