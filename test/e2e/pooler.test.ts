/**
 * Two servers of one database behind PgBouncer in transaction mode, with fewer connections to
 * PostgreSQL than either server opens: everything works as on a connection of its own, and nothing
 * stays in the sessions that others use.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

import { createDatabase, type Database } from '../../src/db/database.ts';
import { pooledUrl } from '../support/child-settings.ts';
import { runCommand } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startPgBouncer, type TestPooler } from '../support/pgbouncer.ts';
import { pgbouncerPath } from '../support/programs.ts';
import { launchServer, startServer, type TestServer } from '../support/server.ts';
import { storedRecords } from '../support/stored-blocks.ts';
import { waitFor } from '../support/wait-for.ts';
import { sendAttack } from './attack.ts';
import { Browser } from './browser.ts';
import { openEyes, post, rawSpan, read, request, storedSpanIds, traceBody } from './gateway.ts';

const HAPPENS_WITHIN_MS = 60_000;
const POOL_SIZE = 3;
/** More than the pool has, at once. */
const REQUESTS = 40;
const RULE = 'ATR-2026-00001';
const RULES = '/platform/v1/atr/rules';

describe.skipIf(pgbouncerPath === null)('behind PgBouncer', () => {
  let home: TestDatabase;
  let pooler: TestPooler;
  let pooled: string;
  /** past the pooler, to look at what is stored */
  let database: Database;
  /** without DATABASE_DIRECT_URL, and with it */
  let first: TestServer;
  let second: TestServer;
  let keys: { readonly agent: string; readonly workspace: string };
  let owner: { readonly email: string; readonly password: string };

  beforeAll(async () => {
    home = await createTestDatabase({ template: inject('migratedTemplate') });
    pooler = await startPgBouncer(inject('databaseUrl'), { poolSize: POOL_SIZE });
    pooled = pooledUrl(home.url, pooler.port);
    database = openEyes(home.url);
    first = await startServer({ DATABASE_URL: pooled });
    if (first.firstKeys === null) throw new Error('a new database, and no keys were printed');
    keys = first.firstKeys;
    owner = first.firstKeys.owner;
    second = await startServer({ DATABASE_URL: pooled, DATABASE_DIRECT_URL: home.url });
  });
  afterAll(async () => {
    await second?.stop();
    await first?.stop();
    await database?.end();
    await pooler?.close();
    await home?.drop();
  });

  const servers = () => [first, second];
  const listeners = async (): Promise<number> => {
    const { rows } = await database.query<{ count: number }>(
      `SELECT count(*)::int FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'LISTEN %'`,
    );
    return rows[0]?.count ?? 0;
  };

  test('each says at its start where the database is, and what a direct address would add', () => {
    for (const server of servers()) expect(server.stdout()).toMatch(/database .*through a pooler/);
    expect(first.stderr()).toContain('Set DATABASE_DIRECT_URL');
    expect(second.stderr()).not.toContain('DATABASE_DIRECT_URL');
  });

  test('every signal is stored, by many requests at once', async () => {
    const spans = Array.from({ length: REQUESTS }, () => rawSpan());
    // Each body differs: an equal one would be taken for the same request, sent again.
    const logsOf = (timeUnixNano: string) => ({
      resourceLogs: [{ scopeLogs: [{ logRecords: [{ timeUnixNano }] }] }],
    });
    const metricsOf = (timeUnixNano: string) => {
      const metric = { name: 'm', gauge: { dataPoints: [{ timeUnixNano, asInt: '1' }] } };
      return { resourceMetrics: [{ scopeMetrics: [{ metrics: [metric] }] }] };
    };
    const answers = await Promise.all(
      spans.flatMap((span, index) => {
        const { observeUrl } = index % 2 === 0 ? first : second;
        const time = String(1_763_640_000_000_000_000n + BigInt(index));
        return [
          post(`${observeUrl}/v1/traces`, keys.agent, traceBody([span])),
          post(`${observeUrl}/v1/logs`, keys.agent, logsOf(time)),
          post(`${observeUrl}/v1/metrics`, keys.agent, metricsOf(time)),
        ];
      }),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const ids = spans.map(({ spanId }) => spanId);
    expect(await storedSpanIds(database, ids)).toEqual(new Set(ids));
    expect(await storedRecords(database, 'logs')).toBe(REQUESTS);
    expect(await storedRecords(database, 'metrics')).toBe(REQUESTS);
  });

  test('a run is matched and its finding is stored', async () => {
    await sendAttack({ server: second, database }, keys.agent, 'pooled');
  });

  test('a refused row affects its sender alone', async () => {
    const bad = rawSpan({ name: 'a\u0000b', spanId: 'zz' });
    const span = rawSpan();
    const [refused, stored] = await Promise.all([
      post(`${first.observeUrl}/v1/traces`, keys.agent, traceBody([bad])),
      post(`${first.observeUrl}/v1/traces`, keys.agent, traceBody([span])),
    ]);
    expect(refused.text).toContain('rejectedSpans');
    expect(stored.status).toBe(200);
    expect(await storedSpanIds(database, [span.spanId])).toEqual(new Set([span.spanId]));
  });

  test('people sign in, and a rule that one server switches is off in the other', async () => {
    const browser = new Browser(first.baseUrl);
    expect((await browser.signIn(owner.email, owner.password)).status).toBe(303);
    expect(await browser.account()).toMatchObject({ email: owner.email, role: 'owner' });
    await database.query("UPDATE workspaces SET plan = 'team'");
    const isEnabled = async (): Promise<boolean> => {
      const url = `${second.baseUrl}${RULES}/${RULE}`;
      return (await read<{ enabled: boolean }>(url, keys.workspace)).enabled;
    };
    expect(await isEnabled()).toBe(true);
    const answer = await browser.put(`/app/api/atr/rules/${RULE}`, { enabled: false });
    expect(answer.status, answer.text).toBe(200);
    expect(await isEnabled()).toBe(false);
  });

  test('only the server with a direct address listens for revoked keys; both refuse one', async () => {
    await waitFor(async () => (await listeners()) === 1, {
      withinMs: HAPPENS_WITHIN_MS,
      what: 'one session listens',
    });
    const url = ({ baseUrl }: TestServer) => `${baseUrl}${RULES}?per_page=1`;
    const statusOf = async (server: TestServer): Promise<number> => {
      const headers = { authorization: `Bearer ${keys.workspace}` };
      return (await request(url(server), { headers })).status;
    };
    expect(await Promise.all(servers().map(statusOf))).toEqual([200, 200]);
    const revoke = `UPDATE api_keys SET revoked_at = now() WHERE kind = 'workspace'`;
    await database.query(revoke);
    for (const server of servers()) {
      await waitFor(async () => (await statusOf(server)) === 401, {
        withinMs: HAPPENS_WITHIN_MS,
        what: 'the key is refused',
      });
    }
  });

  test('statements have their time limit, and no session keeps a setting or a statement', async () => {
    const through = createDatabase(pooled, 2 * POOL_SIZE, { connectionLost: () => {} });
    const sessions = Array.from({ length: 2 * POOL_SIZE });
    const limits = await Promise.all(
      sessions.map(() => through.query(`SELECT current_setting('statement_timeout') AS own`)),
    );
    expect(new Set(limits.map(({ rows }) => rows[0].own))).toEqual(new Set(['30s']));
    const connections = await Promise.all(sessions.map(() => through.connect()));
    const left = await Promise.all(
      connections.map((connection) =>
        connection.query(
          `SELECT current_setting('statement_timeout') AS statement,
                  current_setting('lock_timeout') AS lock,
                  (SELECT count(*)::int FROM pg_prepared_statements) AS prepared,
                  (SELECT count(*)::int FROM pg_listening_channels()) AS listening`,
        ),
      ),
    );
    for (const { rows } of left) {
      expect(rows).toEqual([{ statement: '0', lock: '0', prepared: 0, listening: 0 }]);
    }
    for (const connection of connections) connection.release();
    await through.end();
  });

  test.each([
    ['the pooler', () => pooled, 'DATABASE_DIRECT_URL leads through a pooler too'],
    [
      'another database',
      () => inject('databaseUrl'),
      'DATABASE_DIRECT_URL and DATABASE_URL lead to different databases',
    ],
  ])('a direct address that is %s stops the start, and doctor says so', async (...args) => {
    const [, direct, message] = args;
    const settings = { DATABASE_URL: pooled, DATABASE_DIRECT_URL: direct() };
    const server = launchServer(settings);
    expect(await server.exited).toEqual({ code: 1, signal: null });
    expect(server.stderr()).toContain(message);
    const { code, stdout } = await runCommand(['doctor'], settings);
    expect(stdout).toMatch(new RegExp(`problem +Direct connection +${message}`));
    expect(code).toBe(1);
  });

  test('each stops in order, and leaves no connection in a transaction', async () => {
    for (const server of servers()) {
      expect(await server.stop()).toEqual({ code: 0, signal: null });
      expect(server.stderr()).not.toContain('a shutdown step failed');
    }
    const { rows } = await database.query(
      `SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND state LIKE 'idle in transaction%'`,
    );
    expect(rows).toEqual([]);
  });
});
