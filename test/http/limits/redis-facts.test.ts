/** The facts of a real Redis; one that is away is an error at once. */
import { afterAll, expect, test } from 'vitest';
import { parseInfo, readRedisFacts } from '../../../src/http/limits/redis-counts.ts';
import { canStartRedis } from '../../support/programs.ts';
import { endRedis, startRedis } from '../../support/redis.ts';

afterAll(() => endRedis());

test.skipIf(!canStartRedis)('version, role, memory and persistence', async () => {
  const redis = await startRedis();
  expect(await readRedisFacts(redis.url)).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+/),
    role: 'master',
    maxMemoryBytes: null,
    evictionPolicy: 'noeviction',
    persistence: { rdb: false, aof: false },
  });
  const replica = await startRedis(redis.url);
  expect((await readRedisFacts(replica.url)).role).toBe('slave');
});

test('one that cannot be reached', async () => {
  await expect(readRedisFacts('redis://127.0.0.1:1')).rejects.toThrow('ECONNREFUSED');
});

test('lines of INFO', () => {
  expect([...parseInfo('# Server\r\na:1\r\n\r\nb:x:y\r\n')]).toEqual([
    ['a', '1'],
    ['b', 'x:y'],
  ]);
});
