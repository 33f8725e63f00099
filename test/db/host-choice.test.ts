/** Several hosts of one database: connections go to one that takes writes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createDatabase, type DatabasePool } from '../../src/db/database.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { findFreePort } from '../support/sockets.ts';

let scratch: MigratedDatabase;
let closed: number;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
  closed = await findFreePort();
});
afterAll(() => scratch.close());

const silent = { connectionLost: () => undefined };

/** The run's PostgreSQL behind a port at which nothing listens. */
function open(parameters = ''): DatabasePool {
  const url = new URL(scratch.url);
  const hosts = `127.0.0.1:${closed},127.0.0.1:${url.port}`;
  const login = `${url.username}:${url.password}`;
  return createDatabase(`postgres://${login}@${hosts}${url.pathname}${parameters}`, 2, silent);
}

const setReadOnly = (setting: string) =>
  scratch.rows(`ALTER DATABASE ${new URL(scratch.url).pathname.slice(1)} ${setting}`);

describe('of two hosts', () => {
  test.each(['', '?target_session_attrs=primary', '?target_session_attrs=any'])(
    'the one that answers is used, by all connections at once (%s)',
    async (parameters) => {
      const database = open(parameters);
      const answers = [1, 2, 3, 4].map((n) => database.query('SELECT $1::int AS n', [n]));
      expect((await Promise.all(answers)).map(({ rows }) => rows[0].n)).toEqual([1, 2, 3, 4]);
      await database.end();
    },
  );

  test('none is used that refuses writes; it is as soon as it takes them', async () => {
    const database = open();
    await setReadOnly('SET default_transaction_read_only = on');
    await expect(database.query('SELECT 1')).rejects.toThrow(
      /^no host can be used: .*ECONNREFUSED.*; 127.0.0.1:\d+ is read-only$/,
    );
    expect(database.totalCount).toBe(0);
    await setReadOnly('RESET default_transaction_read_only');
    expect((await database.query('SELECT 2 AS n')).rows).toEqual([{ n: 2 }]);
    await database.end();
  });
});

test('a host that begins to refuse writes is left with the next connection', async () => {
  const database = open();
  await database.query('SELECT 1');
  await setReadOnly('SET default_transaction_read_only = on');
  const connection = await database.connect();
  connection.release(true);
  await expect(database.query('SELECT 1')).rejects.toThrow('is read-only');
  expect(database.totalCount).toBe(0);
  await setReadOnly('RESET default_transaction_read_only');
  await database.query('SELECT 1');
  await database.end();
});
