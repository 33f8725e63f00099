/** Items taken from owners in turn: which are in the next batch, in which order, and how many. */
import { describe, expect, test } from 'vitest';
import { FairQueue, type Portion } from '../../../src/db/telemetry/fair-queue.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const BATCH: Portion = { bytesMax: 8 * MIB, hasLarge: true };

/** A queue of items named after their owner and position. */
function queueOf(...owners: (readonly [owner: number, count: number, bytes: number])[]) {
  const queue = new FairQueue<string>();
  for (const [owner, count, bytes] of owners) {
    for (let place = 0; place < count; place += 1) queue.add(owner, bytes, `${owner}.${place}`);
  }
  return queue;
}

const ownedBy = (batch: readonly string[], owner: number): number =>
  batch.filter((name) => name.startsWith(`${owner}.`)).length;

test('one owner has everything, in order, up to the size of a batch', () => {
  const queue = queueOf([1, 20, MIB]);
  expect(queue.take(BATCH)).toEqual(Array.from({ length: 8 }, (_, place) => `1.${place}`));
  expect(queue.take(BATCH)[0]).toBe('1.8');
  expect(queue.take(BATCH)).toHaveLength(4);
  expect([queue.size, queue.owners, queue.take(BATCH)]).toEqual([0, 0, []]);
});

test('an owner with little is in the next batch, however much another has', () => {
  const queue = queueOf([1, 1000, 100 * KIB], [2, 2, KIB]);
  const batch = queue.take(BATCH);
  expect(ownedBy(batch, 2)).toBe(2);
  expect(batch.length).toBeGreaterThan(75);
});

test('owners with much have equal parts, whatever the size of their items', () => {
  const queue = queueOf([1, 4000, 10 * KIB], [2, 400, 100 * KIB], [3, 40, MIB]);
  const taken = Array.from({ length: 9 }, () => queue.take(BATCH)).flat();
  const parts = [10 * KIB, 100 * KIB, MIB].map((bytes, at) => ownedBy(taken, at + 1) * bytes);
  for (const part of parts) expect(Math.abs(part - 24 * MIB)).toBeLessThan(4 * MIB);
});

describe('an item larger than a batch', () => {
  test('is taken alone, and its owner then waits for as long as others take as much', () => {
    const queue = queueOf([1, 3, 20 * MIB], [2, 1000, 100 * KIB]);
    const batches = Array.from({ length: 8 }, () => queue.take(BATCH));
    const large = batches.flatMap((batch, at) => (ownedBy(batch, 1) > 0 ? [at] : []));
    expect(batches[large[0] ?? 0]).toEqual(['1.0']);
    expect((large[1] ?? 0) - (large[0] ?? 0)).toBeGreaterThan(2);
    expect(large.length).toBeGreaterThan(1);
  });

  test('is left where it is when the portion has none', () => {
    const queue = queueOf([1, 1, 2 * MIB], [2, 1, KIB]);
    const short = { bytesMax: MIB, hasLarge: false };
    expect(queue.take(short)).toEqual(['2.0']);
    expect(queue.take(short)).toEqual([]);
    expect(queue.take(BATCH)).toEqual(['1.0']);
  });
});

test('owners that are left out keep what they have', () => {
  const queue = queueOf([1, 2, KIB], [2, 2, KIB]);
  expect(queue.take({ ...BATCH, isLeftOut: (owner) => owner === 1 })).toEqual(['2.0', '2.1']);
  expect([queue.size, queue.owners]).toEqual([2, 1]);
  expect(queue.take(BATCH)).toEqual(['1.0', '1.1']);
});
