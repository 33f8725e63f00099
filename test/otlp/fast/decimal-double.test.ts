import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decimalDouble } from '../../../src/otlp/fast/decimal-double.ts';
import { casesOf } from '../../support/exhaustive.ts';

function parsed(text: string): number {
  const bytes = Buffer.from(`x${text}`);
  return decimalDouble(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 1, bytes.length);
}

const digits = (count: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: count, maxLength: count });

/** Decimals of up to 19 digits with a point somewhere, or none. */
const decimals = fc
  .tuple(fc.integer({ min: 1, max: 19 }).chain(digits), fc.integer({ min: 0, max: 18 }))
  .map(([text, place]) =>
    place === 0 || place >= text.length ? text : `${text.slice(0, place)}.${text.slice(place)}`,
  );

describe('the double nearest to a decimal', () => {
  it('is that of Number, or is left to Number', () => {
    let unparsed = 0;
    const runs = casesOf(50_000, 20);
    fc.assert(
      fc.property(decimals, (text) => {
        const double = parsed(text);
        if (Number.isNaN(double)) unparsed += 1;
        else expect(double).toBe(Number(text));
      }),
      { numRuns: runs },
    );
    // Only what lies in the middle of two doubles, or very near.
    expect(unparsed).toBeLessThan(runs / 100);
  });

  it('is parsed for every double as JSON writes it, where that has no exponent', () => {
    let unparsed = 0;
    fc.assert(
      fc.property(fc.double({ min: 1e-3, max: 1e15, noNaN: true }), (value) => {
        const text = JSON.stringify(value);
        fc.pre(text.replace('.', '').length <= 19);
        const double = parsed(text);
        if (Number.isNaN(double)) unparsed += 1;
        else expect(double).toBe(value);
      }),
      { numRuns: casesOf(50_000, 20) },
    );
    expect(unparsed).toBeLessThan(50);
  });

  it.each([
    // 2^53 + 1 lies in the middle, and a hair above and below it.
    ['9007199254740993', Number.NaN],
    ['9007199254740993.001', 9007199254740994],
    ['9007199254740992.999', 9007199254740992],
    ['0.1000000000000000', 0.1],
    ['0000000000000000', 0],
    ['1.1000000000000001', 1.1000000000000001],
  ])('%s', (text, expected) => {
    expect(parsed(text)).toBe(expected);
  });

  it.each(['12345678901234567890', '1.5e3', '1,5'])('is not parsed from %s', (text) => {
    expect(parsed(text)).toBeNaN();
  });
});
