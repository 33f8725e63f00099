/** Counting objects and lists on bytes, before they are built. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toEnd } from '../../src/otlp/pieces.ts';
import { holdsTooManyStructures as inPieces } from '../../src/otlp/structure-count.ts';

const holdsTooManyStructures = (...question: Parameters<typeof inPieces>): boolean =>
  toEnd(inPieces(...question));

test.each<[string, number]>([
  ['{}', 1],
  ['[[],{"a":[1,2,{}]}]', 5],
  ['["{[{[", "\\"{", "\\\\", {}]', 2],
  ['"[[[[[[', 0],
  ['[[[[', 4],
])('%s holds %i', (text, count) => {
  // The length alone must not decide, so the body is made longer than the bound.
  const body = Buffer.from(text + ' '.repeat(16));
  expect(holdsTooManyStructures(body, count)).toBe(false);
  if (count > 0) expect(holdsTooManyStructures(body, count - 1)).toBe(true);
});

function countStructures(value: unknown): number {
  if (Array.isArray(value)) return 1 + value.reduce((sum, one) => sum + countStructures(one), 0);
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce((sum: number, one) => sum + countStructures(one), 0);
}

test('it counts what JSON.parse would build, whatever keys and strings hold', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const body = Buffer.from(`${JSON.stringify(value)}${' '.repeat(1000)}`);
      const count = countStructures(value);
      expect(holdsTooManyStructures(body, count)).toBe(false);
      if (count > 0) expect(holdsTooManyStructures(body, count - 1)).toBe(true);
    }),
  );
});

test('it never throws on bytes that are no JSON', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 500 }), (bytes) => {
      expect(typeof holdsTooManyStructures(Buffer.from(bytes), 3)).toBe('boolean');
    }),
  );
});
