/**
 * Heartbeats of processes, and what happens to the runs of a dead one. Time passes by UPDATE.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { inTransaction } from '../../../src/db/database.ts';
import { ATTEMPTS_MAX } from '../../../src/db/runs/due-runs.ts';
import {
  beginAttempt,
  type ClaimedRun,
  claimRuns,
  giveUpRuns,
} from '../../../src/db/runs/evaluation-queue.ts';
import {
  beat,
  endForgottenLeases,
  endLeasesOfDead,
  leave,
  livingProcesses,
} from '../../../src/db/runs/processes.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { hex16 } from '../../support/rows.ts';

let scratch: MigratedDatabase;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
});
afterAll(() => scratch.close());
beforeEach(() => scratch.database.query('TRUNCATE runs, leases, processes'));

async function insertRuns(count: number, first = 1): Promise<void> {
  await scratch.database.query(
    `INSERT INTO runs (workspace_id, run_id, state, spans, log_records, last_arrival_at)
     SELECT 1, lpad(to_hex(n), 32, '0')::uuid, 'completed', 1, 0, now() - interval '1 hour'
       FROM generate_series($2::int, $2::int + $1::int - 1) AS n`,
    [count, first],
  );
}

const claimFor = (processId: string, limit = 100): Promise<ClaimedRun[]> =>
  claimRuns(scratch.database, { settleMs: 0, timeoutMs: 900_000, limit, processId });

const silence = (processId: string, seconds: number): Promise<unknown> =>
  scratch.database.query(
    'UPDATE processes SET seen_at = now() - make_interval(secs => $2) WHERE id = $1',
    [processId, seconds],
  );

test('the runs of a process that was silent for 15 s are due again, with no attempt lost', async () => {
  const [dead, alive] = [randomUUID(), randomUUID()];
  for (const id of [dead, alive])
    expect(await beat(scratch.database, id)).toMatchObject({ hasDead: false });
  await insertRuns(5);
  await claimFor(dead);
  await insertRuns(3, 6);
  const kept = await claimFor(alive);

  await silence(dead, 14);
  expect(await beat(scratch.database, alive)).toMatchObject({ hasDead: false });
  expect(await endLeasesOfDead(scratch.database)).toEqual({ processes: 0, runs: 0 });
  await silence(dead, 16);
  expect(await beat(scratch.database, alive)).toMatchObject({ hasDead: true });
  expect(await endLeasesOfDead(scratch.database)).toEqual({ processes: 1, runs: 5 });
  expect(await beat(scratch.database, alive)).toMatchObject({ hasDead: false });

  const again = await claimFor(alive);
  expect(again.map(({ runId }) => runId).sort()).toEqual([1, 2, 3, 4, 5].map((n) => hex16(n)));
  expect(again.map(({ attempt, isRetry }) => [attempt, isRetry])).toEqual(
    again.map(() => [1, true]),
  );
  expect(kept).toHaveLength(3);
});

test('a run that ends its process again and again is given up, and none that was only claimed', async () => {
  await insertRuns(3);
  const poison = hex16(2);
  for (let death = 0; death < ATTEMPTS_MAX; death += 1) {
    const process = randomUUID();
    await beat(scratch.database, process);
    const runs = await claimFor(process);
    expect(runs).toHaveLength(3);
    const begun = runs.filter(({ runId }) => runId === poison);
    expect(await beginAttempt(scratch.database, begun)).toEqual(begun);
    expect(await giveUpRuns(scratch.database)).toBe(0);
    await silence(process, 16);
    expect(await endLeasesOfDead(scratch.database)).toEqual({ processes: 1, runs: 3 });
  }
  expect(await giveUpRuns(scratch.database)).toBe(1);
  expect(await scratch.rows('SELECT run_id, evaluation, attempts FROM runs ORDER BY 1')).toEqual([
    { run_id: hex16(1), evaluation: 'pending', attempts: 0 },
    { run_id: poison, evaluation: 'evaluation_failed', attempts: 5 },
    { run_id: hex16(3), evaluation: 'pending', attempts: 0 },
  ]);
});

test('an attempt is counted once, and not by who has lost the run', async () => {
  await insertRuns(1);
  const [lost] = await claimFor(randomUUID());
  await scratch.database.query(`UPDATE leases SET lease_until = now() - interval '1 second'`);
  const [current] = await claimFor(randomUUID());
  if (lost === undefined || current === undefined) throw new Error('nothing was claimed');
  expect(await beginAttempt(scratch.database, [lost, current])).toEqual([current]);
  expect(await beginAttempt(scratch.database, [current])).toEqual([current]);
  expect(await scratch.rows('SELECT attempts FROM runs')).toEqual([{ attempts: 1 }]);
});

test('who leaves is not dead, and who was only paused is back with its next beat', async () => {
  const [left, paused, other] = [randomUUID(), randomUUID(), randomUUID()];
  for (const id of [left, paused, other]) await beat(scratch.database, id);
  await leave(scratch.database, left);
  await silence(paused, 60);
  expect(await beat(scratch.database, paused)).toMatchObject({ hasDead: false });
  expect(await beat(scratch.database, other)).toMatchObject({ hasDead: false });
  expect(await endLeasesOfDead(scratch.database)).toEqual({ processes: 0, runs: 0 });
});

test('a process that beats while its leases are ended keeps its row', async () => {
  const back = randomUUID();
  await beat(scratch.database, back);
  await insertRuns(1);
  await claimFor(back);
  await silence(back, 16);
  const { ending } = await inTransaction(scratch.database, async (connection) => {
    await connection.query('SELECT FROM leases FOR UPDATE');
    const begun = endLeasesOfDead(scratch.database);
    await scratch.blocked();
    await beat(scratch.database, back);
    return { ending: begun };
  });
  expect(await ending).toEqual({ processes: 0, runs: 1 });
  expect(await livingProcesses(scratch.database)).toBe(1);
});

test('of several processes at once, each dead one is found by one', async () => {
  const dead = Array.from({ length: 4 }, () => randomUUID());
  for (const id of dead) await beat(scratch.database, id);
  await insertRuns(200);
  for (const id of dead) await claimFor(id, 50);
  for (const id of dead) await silence(id, 60);
  const found = await Promise.all(
    Array.from({ length: 4 }, () => endLeasesOfDead(scratch.database)),
  );
  const sum = (key: 'processes' | 'runs') => found.reduce((all, one) => all + one[key], 0);
  expect([sum('processes'), sum('runs')]).toEqual([4, 200]);
});

test('leases that a living process does not know to have are ended, and no others', async () => {
  const [own, other] = [randomUUID(), randomUUID()];
  await insertRuns(2);
  const known = await claimFor(own);
  await insertRuns(3, 3);
  await claimFor(own);
  await insertRuns(1, 6);
  await claimFor(other);

  expect(await endForgottenLeases(scratch.database, own, known)).toBe(3);
  const again = await claimFor(own);
  expect(again.map(({ runId }) => runId).sort()).toEqual([3, 4, 5].map((n) => hex16(n)));
});
