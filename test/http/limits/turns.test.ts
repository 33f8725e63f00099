/** Work in turn: in order, a few milliseconds per round of the event loop, failures and all. */
import { expect, test } from 'vitest';

import { SMALL_BODY_BYTES_MAX, TURN_MS, Turns } from '../../../src/http/limits/turns.ts';

/** Three pieces of this length fit into a turn: the third begins within it. */
const PIECE_MS = 0.4 * TURN_MS;

/** Counts rounds of the event loop until stopped. */
function countRounds(): { now: () => number; stop: () => void } {
  let rounds = 0;
  let timer = setImmediate(function next() {
    rounds += 1;
    timer = setImmediate(next);
  });
  return { now: () => rounds, stop: () => clearImmediate(timer) };
}

/** Works of so many milliseconds by a clock of their own; returns in which round each was done. */
async function roundsOf(durationsMs: readonly number[]): Promise<number[]> {
  let clock = 0;
  const turns = new Turns(() => clock);
  const rounds = countRounds();
  const done: number[] = [];
  const order: number[] = [];
  await Promise.all(
    durationsMs.map((milliseconds, place) =>
      turns.take(1, () => {
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
  expect(new Set(await roundsOf(Array.from({ length: 5 }, () => TURN_MS / 5))).size).toBe(1);
});

test('the rest waits for later rounds, as much in each as fits', async () => {
  const rounds = await roundsOf(Array.from({ length: 12 }, () => PIECE_MS));
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
    turns.take(1, () => {
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
      turns.take(1, () => {
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
  await turns.take(1, () => {
    clock += 10;
  });
  await new Promise((resolve) => setImmediate(resolve));
  let isDone = false;
  const taken = turns.take(1, () => {
    isDone = true;
  });
  expect(isDone).toBe(true);
  await taken;
});

const LARGE = SMALL_BODY_BYTES_MAX + 1;

/** So many pieces of so many milliseconds each; notes who works when. */
function* pieces(
  name: string,
  count: number,
  work: (name: string) => void,
): Generator<void, string> {
  for (let piece = 1; piece <= count; piece += 1) {
    work(name);
    if (piece < count) yield;
  }
  return name;
}

test('work in pieces lets the sockets be looked at in between, and nobody else begin', async () => {
  let clock = 0;
  const turns = new Turns(() => clock);
  const rounds = countRounds();
  const order: string[] = [];
  const worked: number[] = [];
  const work = (name: string): void => {
    clock += PIECE_MS;
    order.push(name);
    worked.push(rounds.now());
  };
  const done = await Promise.all([
    turns.takeInPieces(1, pieces('a', 9, work), LARGE),
    turns.takeInPieces(1, pieces('b', 1, work), LARGE),
    turns.takeInPieces(1, pieces('c', 4, work), LARGE),
  ]);
  rounds.stop();
  expect(done).toEqual(['a', 'b', 'c']);
  expect(order.join('')).toBe('aaaaaaaaabcccc');
  expect(most(worked)).toBe(3);
  expect(new Set(worked).size).toBe(5);
});

test('what comes while work in pieces waits for its next round comes behind it', async () => {
  let clock = 0;
  const turns = new Turns(() => clock);
  const order: string[] = [];
  const work = (name: string): void => {
    clock += 10;
    order.push(name);
  };
  const first = turns.takeInPieces(1, pieces('a', 5, work), LARGE);
  await new Promise((resolve) => setImmediate(resolve));
  expect(order.length).toBeLessThan(5);
  await Promise.all([first, turns.takeInPieces(1, pieces('b', 1, work), LARGE)]);
  expect(order.join('')).toBe('aaaaab');
});

test('a piece that fails rejects, and those behind it are done', async () => {
  let clock = 0;
  const turns = new Turns(() => clock);
  const failing = (function* () {
    clock += 10;
    yield;
    throw new Error('second piece');
  })();
  const failed = turns.takeInPieces(1, failing, LARGE);
  const behind = turns.takeInPieces(
    1,
    pieces('b', 1, () => {}),
    LARGE,
  );
  const settled = Promise.allSettled([failed, behind]);
  expect(await settled).toMatchObject([
    { status: 'rejected', reason: new Error('second piece') },
    { status: 'fulfilled', value: 'b' },
  ]);
});

test('workspaces take turns, body by body, in whatever order they came', async () => {
  let clock = 0;
  const turns = new Turns(() => clock);
  const order: string[] = [];
  const work = (name: string): void => {
    clock += 10;
    order.push(name);
  };
  const flood = ['a', 'b', 'c', 'd'].map((name) =>
    turns.takeInPieces(1, pieces(name, 3, work), LARGE),
  );
  const quiet = [
    turns.takeInPieces(2, pieces('q', 2, work), LARGE),
    turns.takeInPieces(3, pieces('r', 1, work), LARGE),
    turns.takeInPieces(2, pieces('s', 1, work), LARGE),
  ];
  await Promise.all([...flood, ...quiet]);
  expect(order.join('')).toBe('aaaqqrbbbsccc' + 'ddd');
});

test('a small body does not wait for the end of a large one, and both get half of the time', async () => {
  let clock = 0;
  const turns = new Turns(() => clock);
  const order: string[] = [];
  const work = (name: string): void => {
    clock += name === 'L' ? 4 : 1;
    order.push(name);
  };
  const large = turns.takeInPieces(1, pieces('L', 4, work), LARGE);
  const small = ['a', 'b', 'c'].map((name) =>
    turns.takeInPieces(1, pieces(name, 2, work), SMALL_BODY_BYTES_MAX),
  );
  await Promise.all([large, ...small]);
  expect(order.join('')).toBe('LaLabbcLcL');
});

test('a line that had no work gets no more than half of the time afterwards', async () => {
  let clock = 0;
  const turns = new Turns(() => clock);
  const order: string[] = [];
  const work = (name: string): void => {
    clock += 1;
    order.push(name);
  };
  await turns.takeInPieces(1, pieces('L', 9, work), LARGE);
  order.length = 0;
  await Promise.all([
    // A turn for the first two pieces, before the large body is there.
    turns.takeInPieces(1, pieces('a', 4, work), SMALL_BODY_BYTES_MAX),
    turns.takeInPieces(1, pieces('L', 4, work), LARGE),
  ]);
  expect(order.join('')).toBe('aaaLaLLL');
});
