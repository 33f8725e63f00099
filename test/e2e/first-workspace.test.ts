/** `/ready` fails until the first workspace exists: without it no key works and nobody can sign in. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import { inTransaction } from '../../src/db/database.ts';
import { listWorkspaces } from '../../src/db/people/workspaces.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { launchServer, type ServerProcess } from '../support/server.ts';
import { findFreePort } from '../support/sockets.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Answer, openEyes, request } from './gateway.ts';

const WITHIN_MS = 120_000;

let home: TestDatabase;
let database: ReturnType<typeof openEyes>;
let server: ServerProcess;
let ports: Record<'PORT' | 'OBSERVE_PORT' | 'ADMIN_PORT', number>;

beforeAll(async () => {
  home = await createTestDatabase({ template: inject('migratedTemplate') });
  database = openEyes(home.url);
  ports = {
    PORT: await findFreePort(),
    OBSERVE_PORT: await findFreePort(),
    ADMIN_PORT: await findFreePort(),
  };
});
afterAll(async () => {
  server.signal('SIGTERM');
  await server.exited;
  await database.end();
  await home.drop();
});

const ask = (port: number): Promise<Answer | null> =>
  request(`http://127.0.0.1:${port}/ready`).catch(() => null);

test('is 503 on every port while the workspace is being created, then 200', async () => {
  await inTransaction(database, async (connection) => {
    await connection.query('LOCK TABLE workspaces IN EXCLUSIVE MODE');
    const texts = Object.entries(ports).map(([name, port]) => [name, String(port)]);
    server = launchServer({ DATABASE_URL: home.url, ...Object.fromEntries(texts) });
    for (const port of Object.values(ports)) {
      let last = '';
      const answer = await waitFor(
        async () => {
          const one = await ask(port);
          last = one?.text ?? '';
          return one?.status === 503 && last.includes('"failing":["workspace"]') && one;
        },
        { withinMs: WITHIN_MS, what: () => `/ready fails for the workspace alone: ${last}` },
      );
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    expect(await listWorkspaces(connection)).toEqual([]);
  });
  for (const port of Object.values(ports)) {
    await waitFor(async () => (await ask(port))?.status === 200, {
      withinMs: WITHIN_MS,
      what: '/ready answers 200',
    });
  }
  expect(await listWorkspaces(database)).toHaveLength(1);
});
