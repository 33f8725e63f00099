/**
 * Counts per name and minute, in this process and in a real Redis: shared counts, and what happens
 * when Redis stops, hangs and comes back. Needs a redis-server on the PATH; says so when there is
 * none.
 */
import { randomUUID } from 'node:crypto';
import { connect, createServer } from 'node:net';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createMinuteCounts, type MinuteCounts } from '../../../src/http/limits/minute-counts.ts';
import { canStartRedis } from '../../support/programs.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';
import { quickAttempt, waitFor } from '../../support/wait-for.ts';

let open: MinuteCounts[];
let faults: unknown[];
/** in order */
let reports: string[];
let countedHere: number;

beforeEach(() => {
  open = [];
  faults = [];
  reports = [];
  countedHere = 0;
});
afterEach(async () => {
  for (const counts of open) await counts.close();
});

function create(redisUrl: string | null = null): MinuteCounts {
  const counts = createMinuteCounts(redisUrl, {
    limiterUnavailable: (error) => {
      faults.push(error);
      reports.push('unavailable');
    },
    limiterAnswered: () => void reports.push('answered'),
    countedHere: () => {
      countedHere += 1;
    },
  });
  open.push(counts);
  return counts;
}

/** Which of so many requests, one after another, are admitted. */
async function admitted(
  counts: MinuteCounts,
  name: string,
  limit: number,
  requests: number,
): Promise<boolean[]> {
  const decisions: boolean[] = [];
  for (let request = 0; request < requests; request += 1) {
    decisions.push((await counts.consume(name, limit)).admitted);
  }
  return decisions;
}

/** How many of so many requests, all at once, are admitted. */
async function burst(
  counts: MinuteCounts,
  name: string,
  limit: number,
  requests: number,
): Promise<number> {
  const all = Array.from({ length: requests }, () => counts.consume(name, limit));
  return (await Promise.all(all)).filter(({ admitted: yes }) => yes).length;
}

async function retryAfter(counts: MinuteCounts, name: string, limit: number): Promise<number> {
  const decision = await counts.consume(name, limit);
  if (decision.admitted) throw new Error('it was admitted');
  return decision.retryAfterSeconds;
}

describe('in this process', () => {
  test('as many as the limit, then refused with the time to wait', async () => {
    const counts = create();
    expect(await admitted(counts, 'a', 3, 3)).toEqual([true, true, true]);
    const seconds = await retryAfter(counts, 'a', 3);
    expect(Number.isInteger(seconds)).toBe(true);
    expect(seconds).toBeGreaterThan(50);
    expect(seconds).toBeLessThanOrEqual(60);
    expect({ reports, countedHere }).toEqual({ reports: [], countedHere: 0 });
  });

  test('names are counted apart, each under its limit', async () => {
    const counts = create();
    expect(await admitted(counts, 'a', 1, 2)).toEqual([true, false]);
    expect(await admitted(counts, 'b', 1, 2)).toEqual([true, false]);
    expect(await admitted(counts, 'c', 2, 3)).toEqual([true, true, false]);
  });

  test('a minute after the first request the count starts again', async () => {
    vi.useFakeTimers();
    try {
      const counts = create();
      expect(await admitted(counts, 'a', 1, 2)).toEqual([true, false]);
      // Half a second is left: whole seconds, rounded up.
      vi.advanceTimersByTime(59_500);
      expect(await retryAfter(counts, 'a', 1)).toBe(1);
      vi.advanceTimersByTime(500);
      expect(await admitted(counts, 'a', 1, 2)).toEqual([true, false]);
      vi.advanceTimersByTime(18_500);
      expect(await retryAfter(counts, 'a', 1)).toBe(42);
    } finally {
      vi.useRealTimers();
    }
  });

  test('there is no Redis to probe', () => {
    expect(create().ping).toBeNull();
  });
});

describe('a Redis that was never there', () => {
  test('requests are counted here, and the fault is reported once', async () => {
    const counts = create('redis://127.0.0.1:1');
    expect(await admitted(counts, 'a', 2, 3)).toEqual([true, true, false]);
    expect({ reports, countedHere }).toEqual({ reports: ['unavailable'], countedHere: 3 });
    await expect(counts.ping?.()).rejects.toThrow();
  });
});

