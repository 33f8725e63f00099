/** What `sluice doctor` reports about PostgreSQL: each state from the facts that cause it. */
import { describe, expect, test } from 'vitest';

import type { Check } from '../../../src/cli/doctor/check.ts';
import {
  clockCheck,
  connectionCheck,
  loadChecks,
  privilegeCheck,
  replicationChecks,
  schemaChecks,
  settingsOfServer,
} from '../../../src/cli/doctor/database-checks.ts';
import type { ServerSettings } from '../../../src/db/server-facts.ts';

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;
const HEALTHY: ServerSettings = {
  version: 170_002,
  versionName: '17.2',
  encoding: 'UTF8',
  isStandby: false,
  readOnly: false,
  fsync: true,
  fullPageWrites: true,
  synchronousCommit: 'on',
  synchronousStandbys: '',
  autovacuum: true,
  dataChecksums: true,
  walInitZero: true,
  maxWalBytes: GIB,
  sharedBufferBytes: 128 * MIB,
  checkpointSeconds: 300,
  databaseBytes: 7 * MIB,
};

/** Of each check that is not ok: its name, state, and whether it says what to change. */
const faults = (checks: readonly Check[]) =>
  checks
    .filter(({ state }) => state !== 'ok')
    .map(({ name, state, change }) => `${name}: ${state}${change ? '' : ' without advice'}`);

test('a healthy server has no fault', () => {
  expect(faults(settingsOfServer(HEALTHY))).toEqual([]);
  expect(faults(settingsOfServer({ ...HEALTHY, version: 140_000 }))).toEqual([]);
});

test.each([
  [{ version: 139_999 }, 'Version: problem'],
  [{ encoding: 'SQL_ASCII' }, 'Encoding: problem'],
  [{ isStandby: true }, 'Writes: problem'],
  [{ readOnly: true }, 'Writes: problem'],
  [{ fsync: false }, 'fsync: problem'],
  [{ fullPageWrites: false }, 'full_page_writes: problem'],
  [{ synchronousCommit: 'off' }, 'synchronous_commit: problem'],
  [{ autovacuum: false }, 'autovacuum: problem'],
  [{ dataChecksums: false }, 'Data checksums: warning'],
])('%j is %s', (part, fault) => {
  expect(faults(settingsOfServer({ ...HEALTHY, ...part }))).toEqual([fault]);
});

describe('WAL and checkpoints', () => {
  const rare = { timed: 100, requested: 3, walBytes: 40 * GIB };

  test('the defaults are enough without load', () => {
    expect(faults(loadChecks(HEALTHY, { ...rare, walBytesPerSecond: 1000 }))).toEqual([]);
  });

  test('under load they are not', () => {
    expect(faults(loadChecks(HEALTHY, { ...rare, walBytesPerSecond: 5 * MIB }))).toEqual([
      'Checkpoints: warning',
      'wal_init_zero: warning',
      'shared_buffers: warning',
    ]);
  });

  const recommended = {
    maxWalBytes: 4 * GIB,
    checkpointSeconds: 900,
    walInitZero: false,
    sharedBufferBytes: 256 * MIB,
  };

  test.each([
    [{}, []],
    [{ maxWalBytes: 4 * GIB - 1 }, ['Checkpoints: warning']],
    [{ checkpointSeconds: 899 }, ['Checkpoints: warning']],
    [{ walInitZero: true }, ['wal_init_zero: warning']],
    [{ sharedBufferBytes: 256 * MIB - 1 }, ['shared_buffers: warning']],
  ])('recommended settings and %j under a load of 1 MiB a second: %j', (part, expected) => {
    const settings = { ...HEALTHY, ...recommended, ...part };
    expect(faults(loadChecks(settings, { ...rare, walBytesPerSecond: MIB }))).toEqual(expected);
    expect(faults(loadChecks(settings, { ...rare, walBytesPerSecond: MIB - 1 }))).toEqual([]);
  });

  test.each([
    [4, 6, true],
    [4, 5, false],
    [5, 5, false],
    [5, 6, true],
  ])('of checkpoints, %i were timed and %i came early: a warning is %s', (timed, requested, is) => {
    const checkpoints = { timed, requested, walBytesPerSecond: 0, walBytes: 100 * GIB };
    expect(faults(loadChecks(HEALTHY, checkpoints))).toEqual(is ? ['Checkpoints: warning'] : []);
  });

  test('two come early for each max_wal_size', () => {
    const checkpoints = { timed: 1, requested: 40, walBytesPerSecond: 0, walBytes: 3 * GIB };
    expect(loadChecks(HEALTHY, checkpoints)[0]?.found).toContain('6 of 41');
    const less = { ...checkpoints, walBytes: 3 * GIB - 1 };
    expect(loadChecks(HEALTHY, less)[0]?.found).toContain('5 of 41');
  });

  test('where most checkpoints come early, max_wal_size should double', () => {
    const often = { timed: 5, requested: 20, walBytesPerSecond: 5 * MIB, walBytes: 100 * GIB };
    const [check] = loadChecks({ ...HEALTHY, maxWalBytes: 8 * GIB }, often);
    expect(check).toMatchObject({ state: 'warning', found: expect.stringContaining('20 of 25') });
    expect(check?.change).toContain('max_wal_size = 16GB');
  });

  test('those of commands are not early: a new server, after CREATE DATABASE', () => {
    const created = { timed: 1, requested: 40, walBytesPerSecond: 1000, walBytes: 300 * MIB };
    const checks = loadChecks(HEALTHY, created);
    expect(faults(checks)).toEqual([]);
    expect(checks[0]?.found).toContain('0 of 41');
  });
});

