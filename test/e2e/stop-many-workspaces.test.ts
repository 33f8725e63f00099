/** A server with very many workspaces stops in time, whatever its hourly upkeep is doing. */
import { expect, inject, test } from 'vitest';

import { createTestDatabase } from '../support/database.ts';
import { startServer } from '../support/server.ts';
import { openEyes } from './gateway.ts';

const WORKSPACES = 100_000;

test('100,000 workspaces: SIGTERM during the first upkeep ends the server with 0', async () => {
  const home = await createTestDatabase({ template: inject('migratedTemplate') });
  const database = openEyes(home.url);
  try {
    await database.query(
      "INSERT INTO workspaces (slug, name) SELECT 'w' || n, 'W' FROM generate_series(1, $1::int) AS n",
      [WORKSPACES],
    );
    const server = await startServer({ DATABASE_URL: home.url, RUN_RETENTION_DAYS: '30' });
    expect(await server.stop()).toEqual({ code: 0, signal: null });
    expect(server.stderr()).not.toContain('a shutdown step failed');
  } finally {
    await database.end();
    await home.drop();
  }
});
