/**
 * Workspaces take turns for the connections of a pool: both sides of each limit, and who is refused.
 * Statements wait for a lock that the test holds, so they have their connections as long as it says.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import {
  ConnectionTurns,
  type TurnLimits,
  type WorkspaceReader,
} from '../../src/db/connection-turns.ts';
import { createDatabase, type Database, type DatabasePool } from '../../src/db/database.ts';
import { createDatabases } from '../../src/db/databases.ts';
import { listFindings } from '../../src/db/findings/finding-list.ts';
import { placementOf } from '../../src/db/placement.ts';
import { READ_TURNS } from '../../src/main/connection-shares.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';

const WITHIN_MS = 20_000;
const LOCK = 4711;
const A = { workspaceId: 1 };
const B = { workspaceId: 2 };
const C = { workspaceId: 3 };
const EXPORT = { isExport: true };
const { connections, workspaceMax, exportsMax, workspaceExportsMax } = READ_TURNS;
/** Nothing is refused for its time, however slow the machine is. */
const PATIENT = { ...READ_TURNS, waitMs: 60_000 };
const SMALL = { ...PATIENT, waitingMax: 4, workspaceWaitingMax: 3 };

let scratch: MigratedDatabase;
let holder: pg.Client;
let pool: DatabasePool;
let reads: Promise<unknown>[];

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  holder = new pg.Client({ connectionString: scratch.url });
  await holder.connect();
});
afterAll(async () => {
  await holder.end();
  await scratch.close();
});
beforeEach(async () => {
  reads = [];
  pool = createDatabase(scratch.url, connections, { connectionLost: () => {} });
  await holder.query('SELECT pg_advisory_lock($1)', [LOCK]);
});
afterEach(async () => {
  await open();
  await Promise.allSettled(reads);
  await pool.end();
});

const open = () => holder.query('SELECT pg_advisory_unlock_all()');

