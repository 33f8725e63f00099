import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nonAsciiRuns } from '../../../src/engine/prefilter/non-ascii.ts';
import { MeasuredBounds } from '../../../src/engine/prefilter/text-bounds.ts';

function boundsOf(text: string) {
  const bytes = Buffer.from(text);
  const bounds = new MeasuredBounds(bytes, nonAsciiRuns(bytes));
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

describe('runs beyond ASCII', () => {
  it('are found wherever the bytes lie in memory', () => {
    const unit = fc.constantFrom('a', 'a', 'a', 'bcdefghi', 'é', '漢', '😀');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 40 }), fc.nat({ max: 9 }), (text, skew) => {
        const memory = new Uint8Array(skew + Buffer.byteLength(text));
        memory.set(Buffer.from(text), skew);
        const bytes = memory.subarray(skew);
        const runs: number[] = [];
        bytes.forEach((byte, at) => {
          if (byte < 0x80) return;
          if (runs.at(-1) === at) runs[runs.length - 1] = at + 1;
          else runs.push(at, at + 1);
        });
        expect(nonAsciiRuns(bytes)).toEqual(runs);
      }),
      { numRuns: 1000 },
    );
  });
});
