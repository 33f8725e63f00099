/** What `sluice doctor` reports about a Citus cluster: each state from the facts that cause it. */
import { expect, test } from 'vitest';
import { citusChecks } from '../../../src/cli/doctor/database-checks.ts';

const HEALTHY = {
  version: '13.2-1',
  isCoordinator: true,
  workers: [
    { name: 'a:5432', answers: true },
    { name: 'b:5432', answers: true },
  ],
  recoverySeconds: 5,
  shards: 4,
};

test('plain PostgreSQL has no check of it', () => {
  expect(citusChecks(null)).toEqual([]);
});

test.each([
  [{}, ['ok: 2 workers answer; 4 shards']],
  [{ shards: null }, ['ok: 2 workers answer; the first start distributes telemetry']],
  [{ recoverySeconds: 10 }, ['ok: 2 workers answer; 4 shards']],
  [{ recoverySeconds: 11 }, ['warning: citus.recover_2pc_interval 11 s']],
  [{ isCoordinator: false }, ['problem: this is a worker']],
  [{ workers: [] }, ['warning: no workers: telemetry is stored on this server']],
  [
    { workers: [{ name: 'a:5432', answers: false }], shards: 0, recoverySeconds: 60 },
    [
      'problem: worker a:5432 does not answer',
      'warning: telemetry is not distributed',
      'warning: citus.recover_2pc_interval 60 s',
    ],
  ],
])('%j', (part, expected) => {
  const checks = citusChecks({ ...HEALTHY, ...part });
  expect(checks.map(({ state, found }) => `${state}: ${found}`)).toEqual(expected);
  for (const { name, state, change } of checks) {
    expect(name).toBe('Citus 13.2-1');
    expect(change === null).toBe(state === 'ok');
  }
});