/** Statements that have a connection, of the workspace. */
async function held({ workspaceId }: WorkspaceReader): Promise<number> {
  const { rows } = await holder.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM pg_stat_activity
      WHERE wait_event = 'advisory' AND datname = current_database() AND strpos(query, $1) > 0`,
    [`of ${workspaceId};`],
  );
  return rows[0]?.n ?? 0;
}

const untilHeld = (reader: WorkspaceReader, count: number): Promise<true> =>
  waitFor(async () => (await held(reader)) === count, {
    withinMs: WITHIN_MS,
    what: `${count} statements of workspace ${reader.workspaceId} have a connection`,
  });

/** Reads until the lock is open. */
function read(turns: ConnectionTurns, reader: WorkspaceReader): Promise<unknown> {
  const statement = `SELECT pg_advisory_xact_lock_shared($1) /* of ${reader.workspaceId}; */`;
  const reading = turns.of(reader).query(statement, [LOCK]);
  reading.catch(() => undefined);
  reads.push(reading);
  return reading;
}

const times = (count: number, work: () => unknown): void => {
  for (let made = 0; made < count; made += 1) work();
};

const turnsOf = (limits: TurnLimits = PATIENT): ConnectionTurns =>
  new ConnectionTurns(pool, limits);

const isOpen = async (turns: ConnectionTurns, reader: WorkspaceReader): Promise<boolean> =>
  (await turns.of(reader).query('SELECT 1')).rowCount === 1;

const REFUSED = { code: 'overloaded', reason: 'connections', retryAfterSeconds: 1 };

describe('connections', () => {
  test('one workspace gets all but one, and that is for the others, in turn', async () => {
    const turns = turnsOf();
    times(workspaceMax + 2, () => read(turns, A));
    await untilHeld(A, workspaceMax);
    expect(await isOpen(turns, B)).toBe(true);
    times(2, () => read(turns, B));
    times(1, () => read(turns, C));
    await untilHeld(B, connections - workspaceMax);
    expect(await held(A)).toBe(workspaceMax);
    expect(await held(C)).toBe(0);
    await open();
    await Promise.all(reads);
  });

  test('exports get some of them, and those of one workspace not all of these', async () => {
    const turns = turnsOf();
    times(exportsMax + 1, () => read(turns, { ...A, ...EXPORT }));
    await untilHeld(A, workspaceExportsMax);
    // Of the same workspace, behind its exports in the queue.
    expect(await isOpen(turns, A)).toBe(true);
    times(exportsMax, () => read(turns, { ...B, ...EXPORT }));
    await untilHeld(B, exportsMax - workspaceExportsMax);
    times(1, () => read(turns, { ...C, ...EXPORT }));
    expect(await isOpen(turns, C)).toBe(true);
    const all = [await held(A), await held(B), await held(C)];
    expect(all).toEqual([workspaceExportsMax, exportsMax - workspaceExportsMax, 0]);
    await open();
    await Promise.all(reads);
  });

  test('come back from statements that fail, and from connections that are not opened', async () => {
    const turns = turnsOf({ ...PATIENT, connections: 1, workspaceMax: 1 });
    await expect(turns.of(A).query('SELECT 1 / 0')).rejects.toThrow('division by zero');
    expect(await isOpen(turns, A)).toBe(true);
    const nowhere = createDatabase('postgres://u:p@127.0.0.1:1/none', 1, {
      connectionLost: () => {},
    });
    const away = new ConnectionTurns(nowhere, { ...PATIENT, connections: 1 });
    await expect(isOpen(away, A)).rejects.toThrow('ECONNREFUSED');
    await expect(away.of(A).connect()).rejects.toThrow('ECONNREFUSED');
    await expect(isOpen(away, A)).rejects.toThrow('ECONNREFUSED');
    await away.end();
  });

  test('are in use until they are released, and a broken one gives its turn back', async () => {
    const turns = turnsOf({ ...PATIENT, connections: 1, workspaceMax: 1 });
    const connection = await turns.of(A).connect();
    let isServed = false;
    const next = isOpen(turns, B).then(() => {
      isServed = true;
    });
    await connection.query('SELECT 1');
    expect(isServed).toBe(false);
    connection.release(new Error('broken'));
    await next;
    const again = await turns.of(A).connect();
    again.release();
    expect(await isOpen(turns, A)).toBe(true);
  });
});

describe('waiting', () => {
  test('for too long is refused', async () => {
    const turns = turnsOf({ ...READ_TURNS, waitMs: 50 });
    times(workspaceMax, () => read(turns, A));
    await untilHeld(A, workspaceMax);
    await expect(read(turns, A)).rejects.toMatchObject(REFUSED);
    await open();
    await Promise.all(reads.slice(0, workspaceMax));
    expect(await isOpen(turns, A)).toBe(true);
  });

  test('is for so many of a workspace; one more is refused, and others are not', async () => {
    const turns = turnsOf(SMALL);
    times(workspaceMax + SMALL.workspaceWaitingMax, () => read(turns, A));
    await untilHeld(A, workspaceMax);
    await expect(read(turns, A)).rejects.toMatchObject(REFUSED);
    expect(await isOpen(turns, B)).toBe(true);
    await open();
    const ends = await Promise.allSettled(reads);
    expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  });

  test('is for so many in all: one more takes the place of the workspace with the most', async () => {
    const turns = turnsOf(SMALL);
    times(workspaceMax + SMALL.workspaceWaitingMax, () => read(turns, A));
    times(connections - workspaceMax, () => read(turns, C));
    await untilHeld(A, workspaceMax);
    times(1, () => read(turns, C));
    await nextTurn();
    const newest = reads[workspaceMax + SMALL.workspaceWaitingMax - 1];
    times(1, () => read(turns, B));
    await expect(newest).rejects.toMatchObject(REFUSED);
    // Now a has two, b and c have one each.
    await expect(read(turns, C)).rejects.toMatchObject(REFUSED);
    await open();
    const ends = await Promise.allSettled(reads);
    expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(2);
  });

  test('ends when the reader leaves, whose place is free then', async () => {
    const turns = turnsOf(SMALL);
    times(workspaceMax, () => read(turns, A));
    await untilHeld(A, workspaceMax);
    const leaving = new AbortController();
    const gone = read(turns, { ...A, signal: leaving.signal });
    times(SMALL.workspaceWaitingMax - 1, () => read(turns, A));
    leaving.abort();
    await expect(gone).rejects.toThrow('nobody awaits');
    await expect(read(turns, { ...A, signal: leaving.signal })).rejects.toThrow('nobody awaits');
    times(1, () => read(turns, A));
    await open();
    const ends = await Promise.allSettled(reads);
    expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(2);
  });
});

test('a search whose reader has left is not begun', async () => {
  const { of } = turnsOf();
  const { read } = createDatabases({ reads: of, writes: of, accounts: pool });
  const leaving = new AbortController();
  leaving.abort();
  const list = (signal: AbortSignal) => read(listFindings, { ...A, signal }, {}, null, 1);
  await expect(list(leaving.signal)).rejects.toThrow('nobody awaits');
  expect((await list(new AbortController().signal)).findings).toEqual([]);
});

test('where telemetry is stored is looked up once for all readers of a pool', async () => {
  let statements = 0;
  const counted = new Proxy(pool, {
    get: (target, name) => {
      if (name === 'query') statements += 1;
      return Reflect.get(target, name, target) as unknown;
    },
  });
  const turns = new ConnectionTurns(counted as Database, PATIENT);
  expect(await placementOf(turns.of(A))).toBe('local');
  const before = statements;
  expect(before).toBeGreaterThan(0);
  expect(await placementOf(turns.of(B))).toBe('local');
  expect(statements).toBe(before);
});
