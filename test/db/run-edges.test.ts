/**
 * When runs become due, leases end and processes count as dead, a microsecond before each moment and at it.
 * What else the queue does is in test/db/runs, which also runs on a cluster.
 */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createWorkspace } from '../../src/db/people/workspaces.ts';
import {
  type ClaimedRun,
  claimRuns,
  giveUpRuns,
  releaseRun,
  renewLeases,
} from '../../src/db/runs/evaluation-queue.ts';
import { beat, endLeasesOfDead, livingProcesses } from '../../src/db/runs/processes.ts';
import { closeSessionRuns } from '../../src/db/runs/session-runs.ts';
import { type ClockedDatabase, openClockedDatabase } from '../support/database.ts';
import { leaseTried } from '../support/evaluation.ts';
import { hex16 } from '../support/rows.ts';

const SETTINGS = { settleMs: 60_000, timeoutMs: 900_000, limit: 10 };

let scratch: ClockedDatabase;
let workspaceId: number;
beforeAll(async () => {
  scratch = await openClockedDatabase();
  workspaceId = (await createWorkspace(scratch.database, 'mine', 'Mine')).id;
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.setClock('0');
  await scratch.rows('TRUNCATE runs, leases, processes, session_marks');
});

/** A run whose last step arrives now. @param settles when further arrivals do not delay it any more */
async function addRun(state: string, settles = 'infinity', run = 1): Promise<void> {
  await scratch.rows(
    `INSERT INTO runs (workspace_id, run_id, state, spans, log_records, last_arrival_at, settles_until)
     VALUES ($1, $2, $3, 1, 0, now(), CASE $4 WHEN 'infinity' THEN 'infinity' ELSE now() + $4::interval END)`,
    [workspaceId, hex16(run), state, settles],
  );
}

const claim = () => claimRuns(scratch.database, SETTINGS);
async function claimed(): Promise<ClaimedRun> {
  const [run] = await claim();
  if (run === undefined) throw new Error('no run is due');
  return run;
}
/** A run is claimed at a moment, and not a microsecond earlier. */
async function expectDueAt(...moment: string[]): Promise<ClaimedRun> {
  await scratch.setClock(...moment, '-1 us');
  expect(await claim()).toEqual([]);
  await scratch.setClock(...moment);
  return await claimed();
}

describe('a run is due', () => {
  test.each([
    ['finished, once it has settled', 'completed', 'infinity', '60 s'],
    ['finished, a settle time after further arrivals do not count', 'failed', '-20 s', '40 s'],
    ['without a root, once it has timed out', 'running', 'infinity', '15 minutes'],
    [
      'without a root, a time-out after further arrivals do not count',
      'running',
      '-1 minute',
      '14 minutes',
    ],
  ])('%s', async (_what, state, settles, moment) => {
    await addRun(state, settles);
    const run = await expectDueAt(moment);
    expect(run.state).toBe(state === 'running' ? 'timed_out' : state);
  });

  test('again when its lease of five minutes is over, which renewal puts off', async () => {
    await addRun('completed');
    await scratch.setClock('1 hour');
    const run = await claimed();
    await scratch.setClock('1 hour 200 s');
    await renewLeases(scratch.database, [run]);
    await expectDueAt('1 hour 500 s', '1 us');
  });

  test('again ten seconds for each attempt after it was released', async () => {
    await addRun('completed');
    await scratch.setClock('1 hour');
    await releaseRun(scratch.database, await claimed(), 'a reason');
    const second = await expectDueAt('1 hour 10 s', '1 us');
    await releaseRun(scratch.database, second, 'a reason');
    await expectDueAt('1 hour 30 s', '2 us');
  });
});

test.each([
  [4, '1 day', 0],
  [5, '300 s', 0],
  [5, '300 s 1 us', 1],
])('after %d attempts and %s a run is given up: %d', async (attempts, age, count) => {
  await addRun('completed');
  await scratch.rows('UPDATE runs SET attempts = $1', [attempts]);
  await leaseTried(scratch.database, "now() + interval '300 s'");
  await scratch.setClock(age);
  expect(await giveUpRuns(scratch.database)).toBe(count);
});

test('a process is dead when it was silent for more than fifteen seconds', async () => {
  const [dead, alive] = [randomUUID(), randomUUID()];
  await beat(scratch.database, dead);
  await scratch.setClock('15 s');
  expect(await beat(scratch.database, alive)).toMatchObject({ hasDead: false });
  expect(await livingProcesses(scratch.database)).toBe(2);
  expect(await endLeasesOfDead(scratch.database)).toEqual({ processes: 0, runs: 0 });
  await scratch.setClock('15 s 1 us');
  expect(await livingProcesses(scratch.database)).toBe(1);
  expect(await beat(scratch.database, alive)).toMatchObject({ hasDead: true });
  expect(await endLeasesOfDead(scratch.database)).toEqual({ processes: 1, runs: 0 });
});

test('a mark of a session ends its runs once it has settled, and they wait for what is late', async () => {
  await addRun('running');
  await scratch.rows('UPDATE runs SET session_key = $1, start_unix_nano = 1, end_unix_nano = 1', [
    hex16(9),
  ]);
  await scratch.rows(
    `INSERT INTO session_marks (workspace_id, session_key, at_unix_nano)
     VALUES ($1, $2, 2)`,
    [workspaceId, hex16(9)],
  );
  const times = { ...SETTINGS, settleMaxMs: 300_000, openMaxMs: 14_400_000 };
  await scratch.setClock('60 s -1 us');
  expect(await closeSessionRuns(scratch.database, times)).toEqual({ marks: 0, runs: 0 });
  await scratch.setClock('60 s');
  expect(await closeSessionRuns(scratch.database, times)).toEqual({ marks: 1, runs: 1 });
  expect(
    await scratch.rows(
      'SELECT extract(epoch FROM settles_until - now())::int AS seconds FROM runs',
    ),
  ).toEqual([{ seconds: 240 }]);
});
