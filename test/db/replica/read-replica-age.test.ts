/** A standby's age is that of the newest sample it has replayed, whatever the order of events. */
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { ReplicaAge } from '../../../src/db/replica/read-replica.ts';

const sample = (atMs: number, position: number) => ({
  atMs,
  position: BigInt(position),
  settledMicros: String(atMs),
});

test('before anything is replayed, nothing is known', () => {
  const age = new ReplicaAge(100);
  age.sampled(sample(110, 5));
  age.reached(4n, 'a');
  expect([age.replayed, age.ageMs(150)]).toEqual([null, 50]);
});

test('an idle primary makes no standby old', () => {
  const age = new ReplicaAge(0);
  for (const atMs of [10, 20, 30]) {
    age.sampled(sample(atMs, 7));
    age.reached(7n, 'a');
  }
  expect(age.ageMs(31)).toBe(1);
});

test('a standby that replays no more grows old while nobody measures', () => {
  const age = new ReplicaAge(0);
  age.sampled(sample(10, 1));
  age.reached(1n, 'a');
  expect(age.ageMs(5010)).toBe(5000);
});

test('a restarted standby must replay a sample again, and its age is not forgotten', () => {
  const age = new ReplicaAge(0);
  age.sampled(sample(10, 5));
  age.reached(5n, 'a');
  age.reached(3n, 'a');
  expect(age.replayed?.atMs).toBe(10);
  age.sampled(sample(20, 5));
  age.reached(3n, 'after the restart');
  expect([age.replayed, age.ageMs(30)]).toEqual([null, 20]);
  age.reached(5n, 'after the restart');
  expect(age.replayed?.atMs).toBe(20);
});

test('samples of a former primary are void', () => {
  const age = new ReplicaAge(0);
  age.sampled(sample(10, 1000));
  age.sampled(sample(20, 500));
  age.reached(600n, 'a');
  expect(age.replayed?.atMs).toBe(20);
  age.sampled(sample(30, 400));
  expect(age.replayed).toBeNull();
});

test('never younger than the truth, and exact while samples are kept', () => {
  const steps = fc.array(
    fc.record({
      written: fc.nat(50),
      replayed: fc.nat(60),
      waitMs: fc.integer({ min: 1, max: 9 }),
    }),
    { maxLength: 400 },
  );
  fc.assert(
    fc.property(steps, (events) => {
      const age = new ReplicaAge(0);
      const samples = [];
      let [nowMs, written, replayed] = [0, 0, 0];
      for (const event of events) {
        nowMs += event.waitMs;
        written += event.written;
        const taken = sample(nowMs, written);
        samples.push(taken);
        age.sampled(taken);
        replayed = Math.min(written, replayed + event.replayed);
        age.reached(BigInt(replayed), 'a');
        const newest = samples.filter(({ position }) => position <= BigInt(replayed)).at(-1);
        const known = age.replayed?.atMs ?? 0;
        expect(known).toBeLessThanOrEqual(newest?.atMs ?? 0);
        if (events.length <= 128) expect(known).toBe(newest?.atMs ?? 0);
      }
    }),
  );
});
