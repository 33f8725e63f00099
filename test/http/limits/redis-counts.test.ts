/** Counts over sentinels: the master is found, and after its death the one that replaced it. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, test } from 'vitest';

import { createRedisCounts, type RedisCounts } from '../../../src/http/limits/redis-counts.ts';
import { canStartRedis } from '../../support/programs.ts';
import { endRedis, startRedis, startSentinel } from '../../support/redis.ts';
import { waitFor } from '../../support/wait-for.ts';

const HAPPENS_WITHIN_MS = 60_000;

afterAll(() => endRedis());

/** Resolves with the first count that Redis answers. */
const counted = async (counts: RedisCounts): Promise<number> => {
  const answer = await waitFor(() => counts.add('rate:1', true), {
    withinMs: HAPPENS_WITHIN_MS,
    what: 'Redis counts',
  });
  return answer.count;
};

const lossNoticed = (counts: RedisCounts) =>
  waitFor(async () => (await counts.add('rate:1', true)) === null, {
    withinMs: HAPPENS_WITHIN_MS,
    what: 'the loss is noticed',
  });

/** A proxy before a sentinel; while it holds, new connections get no answer and older ones keep working. */
async function openHoldingProxy(port: number) {
  let isHolding = false;
  let held = 0;
  const server = createServer((client) => {
    client.on('error', () => {});
    if (isHolding) {
      held += 1;
      return;
    }
    const upstream = connect(port, '127.0.0.1');
    upstream.on('error', () => {});
    client.pipe(upstream).pipe(client);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    hold: (hold: boolean) => {
      isHolding = hold;
    },
    held: () => held,
    close: () => server.close(),
  };
}

describe.skipIf(!canStartRedis)('over sentinels', { concurrent: true }, () => {
  test('sentinels lead to the master, and to the next one', async () => {
    const master = await startRedis();
    await startRedis(master.url);
    const url = await startSentinel(master.url);
    const counts = createRedisCounts(url, { limiterUnavailable() {}, limiterAnswered() {} });
    const first = await counted(counts);
    expect(await counted(counts)).toBe(first + 1);
    await master.kill();
    await lossNoticed(counts);
    // The replica may not have had the counts of its master yet.
    expect(await counted(counts)).toBeGreaterThan(0);
    await counts.close();
  });

  test('a failover while it asks for the master does not end it', async () => {
    const master = await startRedis();
    await startRedis(master.url);
    const sentinelUrl = new URL(await startSentinel(master.url));
    const sentinel = new Redis({ host: '127.0.0.1', port: Number(sentinelUrl.port) });
    const proxy = await openHoldingProxy(Number(sentinelUrl.port));
    sentinelUrl.port = String(proxy.port);
    const counts = createRedisCounts(sentinelUrl.href, {
      limiterUnavailable() {},
      limiterAnswered() {},
    });
    await counted(counts);

    proxy.hold(true);
    await master.kill();
    await waitFor(() => proxy.held() > 0, {
      withinMs: HAPPENS_WITHIN_MS,
      what: 'it asks for the master',
    });
    await waitFor(
      async () => {
        const address = await sentinel.call('SENTINEL', 'get-master-addr-by-name', 'limits');
        return (address as string[])[1] !== new URL(master.url).port;
      },
      { withinMs: HAPPENS_WITHIN_MS, what: 'the sentinel replaced the master' },
    );
    proxy.hold(false);
    expect(await counted(counts)).toBeGreaterThan(0);
    await counts.close();
    sentinel.disconnect();
    proxy.close();
  });
});