test.each([
  [0, false, 'ok', '0 ms'],
  [500, false, 'ok', '500 ms ahead'],
  [501, false, 'warning', '501 ms ahead'],
  [-500, false, 'ok', '500 ms behind'],
  [-501, false, 'warning', '501 ms behind'],
  [31_000, true, 'problem', '31000 ms ahead'],
])('a clock that differs by %i ms', (differenceMs, isTooFar, state, found) => {
  const check = clockCheck(differenceMs, isTooFar);
  expect(check.state).toBe(state);
  expect(check.found).toContain(found);
});

test.each([
  [{ allowed: 97, used: 78, roleLimit: null, databaseLimit: null }, 'ok', null],
  [{ allowed: 97, used: 79, roleLimit: null, databaseLimit: null }, 'warning', 'max_connections'],
  [{ allowed: 19, used: 0, roleLimit: null, databaseLimit: null }, 'ok', null],
  [{ allowed: 18, used: 0, roleLimit: null, databaseLimit: null }, 'problem', 'max_connections'],
  [{ allowed: 97, used: 1, roleLimit: 10, databaseLimit: null }, 'problem', 'CONNECTION LIMIT'],
  [{ allowed: 97, used: 1, roleLimit: null, databaseLimit: 5 }, 'problem', 'CONNECTION LIMIT'],
])('connections %j', (connections, state, advice) => {
  const check = connectionCheck(connections, 19);
  expect(check.state).toBe(state);
  if (advice === null) expect(check.change).toBeNull();
  else expect(check.change).toContain(advice);
});

test('privileges', () => {
  const own = { role: 'sluice', mayCreate: true, isSuperuser: false, foreignTables: [] };
  expect(privilegeCheck(own).state).toBe('ok');
  expect(privilegeCheck({ ...own, isSuperuser: true }).state).toBe('warning');
  expect(privilegeCheck({ ...own, mayCreate: false })).toMatchObject({
    state: 'problem',
    change: expect.stringContaining('GRANT CREATE'),
  });
  expect(privilegeCheck({ ...own, foreignTables: ['spans'] })).toMatchObject({
    state: 'problem',
    found: expect.stringContaining('spans'),
  });
});

describe('replication', () => {
  const standby = { name: 'standby1', state: 'streaming', syncState: 'async', lagSeconds: 1 };
  const slot = { name: 'slot1', active: true, retainedBytes: 16 * MIB };
  const check = (names: string, replicas: (typeof standby)[], slots: (typeof slot)[]) =>
    faults(replicationChecks({ ...HEALTHY, synchronousStandbys: names }, replicas, slots));

  test('none, and one that is up to date, are fine', () => {
    expect(check('', [], [])).toEqual([]);
    expect(check('', [standby], [slot])).toEqual([]);
    expect(check('*', [{ ...standby, syncState: 'sync' }], [])).toEqual([]);
  });

  test('a standby that is waited for and is not there is a problem', () => {
    expect(check('*', [standby], [])).toEqual(['Replication: problem']);
  });

  test('lag, and slots that keep WAL', () => {
    expect(check('', [{ ...standby, lagSeconds: 10 }], [])).toEqual([]);
    expect(check('', [{ ...standby, lagSeconds: 10.1 }], [])).toEqual(['Replication: warning']);
    expect(check('', [{ ...standby, state: 'catchup' }], [])).toEqual(['Replication: warning']);
    expect(check('', [], [{ ...slot, active: false }])).toEqual(['Replication slot: warning']);
    expect(check('', [], [{ ...slot, retainedBytes: 10 * GIB }])).toEqual([]);
    expect(check('', [], [{ ...slot, retainedBytes: 10 * GIB + 1 }])).toEqual([
      'Replication slot: warning',
    ]);
  });
});

test('schema', () => {
  const complete = { missingMigrations: [], historyFault: null, missingPartitions: [] };
  expect(faults(schemaChecks(null))).toEqual([]);
  expect(faults(schemaChecks(complete))).toEqual([]);
  expect(
    faults(schemaChecks({ ...complete, missingMigrations: ['a'], missingPartitions: ['b'] })),
  ).toEqual(['Schema: warning', 'Partitions: warning']);
  const fault = { found: 'It is of a newer version.', remedy: 'Use that.' };
  expect(faults(schemaChecks({ ...complete, historyFault: fault }))).toEqual(['Schema: problem']);
});
