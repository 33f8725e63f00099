import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PagesOfText, pageOf } from '../../../src/engine/fast/pages.ts';

const pages = new PagesOfText();
const touched = (text: string, ...asked: number[]): boolean => {
  pages.note(Buffer.from(text));
  return pages.touches(new Set(asked));
};

it.each([
  ['é', 0x00],
  ['Ω', 0x03],
  ['я', 0x04],
  ['→', 0x21],
  ['漢', 0x6f],
  ['\ufeff', 0xfe],
  ['😀', 0x1f6],
  ['\u{10ffff}', 0x10ff],
])('%s is on its page alone', (character, page) => {
  expect(pageOf(character.codePointAt(0) ?? 0)).toBe(page);
  expect(touched(`plain ${character} plain`, page)).toBe(true);
  expect(touched(`plain ${character} plain`, page + 1, page - 1)).toBe(false);
});

it('ASCII touches none, and a text is forgotten with the next', () => {
  expect(touched('я', 0x04)).toBe(true);
  expect(touched('plain', 0x04, 0x00)).toBe(false);
});

it('every character beyond ASCII touches its page', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const valid = Buffer.from(text).toString();
      for (const character of valid) {
        const point = character.codePointAt(0) ?? 0;
        if (point > 127) expect(touched(valid, pageOf(point))).toBe(true);
      }
    }),
  );
});