// ── A real Redis ─────────────────────────────────────────────────────────────────────────────

/** A process counts on its own until it is connected. */
async function connected(...all: MinuteCounts[]): Promise<void> {
  for (const counts of all) {
    await vi.waitFor(() => counts.ping?.(), { timeout: 20_000, interval: 20 });
  }
}

/** A proxy of Redis that delays its answers by this much. */
async function delayAnswers(url: string, delayMs: number) {
  const { hostname, port } = new URL(url);
  const relay = createServer((near) => {
    const far = connect(Number(port), hostname);
    near.pipe(far);
    far.on('data', (answer) => setTimeout(() => near.write(answer), delayMs));
    near.once('close', () => far.destroy());
    for (const socket of [near, far]) socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  const address = relay.address();
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return { url: `redis://127.0.0.1:${address.port}`, close: () => void relay.close() };
}

describe.runIf(canStartRedis)('in Redis', () => {
  let redis: TestRedis;

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.kill());

  test('two processes share one count', async () => {
    const [here, there] = [create(redis.url), create(redis.url)];
    await connected(here, there);
    expect(await admitted(here, 'shared', 4, 2)).toEqual([true, true]);
    expect(await admitted(there, 'shared', 4, 3)).toEqual([true, true, false]);
    const seconds = await retryAfter(here, 'shared', 4);
    expect(Number.isInteger(seconds)).toBe(true);
    expect(seconds).toBeGreaterThan(50);
    expect(seconds).toBeLessThanOrEqual(60);
    expect({ reports, countedHere }).toEqual({ reports: ['answered', 'answered'], countedHere: 0 });
  });

  test('a burst from both sides is admitted once', async () => {
    const [here, there] = [create(redis.url), create(redis.url)];
    await connected(here, there);
    const decisions = await Promise.all(
      Array.from({ length: 200 }, (_, at) => (at % 2 === 0 ? here : there).consume('burst', 50)),
    );
    expect(decisions.filter(({ admitted: yes }) => yes)).toHaveLength(50);
    expect(faults).toEqual([]);
  });

  test('a large limit: what was admitted without waiting is counted all the same', async () => {
    const [here, there] = [create(redis.url), create(redis.url)];
    await connected(here, there);
    expect(await admitted(here, 'large', 20_000, 400)).not.toContain(false);
    await here.close();
    const eyes = new Redis(redis.url);
    expect(await eyes.get('sluice:large')).toBe('400');
    eyes.disconnect();
    // 19,600 are left to the other process, and then none.
    expect(await burst(there, 'large', 20_000, 19_700)).toBe(19_600);
    expect(faults).toEqual([]);
  });

  test('a burst in one turn, right after an answer: exactly the limit, with either process', async () => {
    const [here, there] = [create(redis.url), create(redis.url)];
    await connected(here, there);
    expect(await admitted(here, 'one turn', 1000, 1)).toEqual([true]);
    expect(await admitted(there, 'one turn', 1000, 1)).toEqual([true]);
    const both = [burst(here, 'one turn', 1000, 1000), burst(there, 'one turn', 1000, 1000)];
    expect((await Promise.all(both)).reduce((sum, one) => sum + one)).toBe(998);
    expect(faults).toEqual([]);
  });

  test('a large limit: a hundredth of it at most is admitted before it is counted', async () => {
    const [here, there] = [create(redis.url), create(redis.url)];
    await connected(here, there);
    let name = '';
    /** Of one side alone: meanwhile Redis answers the other. */
    const flood = async (counts: MinuteCounts) => {
      await counts.consume(name, 20_000);
      let atOnce = 0;
      const decisions = Array.from({ length: 20_000 }, async () => {
        const { admitted: yes } = await counts.consume(name, 20_000);
        if (yes) atOnce += 1;
        return yes;
      });
      // A request admitted without an answer of Redis is admitted before any answer arrives.
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
      return { atOnce, decisions };
    };
    // An attempt in which Redis did not answer in time, so that a side counted by itself, shows nothing.
    const floods = await quickAttempt(
      Number.POSITIVE_INFINITY,
      async () => {
        countedHere = 0;
        name = `hundredth ${randomUUID()}`;
        const both = [await flood(here), await flood(there)];
        const admittedOf = async ({ atOnce, decisions }: (typeof both)[number]) => ({
          atOnce,
          admitted: (await Promise.all(decisions)).filter((yes) => yes).length,
        });
        return await Promise.all(both.map(admittedOf));
      },
      () => countedHere === 0,
    );
    for (const { atOnce } of floods) expect(atOnce).toBeLessThanOrEqual(200);
    const all = floods.reduce((sum, { admitted: count }) => sum + count, 0);
    expect(all).toBeGreaterThanOrEqual(19_998);
    expect(all).toBeLessThanOrEqual(20_000 + 2 * 200);
  });

  /** Requests before, age of the last count, uncounted ones, limit; whether one more waits for its count. */
  const EAGER: readonly [number, number, number, number, boolean][] = [
    [1, 0, 0, 9_999, true],
    [1, 0, 0, 10_000, false],
    [4_999, 0, 0, 10_000, false],
    [5_000, 0, 0, 10_000, true],
    [4_990, 0, 9, 10_000, false],
    [4_990, 0, 10, 10_000, true],
    [1, 0, 99, 10_000, false],
    [1, 0, 100, 10_000, true],
    [1, 39, 0, 10_000, false],
    [1, 40, 0, 10_000, true],
  ];
  test.each(EAGER)(
    '%d counted, %d ms ago, and %d not yet, of %d: one more waits: %s',
    async (counted, ageMs, uncounted, limit, waits) => {
      const eyes = new Redis(redis.url);
      const counts = create(redis.url);
      await connected(counts);
      const decidesAtOnce = async (): Promise<boolean> => {
        countedHere = 0;
        const name = `eager ${randomUUID()}`;
        if (counted > 1) await eyes.set(`sluice:${name}`, counted - 1, 'PX', 60_000);
        await counts.consume(name, limit);
        vi.advanceTimersByTime(ageMs);
        const before = Array.from({ length: uncounted }, () => counts.consume(name, limit));
        let isDecided = false;
        const decision = counts.consume(name, limit).then(() => {
          isDecided = true;
        });
        // Nothing of Redis arrives before a turn of the event loop.
        for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
        const atOnce = isDecided;
        await Promise.all([...before, decision]);
        return atOnce;
      };
      vi.useFakeTimers({ toFake: ['performance'] });
      try {
        // An attempt in which Redis did not answer in time, so that it was counted here, shows nothing.
        const isUsable = () => countedHere === 0;
        const atOnce = await quickAttempt(Number.POSITIVE_INFINITY, decidesAtOnce, isUsable);
        expect(atOnce).toBe(!waits);
      } finally {
        vi.useRealTimers();
        eyes.disconnect();
      }
    },
  );

  test('what is used up is refused no longer than Redis keeps it, however late it says so', async () => {
    const eyes = new Redis(redis.url);
    const relay = await delayAnswers(redis.url, 150);
    const counts = create(relay.url);
    await connected(counts);
    const windowMs = 1000;
    let name = 0;
    // An attempt that lasts as long as the window shows nothing.
    const first = await quickAttempt(windowMs - 200, async () => {
      name += 1;
      await eyes.set(`sluice:late ${name}`, 5, 'PX', windowMs);
      return await admitted(counts, `late ${name}`, 1, 1);
    });
    expect(first).toEqual([false]);
    await waitFor(async () => (await eyes.exists(`sluice:late ${name}`)) === 0, {
      withinMs: 20_000,
      what: 'the window to end in Redis',
    });
    expect(await admitted(counts, `late ${name}`, 1, 1)).toEqual([true]);
    expect(faults).toEqual([]);
    eyes.disconnect();
    await counts.close();
    relay.close();
  });

  test('a burst from both sides on a large limit is admitted once', async () => {
    const [here, there] = [create(redis.url), create(redis.url)];
    await connected(here, there);
    const sender = (counts: MinuteCounts) => admitted(counts, 'large burst', 1000, 250);
    const senders = Array.from({ length: 8 }, (_, at) => sender(at % 2 === 0 ? here : there));
    const decisions = (await Promise.all(senders)).flat();
    expect(decisions.filter((yes) => yes)).toHaveLength(1000);
    expect(decisions).toHaveLength(2000);
  });

  test('a name whose limit is raised in the middle of a window keeps its count', async () => {
    const counts = create(redis.url);
    await connected(counts);
    expect(await admitted(counts, 'raised', 1, 3)).toEqual([true, false, false]);
    // Two were counted; the third was refused from memory and was not.
    expect(await admitted(counts, 'raised', 4, 3)).toEqual([true, true, false]);
  });
});

describe.runIf(canStartRedis)('a Redis that fails', () => {
  let redis: TestRedis;

  beforeEach(async () => {
    redis = await startRedis();
  });
  afterEach(async () => {
    redis.thaw();
    await redis.kill();
  });

  test('killed: the window continues here from the last count of Redis', async () => {
    const counts = create(redis.url);
    await connected(counts);
    expect(await admitted(counts, 'a', 5, 2)).toEqual([true, true]);
    expect(await admitted(counts, 'full', 1, 2)).toEqual([true, false]);
    await redis.kill();
    expect(await admitted(counts, 'a', 5, 4)).toEqual([true, true, true, false]);
    expect(await admitted(counts, 'full', 1, 2)).toEqual([false, false]);
    expect(await admitted(counts, 'new', 2, 3)).toEqual([true, true, false]);
    expect(await retryAfter(counts, 'a', 5)).toBeLessThanOrEqual(60);
    expect(reports).toEqual(['answered', 'unavailable']);
    await expect(counts.ping?.()).rejects.toThrow();
  });

  test('killed: what another process counted is not known, so each admits up to the limit', async () => {
    const [here, there] = [create(redis.url), create(redis.url)];
    await connected(here, there);
    expect(await admitted(here, 'a', 4, 1)).toEqual([true]);
    expect(await admitted(there, 'a', 4, 1)).toEqual([true]);
    await redis.kill();
    // Redis answered 1 to the first, 2 to the other.
    expect(await admitted(here, 'a', 4, 4)).toEqual([true, true, true, false]);
    expect(await admitted(there, 'a', 4, 3)).toEqual([true, true, false]);
  });

  test('back, and empty: it counts from nothing, and what was counted here is not added', async () => {
    const counts = create(redis.url);
    await connected(counts);
    expect(await admitted(counts, 'a', 3, 1)).toEqual([true]);
    await redis.kill();
    expect(await admitted(counts, 'a', 3, 2)).toEqual([true, true]);
    await redis.restart();
    await waitFor(() => reports.length === 3, {
      withinMs: 20_000,
      what: 'Redis to be found again',
    });
    expect(reports).toEqual(['answered', 'unavailable', 'answered']);
    const before = countedHere;
    expect(await admitted(counts, 'a', 3, 4)).toEqual([true, true, true, false]);
    expect(countedHere).toBe(before);
  });

  test('hanging with requests under way that nobody waits for: they are counted here', async () => {
    const counts = create(redis.url);
    await connected(counts);
    expect(await admitted(counts, 'large', 10_000, 1)).toEqual([true]);
    redis.freeze();
    expect(await admitted(counts, 'large', 10_000, 99)).not.toContain(false);
    await waitFor(() => countedHere === 99, { withinMs: 20_000, what: '99 to be counted here' });
    const rest = await admitted(counts, 'large', 10_000, 10_000);
    expect(rest.indexOf(false)).toBe(9900);
    expect(rest.filter((yes) => yes)).toHaveLength(9900);
  });

  test('hanging: decided in bounded time, the first requests aside without waiting', async () => {
    const counts = create(redis.url);
    await connected(counts);
    redis.freeze();
    const first = Array.from({ length: 20 }, () => counts.consume('a', 20));
    expect((await Promise.all(first)).every(({ admitted: yes }) => yes)).toBe(true);
    expect(await admitted(counts, 'a', 20, 2)).toEqual([false, false]);
    expect(reports).toEqual(['answered', 'unavailable']);
    // By the time limit of a command, not when the silent connection is closed.
    expect(faults).toMatchObject([{ message: 'Command timed out' }]);
    await expect(counts.ping?.()).rejects.toThrow();
    redis.thaw();
    await waitFor(
      async () => {
        await counts.consume('b', 1000);
        return reports.length === 3;
      },
      { withinMs: 20_000, what: 'Redis to be found again' },
    );
    const before = countedHere;
    expect(await admitted(counts, 'c', 1, 2)).toEqual([true, false]);
    expect(countedHere).toBe(before);
  });
});
