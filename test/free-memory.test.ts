import { describe, expect, test } from 'vitest';
import { FreeMemory } from '../src/free-memory.ts';

describe('memory that is kept', () => {
  test('is of the size that is taken', () => {
    const free = new FreeMemory<string>(100);
    expect(free.take(10)).toBeUndefined();
    free.keep(10, 'ten');
    expect(free.bytes).toBe(10);
    expect(free.take(20)).toBeUndefined();
    expect(free.take(10)).toBe('ten');
    expect(free.take(10)).toBeUndefined();
    expect(free.bytes).toBe(0);
  });

  test('is none of a size that was never taken', () => {
    const free = new FreeMemory<string>(100);
    free.keep(10, 'ten');
    expect(free.bytes).toBe(0);
  });

  test('is no more than the limit: the sizes that were not taken for the longest time give way', () => {
    const free = new FreeMemory<string>(100);
    for (const size of [40, 30, 20]) {
      free.take(size);
      free.keep(size, `${size}`);
    }
    free.take(60);
    free.keep(60, '60');
    expect(free.bytes).toBe(80);
    expect([60, 40, 30, 20].map((size) => free.take(size))).toEqual([
      '60',
      undefined,
      undefined,
      '20',
    ]);
  });

  test('does not give way to its own size', () => {
    const free = new FreeMemory<number>(100);
    free.take(40);
    for (let piece = 0; piece < 5; piece += 1) free.keep(40, piece);
    expect(free.bytes).toBe(80);
    expect([free.take(40), free.take(40), free.take(40)]).toEqual([1, 0, undefined]);
  });
});
