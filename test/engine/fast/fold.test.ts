import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Folding, foldLiteral } from '../../../src/engine/fast/fold.ts';

function fold(text: string) {
  const bytes = Buffer.from(text);
  const folding = new Folding();
  folding.fold(bytes);
  const { length, origin, bounds } = folding;
  return {
    folded: Buffer.from(folding.bytes.subarray(0, length)).toString(),
    origin: [...origin.subarray(0, length + 1)],
    bounds,
  };
}

describe('folding a text', () => {
  it('makes letters small, digits 0, white space one blank', () => {
    expect(fold('Tell \t\n 42 ÄB').folded).toBe('tell 00 Äb');
  });

  it('reads the long s and the Kelvin sign as what they equal', () => {
    expect(fold('aſ\u212ab')).toMatchObject({ folded: 'askb', origin: [0, 1, 3, 6, 7] });
  });

  it('tells where each byte came from', () => {
    expect(fold('a  b').origin).toEqual([0, 1, 3, 4]);
  });

  it('measures the longest word, white space, gap, solid and line; what is short counts as 4', () => {
    expect(fold('ab-cdefg \n    f\n......ghi').bounds).toEqual({
      continuations: 0,
      word: 5,
      space: 6,
      gap: 7,
      solid: 9,
      line: 9,
    });
    expect(fold('é').bounds).toEqual({
      continuations: 1,
      word: 4,
      space: 4,
      gap: 4,
      solid: 4,
      line: 4,
    });
  });

  it('folds as a literal is folded, and bounds what it holds', () => {
    const letters = fc.constantFrom(
      'a',
      'B',
      '7',
      ' ',
      '\n',
      '\t',
      '\v',
      'ſ',
      '\u212a',
      'é',
      '-',
      '😀',
    );
    fc.assert(
      fc.property(fc.array(letters, { maxLength: 40 }), (parts) => {
        const text = parts.join('');
        const { folded, origin, bounds } = fold(text);
        expect(folded).toBe(foldLiteral(text));
        expect(origin).toEqual([...origin].sort((a, b) => a - b));
        expect(origin.at(-1)).toBe(Buffer.byteLength(text));
        const longest = (run: RegExp) =>
          Math.max(4, ...[...text.matchAll(run)].map(([found]) => Buffer.byteLength(found)));
        expect(bounds).toEqual({
          continuations: Buffer.byteLength(text) - [...text].length,
          word: longest(/[\w\u0080-\u{10ffff}]+/gu),
          space: longest(/[\t\n\f\r ]+/g),
          gap: longest(/[^\w\u0080-\u{10ffff}]+/gu),
          solid: longest(/[^\t\n\f\r ]+/gu),
          line: longest(/[^\n]+/gu),
        });
      }),
    );
  });

  it('folds one text after another into the same space', () => {
    const folding = new Folding();
    folding.fold(Buffer.from('a long first text'));
    folding.fold(Buffer.from('B'));
    expect([folding.length, folding.bytes[0], folding.bounds.word]).toEqual([1, 98, 4]);
  });
});
