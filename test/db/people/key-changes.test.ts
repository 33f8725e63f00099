/** Revocations of keys are notified at once, also after the listening connection was lost. */
import { getEventListeners } from 'node:events';
import pg from 'pg';
import { afterEach, beforeEach, expect, inject, test, vi } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { type KeyChanges, listenForKeyChanges } from '../../../src/db/people/key-changes.ts';
import { createKey, revokeKey } from '../../../src/db/people/keys.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { waitFor } from '../../support/wait-for.ts';

const WITHIN_MS = 20_000;
/** The sessions that listen, but for those that a test opened itself. */
const LISTENERS = `FROM pg_stat_activity
  WHERE datname = current_database() AND query = 'LISTEN sluice_key_changed' AND state = 'idle'`;

let scratch: MigratedDatabase;
let revoked: number[];
let faults: unknown[];
let listener: KeyChanges | null;

beforeEach(async () => {
  scratch = await openMigratedDatabase();
  revoked = [];
  faults = [];
  listener = null;
});
afterEach(async () => {
  await listener?.close();
  await scratch.close();
});

function listen(url = scratch.url): KeyChanges {
  listener = listenForKeyChanges(url, (id) => void revoked.push(id), {
    keyChangesUnheard: (error) => void faults.push(error),
    keyChangesHeard: () => {},
  });
  return listener;
}

/** The server process behind the one listening session; null while there is none. */
async function listeningPid(): Promise<number | null> {
  const [row] = await scratch.rows(`SELECT pid ${LISTENERS}`);
  return typeof row?.pid === 'number' ? row.pid : null;
}

const listening = () => waitFor(listeningPid, { withinMs: WITHIN_MS, what: 'a listener' });

async function makeKeys(count: number): Promise<number[]> {
  const { id: workspaceId } = await createWorkspace(scratch.database, 'one', 'One');
  const ids: number[] = [];
  for (let made = 0; made < count; made += 1) {
    const { id } = await createKey(scratch.database, {
      workspaceId,
      kind: 'agent',
      name: 'key',
      rateLimitPerMinute: 1,
      brand: 'acme',
    });
    ids.push(id);
  }
  return ids;
}

const heard = (count: number) =>
  waitFor(() => revoked.length >= count, { withinMs: WITHIN_MS, what: `${count} revocations` });

test('every revocation is notified, and no other change of a key', async () => {
  const [first = 0, second = 0, third = 0] = await makeKeys(3);
  listen();
  await listening();
  await revokeKey(scratch.database, second);
  await scratch.rows('UPDATE api_keys SET last_used_at = now() WHERE id = $1', [first]);
  await revokeKey(scratch.database, third);
  await heard(2);
  expect(revoked).toEqual([second, third]);
  expect(faults).toEqual([]);
});

test('a revocation inside a transaction is notified at its commit, and not after a rollback', async () => {
  const [first = 0, second = 0] = await makeKeys(2);
  listen();
  await listening();
  const undone = inTransaction(scratch.database, async (connection) => {
    await revokeKey(connection, first);
    throw new Error('changed my mind');
  });
  await expect(undone).rejects.toThrow('changed my mind');
  await inTransaction(scratch.database, async (connection) => {
    await revokeKey(connection, second);
  });
  await heard(1);
  expect(revoked).toEqual([second]);
});

test('what is no id is ignored', async () => {
  listen();
  await listening();
  for (const payload of ['', 'x', '-1', '1 ', '12345678901', '7']) {
    await scratch.rows("SELECT pg_notify('sluice_key_changed', $1)", [payload]);
  }
  await heard(1);
  expect(revoked).toEqual([7]);
});

/** Ends the listening connection, and waits for the next one. */
async function loseConnection(): Promise<void> {
  const lost = await listening();
  await scratch.rows('SELECT pg_terminate_backend($1)', [lost]);
  await waitFor(async () => ![lost, null].includes(await listeningPid()), {
    withinMs: WITHIN_MS,
    what: 'another listener',
  });
}

test('a connection that the server ends is replaced, and the loss is reported once', async () => {
  const [id = 0] = await makeKeys(1);
  listen();
  await loseConnection();
  expect(faults).toMatchObject([{ code: '57P01' }]);
  await revokeKey(scratch.database, id);
  await heard(1);
  expect(revoked).toEqual([id]);
});

test('connections that are lost leave no listeners behind', async () => {
  const added = vi.spyOn(AbortSignal.prototype, 'addEventListener');
  listen();
  await loseConnection();
  await loseConnection();
  const signal = added.mock.contexts[0] as AbortSignal;
  added.mockRestore();
  expect(getEventListeners(signal, 'abort').length).toBeLessThanOrEqual(1);
});

test('a database that lets nobody in: tried again until it does; reported once', async () => {
  const [id = 0] = await makeKeys(1);
  const name = new URL(scratch.url).pathname.slice(1);
  const outside = new pg.Client({ connectionString: inject('databaseUrl') });
  await outside.connect();
  try {
    await outside.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    listen();
    await waitFor(() => faults.length > 0, { withinMs: WITHIN_MS, what: 'a refused connection' });
    await outside.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
  } finally {
    await outside.end();
  }
  await listening();
  expect(faults).toHaveLength(1);
  await revokeKey(scratch.database, id);
  await heard(1);
});

test('closed: the connection is gone, and a close while there is none ends too', async () => {
  const changes = listen();
  await listening();
  await changes.close();
  await waitFor(async () => (await listeningPid()) === null, {
    withinMs: WITHIN_MS,
    what: 'no listener',
  });
  expect(faults).toEqual([]);
  const nowhere = listen('postgres://nobody@127.0.0.1:1/none');
  await waitFor(() => faults.length > 0, { withinMs: WITHIN_MS, what: 'a refused connection' });
  await nowhere.close();
  await listen().close();
  listener = null;
  expect(faults).toHaveLength(1);
});
