/** Ranges of records: what is encoded is decoded, and damaged bytes are refused. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addRange,
  countRecords,
  decodeRanges,
  encodedBytesMax,
  encodeRanges,
  firstRecords,
} from '../../src/model/record-ranges.ts';

/** Ranges by the length of each and its distance from the one before. */
const rangesArbitrary = fc
  .array(fc.tuple(fc.oneof(fc.nat(3), fc.nat(300_000)), fc.integer({ min: 1, max: 40_000 })), {
    maxLength: 20,
  })
  .map((steps) => {
    const ranges: number[] = [];
    let at = 0;
    for (const [gap, length] of steps) {
      addRange(ranges, at + gap, at + gap + length);
      at += gap + length;
    }
    return ranges;
  });

test('ranges that touch are one', () => {
  const ranges: number[] = [];
  for (const [start, end] of [
    [0, 2],
    [2, 3],
    [5, 6],
    [6, 9],
  ] as const)
    addRange(ranges, start, end);
  expect(ranges).toEqual([0, 3, 5, 9]);
  expect(countRecords(ranges)).toBe(7);
});

/** Encodes ranges behind other bytes, which are left as they are. */
function encoded(ranges: readonly number[]): Buffer {
  const into = Buffer.alloc(2 + encodedBytesMax(ranges), 0xee);
  const end = encodeRanges(ranges, into, 2);
  expect(into.subarray(0, 2).toString('hex')).toBe('eeee');
  return into.subarray(2, end);
}

test.each([
  [[], ''],
  [[0, 4], '0004'],
  [[0, 1, 2, 3], '00010101'],
  [[127, 128, 256, 512], '7f0180018002'],
])('%j has known bytes', (ranges, bytes) => {
  expect(encoded(ranges).toString('hex')).toBe(bytes);
});

test('what is encoded is decoded', () => {
  fc.assert(
    fc.property(rangesArbitrary, (ranges) => {
      expect(decodeRanges(encoded(ranges))).toEqual(ranges);
    }),
  );
});

test.each(['00', '000101', '80', '0081', '0000', '00010001', 'ffffffffff01'])(
  'damaged bytes %s are refused',
  (bytes) => {
    expect(() => decodeRanges(Buffer.from(bytes, 'hex'))).toThrow(RangeError);
  },
);

test('any bytes are decoded to rising ranges, or refused', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 20 }), (bytes) => {
      let ranges: readonly number[] = [];
      try {
        ranges = decodeRanges(Buffer.from(bytes));
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
      }
      const rising = ranges.every((bound, at) => at === 0 || bound > (ranges[at - 1] as number));
      expect(rising).toBe(true);
    }),
  );
});

test.each([
  [0, []],
  [1, [2, 3]],
  [3, [2, 5]],
  [4, [2, 5, 9, 10]],
  [99, [2, 5, 9, 12]],
])('the first %i records are those with the least numbers', (max, first) => {
  expect(firstRecords([2, 5, 9, 12], max)).toEqual(first);
});
