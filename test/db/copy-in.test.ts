/** COPY of rows that are in memory: what is stored, and what is left of the connection when it fails. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { copyIn } from '../../src/db/copy-in.ts';
import type { Connection } from '../../src/db/database.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/migrated-database.ts';

const STATEMENT = 'COPY lines FROM STDIN';

let scratch: MigratedDatabase;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.database.query('CREATE TABLE lines (number integer PRIMARY KEY, line text)');
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.database.query('TRUNCATE lines');
});

async function onConnection(work: (connection: Connection) => Promise<void>): Promise<void> {
  const connection = await scratch.database.connect();
  // Told by the query as well; without a listener it would end the process.
  connection.on('error', () => {});
  try {
    await work(connection);
  } finally {
    // Not to be used again: one of the tests has it ended.
    connection.release(true);
  }
}

const stored = async (): Promise<number> => {
  const { rows } = await scratch.database.query<{ count: string }>('SELECT count(*) FROM lines');
  return Number(rows[0]?.count);
};
const line = (number: number, text = 'x'): Buffer => Buffer.from(`${number}\t${text}\n`);

test('stores every piece, wherever they are cut', async () => {
  const text = Array.from({ length: 100 }, (_, number) => String(line(number))).join('');
  const pieces = text.match(/[\s\S]{1,7}/g) ?? [];
  await onConnection((connection) =>
    copyIn(
      connection,
      STATEMENT,
      pieces.map((piece) => Buffer.from(piece)),
    ),
  );
  const { rows } = await scratch.database.query('SELECT number, line FROM lines ORDER BY number');
  expect(rows).toEqual(Array.from({ length: 100 }, (_, number) => ({ number, line: 'x' })));
});

test('stores far more than a socket takes at a time, in as many pieces as a batch has', async () => {
  const pieces = Array.from({ length: 3000 }, (_, number) => line(number, 'y'.repeat(10_000)));
  await onConnection((connection) => copyIn(connection, STATEMENT, pieces));
  expect(await stored()).toBe(3000);
});

test('stores nothing of no pieces', async () => {
  await onConnection((connection) => copyIn(connection, STATEMENT, []));
  expect(await stored()).toBe(0);
});

test('fails for rows that are refused, with megabytes still to come, and leaves the connection fit', async () => {
  const rest = Array.from({ length: 500 }, (_, number) => line(number, 'z'.repeat(20_000)));
  await onConnection(async (connection) => {
    await connection.query('BEGIN');
    const failed = copyIn(connection, STATEMENT, [Buffer.from('none\tx\n'), ...rest]);
    await expect(failed).rejects.toMatchObject({ code: '22P02' });
    await connection.query('ROLLBACK');
    await copyIn(connection, STATEMENT, [line(1)]);
  });
  expect(await stored()).toBe(1);
});

test('fails for a statement that is refused', async () => {
  await onConnection(async (connection) => {
    const failed = copyIn(connection, 'COPY nowhere FROM STDIN', [line(1)]);
    await expect(failed).rejects.toMatchObject({ code: '42P01' });
    await copyIn(connection, STATEMENT, [line(1)]);
  });
  expect(await stored()).toBe(1);
});

test('fails when the connection ends in the middle', async () => {
  await onConnection(async (connection) => {
    const { rows: own } = await connection.query<{ pid: number }>('SELECT pg_backend_pid() pid');
    // The table is locked by somebody else, so that the COPY is surely under way when it is ended.
    const other = await scratch.database.connect();
    try {
      await other.query('BEGIN');
      await other.query('LOCK TABLE lines');
      const failed = copyIn(connection, STATEMENT, [line(1)]);
      const expectation = expect(failed).rejects.toThrow();
      await scratch.database.query('SELECT pg_terminate_backend($1)', [own[0]?.pid]);
      await expectation;
      await other.query('ROLLBACK');
    } finally {
      other.release();
    }
  });
  expect(await stored()).toBe(0);
});
