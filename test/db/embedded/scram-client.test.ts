/** With SCRAM required, a false server receives neither a password nor a statement. */
import pg from 'pg';
import { afterEach, describe, expect, inject, test } from 'vitest';

import { createDatabase } from '../../../src/db/database.ts';
import { clientOf, requireScram, ScramClient } from '../../../src/db/embedded/scram-client.ts';
import { type FalsePostgres, listenFalsely, TRICKS } from './false-postgres.ts';

const SECRET = 'correct-horse-battery';
const silent = { connectionLost: () => {} };

let server: FalsePostgres | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

async function listen(answers: readonly Buffer[]): Promise<FalsePostgres> {
  server = await listenFalsely(answers);
  return server;
}

const urlOf = (port: number): string => `postgres://sluice:${SECRET}@127.0.0.1:${port}/sluice`;

describe.each(Object.entries(TRICKS))('a false server that is after %s', (_what, answers) => {
  test('is refused, and sent nothing', async () => {
    const { port, connections, received } = await listen(answers);
    const database = createDatabase(requireScram(urlOf(port)), 1, silent);
    await expect(database.query("SELECT 'customer text'")).rejects.toThrow(
      /^refused: the server .* only SCRAM-SHA-256 is allowed$/,
    );
    // The next connection fails in the same way, and the pool can still be closed.
    await expect(database.query("SELECT 'customer text'")).rejects.toThrow();
    await database.end();
    expect(connections()).toBe(2);
    expect(received()).not.toContain(SECRET);
    expect(received()).not.toContain('customer text');
    expect(received()).not.toMatch(/md5[0-9a-f]{32}/);
  });
});

test('the traps are real: pg by itself falls into the first', async () => {
  const { port, received, close } = await listen(TRICKS['the password in clear']);
  const client = new pg.Client(urlOf(port));
  client.on('error', () => {});
  const connecting = client.connect().catch(() => {});
  await expect.poll(received).toContain(SECRET);
  server = null;
  await close();
  await connecting;
});

test('the real server is let through', async () => {
  const client = new ScramClient(requireScram(inject('databaseUrl')));
  await client.connect();
  expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  await client.end();
});

test('a url that requires something else is refused, one that requires nothing is left alone', () => {
  expect(clientOf(urlOf(1))).toBe(pg.Client);
  expect(clientOf(requireScram(urlOf(1)))).toBe(ScramClient);
  expect(() => clientOf(`${urlOf(1)}?require_auth=password`)).toThrow(
    'DATABASE_URL: require_auth must be scram-sha-256',
  );
});
