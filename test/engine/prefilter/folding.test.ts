import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  FOLDED,
  foldedBefore,
  foldedBehind,
  foldLiteral,
  replaceAsciiEquals,
} from '../../../src/engine/prefilter/folding.ts';

/** A text as the search reads it. */
function fold(text: string): string {
  const { bytes } = replaceAsciiEquals(Buffer.from(text));
  return Buffer.from(bytes.map((byte) => FOLDED[byte] as number))
    .toString()
    .replace(/ +/g, ' ');
}

const letters = fc.constantFrom(
  ...['a', 'B', '7', ' ', '\n', '\t', '\v', 'ſ', '\u212a', 'é', '-', '😀'],
);
const texts = fc.array(letters, { maxLength: 40 }).map((parts) => parts.join(''));

describe('folding', () => {
  it('makes letters small, digits 0, white space one blank', () => {
    expect(fold('Tell \t\n 42 ÄB')).toBe('tell 00 Äb');
  });

  it('reads a text as a literal is folded', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(fold(text)).toBe(foldLiteral(text));
      }),
    );
  });

  it('copies a text only for the long s and the Kelvin sign, and knows where each byte came from', () => {
    const plain = Buffer.from('Äsk');
    expect(replaceAsciiEquals(plain)).toEqual({ bytes: plain, origin: null });
    const { bytes, origin } = replaceAsciiEquals(Buffer.from('aſ\u212ab'));
    expect(bytes.toString()).toBe('askb');
    expect([...(origin ?? [])]).toEqual([0, 1, 3, 6, 7]);
  });

  it('counts a run of blanks as one byte, in both directions', () => {
    const bytes = Buffer.from('ab \n\t cd');
    expect([foldedBehind(bytes, 0, 2), foldedBehind(bytes, 0, 3)]).toEqual([2, 6]);
    expect([foldedBehind(bytes, 4, 2), foldedBehind(bytes, 7, 9)]).toEqual([7, 8]);
    expect([foldedBefore(bytes, 8, 2), foldedBefore(bytes, 8, 3)]).toEqual([6, 2]);
    expect([foldedBefore(bytes, 4, 2), foldedBefore(bytes, 1, 9)]).toEqual([1, 0]);
  });
});
