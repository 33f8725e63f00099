/**
 * Attacks that keep runs from being claimed, against the real queue.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import type { Database } from '../../src/db/database.ts';
import { Claims, type ClaimsDependencies } from '../../src/pool/claims.ts';
import { casesOf } from '../support/cases.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { heardProcess } from '../support/evaluation.ts';
import { hex16 } from '../support/rows.ts';

const SETTINGS = {
  settleMs: 60_000,
  settleMaxMs: 300_000,
  timeoutMs: 900_000,
  openMaxMs: 3_600_000,
};
const SNAPSHOT = { version: '4.0.0', date: '2026-01-01', files: 0, sha256: '', identity: '' };
const [ATTACKER, VICTIM] = [1, 2];
const SESSION = hex16(0x5e);

let scratch: MigratedDatabase;
let events: string[];

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.database.query(
    `INSERT INTO workspaces (slug, name) VALUES ('attacker', 'Attacker'), ('victim', 'Victim')`,
  );
});
afterAll(() => scratch.close());
beforeEach(async () => {
  events = [];
  await scratch.database.query('TRUNCATE runs, leases, session_marks');
});

function openClaims(database: Database = scratch.database): Claims {
  const note = (name: string) => (detail: unknown) => {
    events.push(`${name}: ${detail instanceof Error ? detail.message : detail}`);
  };
  const noted: ClaimsDependencies['events'] = {
    passWorked: () => {},
    sessionMarksApplied: () => {},
    passFailed: note('passFailed'),
    runUndecided: note('runUndecided'),
    runsGivenUp: note('runsGivenUp'),
    sessionMarksFailed: note('sessionMarksFailed'),
  };
  const claims = new Claims(
    {
      database,
      snapshot: SNAPSHOT,
      rules: [],
      threads: 1,
      heartbeat: heardProcess(),
      events: noted,
      underWay: () => [],
      onWaiting: () => {},
    },
    SETTINGS,
  );
  claims.open();
  return claims;
}

/** One finished and settled run of the victim. */
async function insertVictim(): Promise<void> {
  await scratch.database.query(
    `INSERT INTO runs (workspace_id, run_id, state, spans, log_records, last_arrival_at)
     VALUES ($1, $2, 'completed', 1, 0, now() - interval '2 minutes')`,
    [VICTIM, hex16(1)],
  );
}

/** Open runs of one session, each with the mark of its prompt, settled, the newest first. */
async function insertSession(prompts: number): Promise<void> {
  await scratch.database.query(
    `INSERT INTO runs (workspace_id, run_id, state, spans, log_records, session_key,
       start_unix_nano, last_arrival_at)
     SELECT $1, lpad(to_hex(n + 100), 32, '0')::uuid, 'running', 0, 1, $2, $3::bigint - n,
            now() - interval '2 minutes'
       FROM generate_series(1, $3::int) AS n`,
    [ATTACKER, SESSION, prompts],
  );
  await scratch.database.query(
    `INSERT INTO session_marks (workspace_id, session_key, run_id, at_unix_nano, arrived_at)
     SELECT $1, $2, lpad(to_hex(n + 100), 32, '0')::uuid, $3::bigint - n,
            now() - interval '2 minutes'
       FROM generate_series(1, $3::int) AS n`,
    [ATTACKER, SESSION, prompts],
  );
  await scratch.database.query('ANALYZE runs, session_marks');
}

const marksLeft = async (): Promise<number> =>
  (await scratch.rows('SELECT 1 FROM session_marks')).length;

test('tens of thousands of marks of one session hold up no claim, and are gone after a few', async () => {
  await insertVictim();
  await insertSession(casesOf(80_000, 4));
  const claims = openClaims();
  const task = await claims.next();
  const claimed = [...(task?.runs ?? []), ...claims.waiting];
  expect(claimed.filter(({ workspaceId }) => workspaceId === VICTIM)).toHaveLength(1);
  for (let claim = 0; claim < 80 && (await marksLeft()) > 0; claim += 1) {
    await claims.next();
    await claims.settled();
  }
  expect(await marksLeft()).toBe(0);
  expect(events).toEqual([]);
  expect(claims.failure).toBeNull();
});

test('marks that cannot be applied hold up no claim and fail no probe', async () => {
  await insertVictim();
  await insertSession(1);
  const other = await scratch.database.connect();
  try {
    await other.query('BEGIN');
    await other.query('LOCK TABLE session_marks');
    const claims = openClaims();
    expect((await claims.next())?.runs).toHaveLength(1);
    expect(claims.failure).toBeNull();
    expect(events).toEqual(['sessionMarksFailed: canceling statement due to statement timeout']);
  } finally {
    await other.query('ROLLBACK');
    other.release();
  }
});

test('runs of a claim whose answer was lost are claimed again at the next claim', async () => {
  await insertVictim();
  const { database } = scratch;
  let lose = true;
  const losing = Object.create(database, {
    query: {
      value: async (...statement: Parameters<Database['query']>) => {
        const answer = await database.query(...statement);
        if (!lose || !String(statement[0]).includes('INSERT INTO leases')) return answer;
        lose = false;
        throw new Error('connection lost');
      },
    },
  }) as Database;
  const claims = openClaims(losing);

  expect(await claims.next()).toBeNull();
  expect(lose).toBe(false);
  const [leased] = await scratch.rows('SELECT leased_by IS NOT NULL AS leased FROM leases');
  expect(leased).toEqual({ leased: true });

  const task = await claims.next();
  await claims.settled();
  const found = [...(task?.runs ?? []), ...claims.waiting];
  expect(found.map(({ workspaceId }) => workspaceId)).toEqual([VICTIM]);
});
