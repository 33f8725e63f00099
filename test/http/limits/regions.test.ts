/**
 * Three regions that count in one real Redis, each 40 ms away from it in either direction: together they
 * never admit more than a limit, hardly less, and a request that is far from it does not wait.
 */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createMinuteCounts, type MinuteCounts } from '../../../src/http/limits/minute-counts.ts';
import { canStartRedis, mustRunAll } from '../../support/programs.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';
import { quickAttempt, waitFor } from '../../support/wait-for.ts';

const REGIONS = 3;
const ONE_WAY_MS = 40;
const WITHIN_MS = 60_000;
const WINDOW_MS = 60_000;

/** A TCP proxy that delays every byte, and can be cut. */
async function openFarProxy(url: string) {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true);
      from.on('error', () => {});
      from.on('close', () => to.destroy());
      from.on('data', (chunk) => {
        if (!isCut) setTimeout(() => to.write(chunk), ONE_WAY_MS);
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `redis://127.0.0.1:${address.port}`,
    cut: () => {
      isCut = true;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

type Proxy = Awaited<ReturnType<typeof openFarProxy>>;

describe.skipIf(!canStartRedis && !mustRunAll)('three regions', () => {
  let redis: TestRedis;
  const proxies: Proxy[] = [];
  const regions: MinuteCounts[] = [];
  /** requests of each region that were counted without Redis */
  const alone: number[] = [];
  beforeAll(async () => {
    redis = await startRedis();
    await open();
  });
  afterAll(async () => {
    for (const region of regions) await region.close();
    for (const proxy of proxies) proxy.close();
    await redis?.kill();
  });

  /** Opens the regions, which learn that Redis is far away. */
  async function open(): Promise<void> {
    const ready: string[] = [];
    for (let region = 0; region < REGIONS; region += 1) {
      const proxy = await openFarProxy(redis.url);
      proxies.push(proxy);
      const counts = createMinuteCounts(proxy.url, {
        limiterUnavailable: () => {},
        limiterAnswered: () => void ready.push('answered'),
        countedHere: () => {
          alone[region] = (alone[region] ?? 0) + 1;
        },
      });
      regions.push(counts);
      alone.push(0);
    }
    await waitFor(() => ready.length >= REGIONS, { withinMs: WITHIN_MS, what: 'Redis answers' });
    const learn = async (region: MinuteCounts, at: number): Promise<void> => {
      for (let name = 0; name < 20; name += 1) await region.consume(`far:${at}:${name}`, 10);
    };
    await Promise.all(regions.map(learn));
  }

  /** So many requests to each region, as many at a time; the number that is admitted. */
  async function send(name: string, limit: number, each: number, atOnce: number): Promise<number> {
    let admitted = 0;
    const sender = async (region: MinuteCounts, count: number): Promise<void> => {
      for (let request = 0; request < count; request += 1) {
        if ((await region.consume(name, limit)).admitted) admitted += 1;
      }
    };
    const senders = regions.flatMap((region) =>
      Array.from({ length: atOnce }, () => sender(region, each / atOnce)),
    );
    await Promise.all(senders);
    return admitted;
  }

  let names = 0;
  /** Waits until Redis answers the last `count` regions: for a second after a late answer they count alone. */
  async function redisAnswers(count: number): Promise<void> {
    for (let at = REGIONS - count; at < REGIONS; at += 1) {
      const isAnswered = async (): Promise<boolean> => {
        const before = alone[at];
        names += 1;
        await regions[at]?.consume(`name:${names}`, 10);
        return alone[at] === before;
      };
      await waitFor(isAnswered, { withinMs: WITHIN_MS, what: 'Redis answers in time' });
    }
  }

  /** Attempts with a name each, until Redis answered the last `count` regions in time. */
  const shared = async (
    count: number,
    attempt: (name: string) => Promise<number>,
  ): Promise<number> => {
    const soFar = (): number => alone.slice(-count).reduce((sum, one) => sum + one, 0);
    const { result } = await quickAttempt(
      WINDOW_MS,
      async () => {
        await redisAnswers(count);
        const before = soFar();
        names += 1;
        const result = await attempt(`name:${names}`);
        return { result, isShared: soFar() === before };
      },
      ({ isShared }) => isShared,
    );
    return result;
  };

  test.each([
    [100, 1, 60],
    [1000, 16, 640],
    [1000, 320, 640],
    [20_000, 64, 12_800],
  ])('a limit of %i is never exceeded, %i requests at a time', async (limit, atOnce, each) => {
    const admitted = await shared(REGIONS, (name) => send(name, limit, each, atOnce));
    expect(admitted).toBeLessThanOrEqual(limit);
    expect(admitted).toBeGreaterThanOrEqual(limit - REGIONS * Math.ceil(limit * 0.01));
  });

  test('a steady sender hardly ever waits for the round trip', async () => {
    const [region] = regions;
    if (region === undefined) throw new Error('no region');
    let waited = 0;
    for (let request = 0; request < 60; request += 1) {
      const decision = region.consume('steady', 1000);
      // Without a round trip it is made before the next turn of the event loop.
      const first = await Promise.race([decision, nextTurn()]);
      if (first === undefined) waited += 1;
      expect((await decision).admitted).toBe(true);
    }
    expect(waited).toBeLessThan(30);
  });

  test('a region that is cut off counts alone, to the end of what it knows', async () => {
    const [cut, ...others] = regions;
    const used: string[] = [];
    const first = async (name: string): Promise<number> => {
      used.push(name);
      return await send(name, 100, 20, 1);
    };
    expect(await shared(REGIONS, first)).toBe(60);
    const name = used.at(-1) ?? '';
    proxies[0]?.cut();
    let admittedAlone = 0;
    for (let request = 0; request < 200; request += 1) {
      if ((await cut?.consume(name, 100))?.admitted === true) admittedAlone += 1;
    }
    expect(admittedAlone).toBeLessThanOrEqual(100);
    expect(admittedAlone).toBeGreaterThan(0);
    // The others share as before.
    const together = await shared(others.length, async (other) => {
      let admitted = 0;
      for (const region of others) {
        for (let request = 0; request < 60; request += 1) {
          if ((await region.consume(other, 100)).admitted) admitted += 1;
        }
      }
      return admitted;
    });
    expect(together).toBeLessThanOrEqual(100);
    expect(together).toBeGreaterThanOrEqual(100 - REGIONS);
  });
});
