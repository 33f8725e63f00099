/** Connections: the forms values come back in, transactions, and connections that are lost. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BoundedPool } from '../../src/db/bounded-pool.ts';
import {
  checkConnections,
  checkServer,
  createDatabase,
  inTransaction,
  ping,
} from '../../src/db/database.ts';
import { OperatorError } from '../../src/errors.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';

let scratch: MigratedDatabase;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.database.query('CREATE TABLE note (text text NOT NULL)');
});
afterAll(() => scratch.close());

const notes = async (): Promise<unknown[]> =>
  (await scratch.rows('SELECT text FROM note ORDER BY text')).map(({ text }) => text);

test('values come back in the project’s own forms', async () => {
  const [row] = await scratch.rows(
    `SELECT '01234567-89AB-cdef-fedc-ba9876543210'::uuid AS uuid, '\\x00ff'::bytea AS bytea,
            9223372036854775807 AS int64, '{"a": [1, null]}'::json AS json, 7 AS int32,
            '2026-11-20T12:00:00.123Z'::timestamptz AS time, null::uuid AS nothing,
            'nan'::float8 AS nan`,
  );
  expect(row).toEqual({
    uuid: '0123456789abcdeffedcba9876543210',
    bytea: Buffer.from([0, 255]),
    int64: '9223372036854775807',
    json: { a: [1, null] },
    int32: 7,
    time: new Date('2026-11-20T12:00:00.123Z'),
    nothing: null,
    nan: Number.NaN,
  });
});

describe('a transaction', () => {
  test('gives back what its work gives, committed', async () => {
    const given = await inTransaction(scratch.database, async (connection) => {
      await connection.query(`INSERT INTO note VALUES ('kept')`);
      return 7;
    });
    expect(given).toBe(7);
    expect(await notes()).toEqual(['kept']);
  });

  test('that fails leaves nothing, and its connection is used again', async () => {
    const before = scratch.database.totalCount;
    const failure = new Error('no');
    await expect(
      inTransaction(scratch.database, async (connection) => {
        await connection.query(`INSERT INTO note VALUES ('dropped')`);
        throw failure;
      }),
    ).rejects.toBe(failure);
    expect(await notes()).toEqual(['kept']);
    expect(scratch.database.totalCount).toBe(before);
  });

  test('that a standby refuses leaves its connection: the next one may lead to the primary', async () => {
    const database = createDatabase(scratch.url, 1, { connectionLost: () => undefined });
    const pidOf = async (): Promise<unknown> =>
      (await database.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
    const pid = await pidOf();
    const writing = inTransaction(database, async (connection) => {
      await connection.query('SET TRANSACTION READ ONLY');
      await connection.query(`INSERT INTO note VALUES ('lost')`);
    });
    await expect(writing).rejects.toMatchObject({ code: '25006' });
    expect(await pidOf()).not.toBe(pid);
    await database.end();
  });

  test('whose connection is lost says so, and ends neither the pool nor the process', async () => {
    await expect(
      inTransaction(scratch.database, async (connection) => {
        const { rows } = await connection.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
        // Both at once: the loss may be reported before the statement that caused it has returned.
        await Promise.all([
          connection.query('SELECT pg_sleep(600)'),
          scratch.rows('SELECT pg_terminate_backend($1)', [rows[0]?.pid]),
        ]);
      }),
    ).rejects.toThrow(/terminat/);
    expect(await notes()).toEqual(['kept']);
  });

  test('that takes longer than it may is given up, and its connection thrown away', async () => {
    const database = createDatabase(scratch.url, 1, { connectionLost: () => undefined });
    const pidOf = async (): Promise<unknown> =>
      (await database.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
    const pid = await pidOf();
    await expect(
      inTransaction(
        database,
        async (connection) => {
          await connection.query(`INSERT INTO note VALUES ('late')`);
          await connection.query('SELECT pg_sleep(600)');
        },
        300,
      ),
    ).rejects.toThrow('The database took longer than 300 ms.');
    expect(await pidOf()).not.toBe(pid);
    expect(await notes()).toEqual(['kept']);
    await database.end();
  });

  test('whose connection is lost between two queries fails at the second', async () => {
    await expect(
      inTransaction(scratch.database, async (connection) => {
        const { rows } = await connection.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
        await scratch.rows('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
        await waitFor(async () => (await connection.query('SELECT 1').catch(() => null)) === null, {
          withinMs: 20_000,
          what: 'the connection to be lost',
        });
        await connection.query('SELECT 1');
      }),
    ).rejects.toThrow();
    expect(await notes()).toEqual(['kept']);
  });
});

describe('a statement outside a transaction', () => {
  test.each<[string, unknown[]]>([
    ["SELECT pg_sleep(600), 'x' AS text", []],
    ['SELECT pg_sleep(600), $1::text AS text', ['x']],
  ])('is ended by the server when it takes too long: %s', async (text, values) => {
    const pool = new BoundedPool({ connectionString: scratch.url, statementLimitMs: 50 });
    await expect(pool.query(text, values)).rejects.toMatchObject({ code: '57014' });
    await pool.end();
  });

  test('has its own result only, and leaves the session as it was', async () => {
    const pool = new BoundedPool({ connectionString: scratch.url, statementLimitMs: 5000, max: 1 });
    const limit = "SELECT current_setting('statement_timeout') AS own, $1::int AS value";
    expect((await pool.query(limit, [7])).rows).toEqual([{ own: '5s', value: 7 }]);
    expect((await pool.query('SELECT 8 AS value')).rows).toEqual([{ value: 8 }]);
    expect((await pool.query('CREATE TEMP TABLE of_session ()')).command).toBe('CREATE');
    await expect(pool.query('SELECT 1 / $1', [0])).rejects.toMatchObject({ code: '22012' });
    const connection = await pool.connect();
    const { rows } = await connection.query('SHOW statement_timeout');
    expect(rows).toEqual([{ statement_timeout: '0' }]);
    connection.release();
    await pool.end();
  });
});

test('an idle connection that the server ends is reported, and replaced', async () => {
  const lost: unknown[] = [];
  const database = createDatabase(scratch.url, 1, { connectionLost: (error) => lost.push(error) });
  const { rows } = await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  await scratch.rows('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
  await waitFor(() => lost.length > 0, { withinMs: 20_000, what: 'the loss to be reported' });
  await ping(database);
  expect(lost[0]).toMatchObject({ code: '57P01' });
  await database.end();
});

describe('the check before anything starts', () => {
  test('passes on a server that answers', async () => {
    await checkServer(scratch.database);
  });

  test('names the setting, and never the password', async () => {
    const database = createDatabase('postgres://someone:hunter2@127.0.0.1:1/none', 1, {
      connectionLost: () => undefined,
    });
    const failure = await checkServer(database).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(OperatorError);
    expect(String(failure)).toMatch(
      /^OperatorError: Cannot connect to the database of DATABASE_URL: /,
    );
    expect(String(failure)).not.toContain('hunter2');
    await database.end();
  });

  test('wants room for every connection of this process', async () => {
    const [{ max_connections } = {}] = await scratch.rows('SHOW max_connections');
    await checkConnections(scratch.database, Number(max_connections));
    await expect(checkConnections(scratch.database, Number(max_connections) + 1)).rejects.toEqual(
      new OperatorError(
        `PostgreSQL allows ${max_connections} connections and this process may open ` +
          `${Number(max_connections) + 1}: lower MATCH_THREADS, or restart ` +
          'PostgreSQL with a larger max_connections',
      ),
    );
  });
});
