/** Counts over sentinels: the master is found, and after its death the one that replaced it. */
import { afterAll, expect, test } from 'vitest';

import { createRedisCounts } from '../../../src/http/limits/redis-counts.ts';
import { canStartRedis } from '../../support/programs.ts';
import { endRedis, startRedis, startSentinel } from '../../support/redis.ts';
import { waitFor } from '../../support/wait-for.ts';

const HAPPENS_WITHIN_MS = 60_000;

afterAll(() => endRedis());

test.skipIf(!canStartRedis)('sentinels lead to the master, and to the next one', async () => {
  const master = await startRedis();
  await startRedis(master.url);
  const url = await startSentinel(master.url);
  const counts = createRedisCounts(url, { limiterUnavailable() {}, limiterAnswered() {} });
  const counted = () =>
    waitFor(async () => (await counts.add('rate:1', true))?.count, {
      withinMs: HAPPENS_WITHIN_MS,
      what: 'Redis counts',
    });
  const first = await counted();
  expect(await counted()).toBe(first + 1);
  await master.kill();
  await waitFor(async () => (await counts.add('rate:1', true)) === null, {
    withinMs: HAPPENS_WITHIN_MS,
    what: 'the loss is noticed',
  });
  // The replica may not have had the counts of its master yet.
  expect(await counted()).toBeGreaterThan(0);
  await counts.close();
});
