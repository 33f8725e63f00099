/** Work in turn: in order, a few milliseconds per round of the event loop, failures and all. */
import { expect, test } from 'vitest';

import { Turns } from '../../src/http/turns.ts';

/** Counts rounds of the event loop until it is told to stop. */
function countRounds(): { now: () => number; stop: () => void } {
  let rounds = 0;
  let timer = setImmediate(function next() {
    rounds += 1;
    timer = setImmediate(next);
  });
  return { now: () => rounds, stop: () => clearImmediate(timer) };
}

/** Works of so many milliseconds by a clock of their own; tells in which round each was done. */
async function roundsOf(durationsMs: readonly number[]): Promise<number[]> {
  let clock = 0;
  const turns = new Turns(() => clock);
  const rounds = countRounds();
  const done: number[] = [];
  const order: number[] = [];
  await Promise.all(
    durationsMs.map((milliseconds, place) =>
      turns.take(() => {
        clock += milliseconds;
        order.push(place);
        done.push(rounds.now());
      }),
    ),
  );
  rounds.stop();
  expect(order).toEqual(durationsMs.map((_, place) => place));
  return done;
}

const most = (rounds: readonly number[]): number =>
  Math.max(...rounds.map((round) => rounds.filter((other) => other === round).length));

test('what fits into a turn is done at once', async () => {
  expect(new Set(await roundsOf([1, 1, 1, 1, 1])).size).toBe(1);
});

test('the rest waits for later rounds, as much in each as fits', async () => {
  const rounds = await roundsOf(Array.from({ length: 12 }, () => 2));
  expect(most(rounds)).toBe(3);
  expect(new Set(rounds).size).toBe(4);
});

test('what is longer than a turn has a round of its own', async () => {
  const rounds = await roundsOf([20, 20, 20, 20]);
  expect(most(rounds)).toBe(1);
});

test('work that fails rejects, and those behind it are done', async () => {
  const turns = new Turns(() => 0);
  const work = [1, 2, 3].map((number) =>
    turns.take(() => {
      if (number === 2) throw new Error('two');
      return number;
    }),
  );
  await expect(work[1]).rejects.toThrow('two');
  expect(await Promise.all([work[0], work[2]])).toEqual([1, 3]);
});

test('a failure among those that wait stops none of the others', async () => {
  let clock = 0;
  const turns = new Turns(() => clock);
  const settled = await Promise.allSettled(
    [1, 2, 3, 4].map((number) =>
      turns.take(() => {
        clock += 10;
        if (number === 3) throw new Error('three');
        return number;
      }),
    ),
  );
  expect(settled.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
});

test('after a rest, work is done at once again', async () => {
  let clock = 0;
  const turns = new Turns(() => clock);
  await turns.take(() => {
    clock += 10;
  });
  await new Promise((resolve) => setImmediate(resolve));
  let isDone = false;
  const taken = turns.take(() => {
    isDone = true;
  });
  expect(isDone).toBe(true);
  await taken;
});
