import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { excerptOf } from '../../../src/engine/matcher/excerpt.ts';

describe('excerptOf', () => {
  it.each([
    ['the whole of a short text', 'a hit here', 2, 5, 20, 'a hit here'],
    ['the hit in the middle', `${'a'.repeat(50)}HIT${'b'.repeat(50)}`, 50, 53, 9, '…aaaHITbbb…'],
    ['room unused on the left goes right', `HIT${'b'.repeat(50)}`, 0, 3, 9, 'HITbbbbbb…'],
    ['room unused on the right goes left', `${'a'.repeat(50)}HIT`, 50, 53, 9, '…aaaaaaHIT'],
    ['the beginning of a long hit', 'abcdefghij', 2, 10, 4, '…cdef…'],
    ['whole characters', '😀😀😀HIT😀😀😀', 6, 9, 5, '…😀HIT😀…'],
    ['line ends and tabs as spaces', 'a\n\tHIT\r\nb', 3, 6, 20, 'a  HIT  b'],
    [
      'controls and invisibles by name',
      'a\u0007\u200b\u202eb',
      0,
      1,
      20,
      'a⟨U+0007⟩⟨U+200B⟩⟨U+202E⟩b',
    ],
    ['an empty hit', 'abc', 1, 1, 20, 'abc'],
  ])('%s', (_name, text, start, end, chars, excerpt) => {
    expect(excerptOf(text, { start, end }, chars).text).toBe(excerpt);
  });

  it('never shows more than `excerptChars`', () => {
    const readable = fc.string({ unit: fc.constantFrom('a', 'é', '😀', '語') });
    fc.assert(
      fc.property(
        readable,
        fc.nat(),
        fc.nat(),
        fc.integer({ min: 1, max: 20 }),
        (text, a, b, most) => {
          const letters = [...text];
          const from = a % (letters.length + 1);
          const to = from + (b % (letters.length - from + 1));
          const start = letters.slice(0, from).join('').length;
          const end = letters.slice(0, to).join('').length;
          const shown = excerptOf(text, { start, end }, most).text.replaceAll('…', '');
          expect([...shown].length).toBe(Math.min(most, letters.length));
          expect(text).toContain(shown);
          expect(shown).toContain(letters.slice(from, Math.min(to, from + most)).join(''));
        },
      ),
    );
  });
});
