/**
 * Starting: what is wrong is said in one line (or all lines at once) and the process ends with 1;
 * two hosts on one port; the other description of the bare paths.
 */

import { once } from 'node:events';
import { appendFile, cp, readdir, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

import { createDatabase } from '../../src/db/database.ts';
import { BROTLI, READS_ZSTD, USE_ZSTD_NODE, ZSTD } from '../../src/db/telemetry/codecs.ts';
import { ensureDay } from '../../src/db/telemetry/partitions.ts';
import { copyCheckout } from '../support/checkout.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { launchServer, ROOT, startServer, type TestServer } from '../support/server.ts';
import { findFreePort } from '../support/sockets.ts';
import { waitFor } from '../support/wait-for.ts';

/** What a server that does not start says, and how it ends. */
async function failure(settings: Record<string, string>, root?: string) {
  const server = launchServer({ LOG_LEVEL: 'error', ...settings }, root);
  const { code } = await server.exited;
  return { code, stdout: server.stdout(), stderr: server.stderr() };
}

describe('a start that cannot succeed', () => {
  let database: TestDatabase;
  let occupied: Server;
  let port: string;
  beforeAll(async () => {
    database = await createTestDatabase({ template: inject('migratedTemplate') });
    occupied = createServer().listen(0, '127.0.0.1');
    await once(occupied, 'listening');
    const address = occupied.address();
    port = typeof address === 'object' && address !== null ? String(address.port) : '';
  });
  afterAll(async () => {
    occupied.close();
    await database.drop();
  });

  test('a taken port is named with its setting', async () => {
    const settings = ['PORT', 'OBSERVE_PORT', 'ADMIN_PORT'];
    const failures = settings.map((name) => failure({ DATABASE_URL: database.url, [name]: port }));
    expect(await Promise.all(failures)).toEqual(
      settings.map((name) => ({
        code: 1,
        stdout: '',
        stderr:
          `sluice: Port ${port} on 127.0.0.1 is taken or not allowed: ` +
          `set ${name} to a free port.\n`,
      })),
    );
  });

  test('a start that fails late creates no keys: the next one shows them', async () => {
    const { code } = await failure({ DATABASE_URL: database.url, PORT: port });
    expect(code).toBe(1);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query('SELECT count(*)::int AS workspaces FROM workspaces');
    await client.end();
    expect(rows).toEqual([{ workspaces: 0 }]);
  });

  test('a database with zstd, on a Node.js without it, before any port opens', async () => {
    const { url, drop } = await createTestDatabase({ template: inject('migratedTemplate') });
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      await client.query('UPDATE new_blocks SET codec = $1', [ZSTD]);
      const { code, stdout, stderr } = await failure({ DATABASE_URL: url, PORT: port });
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      const refusal =
        'This database has blocks that are compressed with zstd, which Node.js ' +
        `${process.versions.node} cannot read: ${USE_ZSTD_NODE}`;
      const lateRefusal = expect.stringContaining(`sluice: Port ${port}`);
      expect(stderr).toEqual(READS_ZSTD ? lateRefusal : `sluice: ${refusal}\n`);
      const { rows } = await client.query('SELECT FROM processes');
      expect(rows).toEqual([]);
    } finally {
      await client.end();
      await drop();
    }
  });

  test('unusable settings: all of them, before anything is touched', async () => {
    const DATA_DIR = join(tmpdir(), 'sluice-never-made');
    const { code, stdout, stderr } = await failure({
      DATA_DIR,
      PORT: '80a',
      PASS_INTERVAL_MS: '1',
      REDIS_URL: 'http://user:secret@localhost',
      BRAND: 'Two Words',
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.trimEnd().split('\n')).toEqual([
      'sluice: Invalid configuration:',
      '  PORT must be a whole number from 0 to 65535, not "80a"',
      '  BRAND must be 1 to 32 lower-case letters and digits, a letter first',
      '  REDIS_URL must be a URL that starts with redis:// or rediss://',
      '  PASS_INTERVAL_MS must be a whole number from 100 to 3600000, not "1"',
    ]);
    expect(await readdir(tmpdir())).not.toContain('sluice-never-made');
  });

  test('a database that does not answer', async () => {
    const closed = await findFreePort();
    const url = `postgres://user:secret@127.0.0.1:${closed}/db`;
    const { code, stdout, stderr } = await failure({ DATABASE_URL: url });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^sluice: Cannot connect to the database of DATABASE_URL: .+\n$/);
    expect(stderr).not.toContain('secret');
  });
});

test('a corpus file that is not what the manifest says: nothing starts', async () => {
  const root = await copyCheckout(['dist', 'corpus', 'docs'], ['agent-threat-rules']);
  const rules = join(root, 'node_modules', 'agent-threat-rules');
  await cp(join(ROOT, 'node_modules', 'agent-threat-rules'), rules, { recursive: true });
  const DATA_DIR = join(root, 'data');
  const category = 'rules/prompt-injection';
  try {
    const [file = ''] = (await readdir(join(rules, category))).sort();
    await appendFile(join(rules, category, file), '\n# one line more\n');
    const { code, stdout, stderr } = await failure({ DATA_DIR }, root);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`${category}/${file}`);
    expect(await readdir(root)).not.toContain('data');
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});

