/** What `sluice doctor` reports about Redis. */
import { expect, test } from 'vitest';

import { redisChecks } from '../../../src/cli/doctor/redis-checks.ts';

const HEALTHY = {
  version: '7.4.1',
  role: 'master',
  maxMemoryBytes: null,
  evictionPolicy: 'noeviction',
  persistence: { rdb: false, aof: false },
  roundTripMs: 0.3,
};

test.each([
  [{}, []],
  [{ version: '6.0.0' }, []],
  [{ version: '5.9.9' }, ['Version: warning']],
  [{ role: 'slave' }, ['Role: problem']],
  [{ evictionPolicy: 'allkeys-lru' }, []],
  [{ evictionPolicy: 'allkeys-lru', maxMemoryBytes: 1024 }, ['Memory: warning']],
  [{ persistence: { rdb: true, aof: true } }, ['Persistence: warning']],
  [{ roundTripMs: 10 }, []],
  [{ roundTripMs: 10.1 }, ['Round trip: warning']],
])('%j', (part, faults) => {
  const found = redisChecks({ ...HEALTHY, ...part }).filter(({ state }) => state !== 'ok');
  expect(found.map(({ name, state }) => `${name}: ${state}`)).toEqual(faults);
});
