import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createNonAsciiTables } from '../../../src/engine/prefilter/non-ascii-literals.ts';
import { NonAsciiScan } from '../../../src/engine/prefilter/non-ascii-scan.ts';
import { MeasuredBounds } from '../../../src/engine/prefilter/text-bounds.ts';

const scan = new NonAsciiScan(createNonAsciiTables([]));

function boundsOf(text: string) {
  const bytes = Buffer.from(text);
  scan.read(bytes, null);
  const bounds = new MeasuredBounds(bytes, scan.continuations);
  return {
    continuations: bounds.continuations,
    word: bounds.longest('word'),
    space: bounds.longest('space'),
    gap: bounds.longest('gap'),
    solid: bounds.longest('solid'),
    line: bounds.longest('line'),
  };
}

describe('the bounds of a text', () => {
  it('are its longest word, white space, gap, solid and line; what is short counts as 4', () => {
    expect(boundsOf('ab-cdefg \n    f\n......ghi')).toEqual({
      continuations: 0,
      word: 5,
      space: 6,
      gap: 7,
      solid: 9,
      line: 9,
    });
    expect(boundsOf('é')).toEqual({
      continuations: 1,
      word: 4,
      space: 4,
      gap: 4,
      solid: 4,
      line: 4,
    });
  });

  it('hold whatever the text is', () => {
    const letters = fc.constantFrom('a', 'B', '7', ' ', '\n', '\t', '\v', 'ſ', 'é', '-', '😀');
    fc.assert(
      fc.property(fc.array(letters, { maxLength: 40 }), (parts) => {
        const text = parts.join('');
        const longest = (run: RegExp) =>
          Math.max(4, ...[...text.matchAll(run)].map(([found]) => Buffer.byteLength(found)));
        expect(boundsOf(text)).toEqual({
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
});