test('somebody who reads an expired partition keeps neither the start nor the ingest', async () => {
  const { url, drop } = await createTestDatabase({ template: inject('migratedTemplate') });
  const database = createDatabase(url, 3, { connectionLost: () => {} });
  for (const day of [1, 2]) await ensureDay(database, Date.UTC(2020, 0, day));
  const reader = await database.connect();
  await reader.query('BEGIN; SELECT 1 FROM hot_blocks; SELECT 1 FROM hot_places_2020_01_02');
  const expired = async (): Promise<unknown[]> => {
    const { rows } = await database.query(
      "SELECT relname FROM pg_class WHERE relname LIKE '%2020_01_0_' AND relkind = 'r' ORDER BY 1",
    );
    return rows.map(({ relname }) => relname);
  };
  const server = await startServer({ DATABASE_URL: url });
  try {
    await waitFor(async () => (await expired()).length === 3, {
      withinMs: 60_000,
      what: 'the partitions that nobody reads to be dropped',
    });
    expect(await expired()).toEqual([
      'hot_blocks_2020_01_01',
      'hot_blocks_2020_01_02',
      'hot_places_2020_01_02',
    ]);
    await waitFor(() => server.stderr().split('maintenance failed').length === 2, {
      withinMs: 60_000,
      what: 'the failure to be reported',
    });
    await reader.query('COMMIT');
    expect(await server.stop()).toEqual({ code: 0, signal: null });
  } finally {
    reader.release(true);
    await database.end();
    await drop();
  }
});

test('a single process compresses new blocks with the best codec that its Node.js has', async () => {
  const { url, drop } = await createTestDatabase({ template: inject('migratedTemplate') });
  const client = new pg.Client({ connectionString: url });
  const server = await startServer({ DATABASE_URL: url });
  try {
    const gauge = { dataPoints: [{ timeUnixNano: '1', asInt: '1' }] };
    const scopeMetrics = [{ metrics: [{ name: 'a', gauge }] }];
    const answer = await fetch(`${server.observeUrl}/v1/metrics`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.firstKeys?.agent}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ resourceMetrics: [{ scopeMetrics }] }),
    });
    expect([answer.status, await answer.text()], server.stderr()).toEqual([200, '{}']);
    await client.connect();
    const { rows } = await client.query(
      'SELECT blocks.codec, new_blocks.codec AS recorded FROM blocks, new_blocks',
    );
    const codec = READS_ZSTD ? ZSTD : BROTLI;
    expect(rows).toEqual([{ codec, recorded: codec }]);
  } finally {
    await client.end();
    await server.stop();
    await drop();
  }
});

describe('two hosts on one port, bare paths served on the base host too', () => {
  let database: TestDatabase;
  let server: TestServer;
  let port: number;
  beforeAll(async () => {
    database = await createTestDatabase({ template: inject('migratedTemplate') });
    port = await findFreePort();
    server = await startServer({
      DATABASE_URL: database.url,
      PORT: String(port),
      OBSERVE_PORT: String(port),
      BASE_URL: `http://api.sluice.test:${port}`,
      OBSERVE_URL: `http://otel.sluice.test:${port}`,
      BARE_OTLP_ON_BASE: 'serve',
    });
  });
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  /** fetch does not let Host be set. */
  function ask(host: string, method: string, path: string, key: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const headers = {
        host: `${host}:${port}`,
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
      };
      const outgoing = httpRequest({ host: '127.0.0.1', port, method, path, headers });
      outgoing.once('error', reject);
      outgoing.once('response', (incoming) => {
        incoming.resume().once('end', () => resolve(incoming.statusCode ?? 0));
      });
      outgoing.end(method === 'POST' ? '{}' : undefined);
    });
  }

  test.each([
    ['otel.sluice.test', 'POST', '/v1/traces', 'agent', 200],
    ['OTEL.sluice.test', 'POST', '/v1/logs', 'agent', 200],
    ['otel.sluice.test', 'GET', '/platform/v1/atr/settings', 'workspace', 404],
    ['api.sluice.test', 'GET', '/platform/v1/atr/settings', 'workspace', 200],
    ['api.sluice.test', 'POST', '/v1/traces', 'agent', 200],
    ['api.sluice.test', 'POST', '/platform/v1/ingest/otel', 'agent', 200],
    ['localhost', 'GET', '/platform/v1/atr/settings', 'workspace', 200],
  ] as const)('%s %s %s', async (host, method, path, kind, status) => {
    expect(await ask(host, method, path, server.firstKeys?.[kind] ?? '')).toBe(status);
  });
});
