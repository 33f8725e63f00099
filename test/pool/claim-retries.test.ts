/**
 * A run that was claimed before goes alone, one at a time. So of those a claim takes one per thread,
 * however many are due, and none while 16 of them wait here: other processes may have nothing to do.
 */

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { claimRuns } from '../../src/db/runs/evaluation-queue.ts';
import { Claims } from '../../src/pool/claims.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { heardProcess, leaseTried } from '../support/evaluation.ts';

const TIMES = {
  settleMs: 60_000,
  settleMaxMs: 300_000,
  timeoutMs: 900_000,
  openMaxMs: 3_600_000,
};
const SNAPSHOT = { version: '4.0.0', date: '2026-01-01', files: 0, sha256: '', identity: '' };
const APART_WAITING_MAX = 16;

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

test.each([1, 2])('of %i threads: one for each, beside all fresh runs', async (threads) => {
  await insertRuns(1, 40, 1);
  await insertRuns(1000, 5, 0);
  const claims = openClaims(threads);
  const task = await claims.next();
  const claimed = [...(task?.runs ?? []), ...claims.waiting];
  expect(claimed.filter(({ isRetry }) => isRetry)).toHaveLength(threads);
  expect(claimed.filter(({ isRetry }) => !isRetry)).toHaveLength(5);
  expect(task?.runs.every(({ isRetry }) => !isRetry)).toBe(true);
});

test('none while 16 wait to go alone', async () => {
  await insertRuns(1, 40, 1);
  const claims = openClaims(1);
  for (let claim = 0; claim < APART_WAITING_MAX + 5; claim += 1) {
    await claims.next();
    await claims.settled();
  }
  expect(claims.waiting).toHaveLength(APART_WAITING_MAX);
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
