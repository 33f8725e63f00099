/**
 * Runs that were claimed before go to one thread. So no more than 16 of them wait here, however many are
 * due: other processes may have nothing to do.
 */

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { claimRuns } from '../../src/db/runs/evaluation-queue.ts';
import { Claims } from '../../src/pool/claims.ts';
import { AGAIN_RUNS_MAX } from '../../src/pool/waiting-runs.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { heardProcess, leaseTried } from '../support/evaluation.ts';

const TIMES = {
  settleMs: 60_000,
  settleMaxMs: 300_000,
  timeoutMs: 900_000,
  openMaxMs: 3_600_000,
};
const SNAPSHOT = { version: '4.0.0', date: '2026-01-01', files: 0, sha256: '', identity: '' };

let scratch: MigratedDatabase;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.database.query(`INSERT INTO workspaces (slug, name) VALUES ('one', 'One')`);
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.database.query('TRUNCATE runs, leases, session_marks');
});

/** Finished and settled runs; ids continue from `from`. */
async function insertRuns(from: number, count: number, attempts: number): Promise<void> {
  await scratch.database.query(
    `INSERT INTO runs (workspace_id, run_id, state, spans, log_records, attempts, last_arrival_at)
     SELECT 1, lpad(to_hex(n), 32, '0')::uuid, 'completed', 1, 0, $3::int,
            now() - interval '2 minutes'
       FROM generate_series($1::int, $1::int + $2::int - 1) AS n`,
    [from, count, attempts],
  );
  await leaseTried(scratch.database);
}

function openClaims(threads: number): Claims {
  const fail = (detail: unknown) => {
    throw detail;
  };
  const claims = new Claims(
    {
      database: scratch.database,
      snapshot: SNAPSHOT,
      rules: [],
      threads,
      heartbeat: heardProcess(),
      events: {
        passWorked: () => {},
        sessionMarksApplied: () => {},
        passFailed: fail,
        runUndecided: fail,
        runsGivenUp: fail,
        sessionMarksFailed: fail,
      },
      underWay: () => [],
      onWaiting: () => {},
    },
    TIMES,
  );
  claims.open();
  return claims;
}

test.each([1, 2])('of %i threads: sixteen, beside all fresh runs', async (threads) => {
  await insertRuns(1, 40, 1);
  await insertRuns(1000, 5, 0);
  const claims = openClaims(threads);
  const task = await claims.next();
  const claimed = [...(task?.runs ?? []), ...claims.waiting];
  expect(claimed.filter(({ isRetry }) => isRetry)).toHaveLength(AGAIN_RUNS_MAX);
  expect(claimed.filter(({ isRetry }) => !isRetry)).toHaveLength(5);
  expect(task?.runs.every(({ isRetry }) => !isRetry)).toBe(true);
});

test('none while 16 wait here', async () => {
  await insertRuns(1, 40, 1);
  const claims = openClaims(1);
  for (let claim = 0; claim < 3; claim += 1) {
    await claims.next();
    await claims.settled();
  }
  expect(claims.waiting).toHaveLength(AGAIN_RUNS_MAX);
});

/** As after a process has died: its runs are due again. */
const dies = () =>
  scratch.database.query("UPDATE leases SET lease_until = '-infinity', leased_by = NULL");

test('those that were never tried again go together; after that each goes alone', async () => {
  await insertRuns(1, AGAIN_RUNS_MAX, 0);
  await claimRuns(scratch.database, { ...TIMES, limit: AGAIN_RUNS_MAX });
  await dies();
  const claims = openClaims(1);
  await claims.next();
  const together = claims.nextApart()?.runs ?? [];
  expect(together.map(({ attempt }) => attempt)).toEqual(Array(AGAIN_RUNS_MAX).fill(1));
  expect(claims.nextApart()).toBeNull();
  expect(await claims.begin(together)).toEqual(together);
  await dies();
  const other = openClaims(1);
  await other.next();
  for (let task = 0; task < AGAIN_RUNS_MAX; task += 1) {
    expect(other.nextApart()?.runs).toMatchObject([{ attempt: 2 }]);
  }
  expect(other.nextApart()).toBeNull();
});

test('as many as the caller allows, and all of a claim when it does not say', async () => {
  await insertRuns(1, 10, 1);
  await insertRuns(1000, 10, 0);
  const settings = { ...TIMES, limit: 8 };
  const few = await claimRuns(scratch.database, { ...settings, retries: 2 });
  expect(few.filter(({ isRetry }) => isRetry)).toHaveLength(2);
  const many = await claimRuns(scratch.database, settings);
  expect(many.filter(({ isRetry }) => isRetry)).toHaveLength(8);
});
