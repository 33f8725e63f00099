/**
 * Access to the embedded database: an ordinary role, over a socket if its path fits, and over a
 * port that another program may take; and the upgrade of a cluster that an older version created.
 */
import { once } from 'node:events';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createDatabase, type Database } from '../../../src/db/database.ts';
import { connectEmbedded } from '../../../src/db/embedded/connect.ts';
import { migrate } from '../../../src/db/migrate.ts';
import { openForRequests } from '../../../src/main/connection-shares.ts';
import { ask, gone, type Lab, openLab, run, serverPid } from '../../support/embedded-lab.ts';
import { inFull } from '../../support/exhaustive.ts';
import { type FalsePostgres, listenFalsely, TRICKS } from '../../support/false-postgres.ts';
import { makeOldCluster, startOldServer } from '../../support/old-cluster.ts';
import { waitFor } from '../../support/wait-for.ts';

let lab: Lab;
beforeEach(() => {
  lab = openLab();
});
afterEach(() => lab.close());

const SETUP_ONLY = {
  "COPY (SELECT 1) TO PROGRAM 'true'": '42501',
  "SELECT pg_read_file('/etc/passwd')": '42501',
  "COPY t FROM '/etc/passwd'": '42501',
  'CREATE ROLE other SUPERUSER': '42501',
  'ALTER ROLE sluice SUPERUSER': '42501',
  'SET ROLE sluice_setup': '42501',
  "ALTER SYSTEM SET archive_command = 'true'": '42501',
  'CREATE DATABASE other': '42501',
} as const;

const ROLES = `SELECT rolname || ' ' || rolsuper::text || ' ' || (rolpassword IS NULL)::text
  FROM pg_authid WHERE rolname LIKE 'sluice%' ORDER BY 1`;

/** A folder whose path is too long for a socket in it. */
async function longFolder(): Promise<string> {
  const path = join(await lab.folder(), 'a-long-name-'.repeat(8));
  await mkdir(path);
  return path;
}

async function codeOf(url: string, sql: string): Promise<unknown> {
  return await ask(url, sql).then(
    () => null,
    (error: { code?: unknown }) => error.code,
  );
}

describe('the role that everything is done by', () => {
  it('owns its database, runs every migration, and has no other rights', async () => {
    const { url } = await lab.start(await lab.madeFolder());
    const database = createDatabase(url, 1, { connectionLost: () => {} });
    expect((await migrate(database)).length).toBeGreaterThan(0);
    await database.end();
    await ask(url, 'CREATE TABLE t (line text)');
    for (const [sql, code] of Object.entries(SETUP_ONLY))
      expect(await codeOf(url, sql), sql).toBe(code);
    // Only the superuser can read passwords.
    expect(await codeOf(url, ROLES)).toBe('42501');
    for (const role of ['sluice_setup', 'postgres']) {
      const as = new URL(url);
      as.username = role;
      expect(await codeOf(as.href, 'SELECT 1')).toBe('28P01');
    }
  });
});

describe('an ordinary folder', () => {
  it('has a port on 127.0.0.1 for COPY and keys, a socket for everything else', async () => {
    const dataDir = await lab.madeFolder();
    const urls = await lab.start(dataDir);
    expect(await connectEmbedded(dataDir)).toBe(urls.url);
    const pools = openForRequests(urls, { connectionLost: () => {} });
    const serverAddress = async (pool: Database): Promise<unknown> =>
      (await pool.query<{ a: string | null }>('SELECT host(inet_server_addr()) AS a')).rows[0]?.a;
    try {
      expect(await serverAddress(pools.ingest)).toBe('127.0.0.1');
      expect(await serverAddress(pools.reads)).toBeNull();
      expect(await serverAddress(pools.probes)).toBeNull();
    } finally {
      await pools.close();
    }
  });
});

describe('a folder whose path is too long for a socket', () => {
  it('has only the port, the same at every start; another when that is taken', async () => {
    const dataDir = await longFolder();
    const first = await lab.start(dataDir);
    expect(first.copyUrl).toBe(first.url);
    expect(await ask(first.url, 'SHOW unix_socket_directories')).toEqual(['']);
    expect(await ask(first.url, 'SHOW listen_addresses')).toEqual(['127.0.0.1']);
    expect(await connectEmbedded(dataDir)).toBe(first.url);
    await first.stop();
    const again = await lab.start(dataDir);
    expect(again.url).toBe(first.url);
    await again.stop();

    const squatter = createServer().listen(Number(new URL(first.url).port), '127.0.0.1');
    await once(squatter, 'listening');
    try {
      const second = await lab.start(dataDir);
      expect(new URL(second.url).port).not.toBe(new URL(first.url).port);
      expect(await ask(second.url, 'SELECT 1')).toEqual([1]);
    } finally {
      squatter.close();
    }
  });
});

describe('the port', () => {
  it('gives nothing to a program that takes the port when the server is down', async () => {
    const { copyUrl: url, home } = await lab.start(await lab.madeFolder());
    const password = (await readFile(join(home, 'password'), 'utf8')).trim();
    const pool = createDatabase(url, 1, { connectionLost: () => {} });
    await pool.query('SELECT 1');
    const pid = await serverPid(home);
    process.kill(pid, 'SIGKILL');
    await gone(pid);
    // The process behind the open connection notices a moment later that its server is dead.
    await waitFor(
      () =>
        pool.query('SELECT 1').then(
          () => false,
          () => true,
        ),
      {
        withinMs: 60_000,
        what: 'the open connection to end',
      },
    );
    let thief: FalsePostgres | null = null;
    try {
      for (const answers of Object.values(TRICKS)) {
        thief = await listenFalsely(answers, Number(new URL(url).port));
        await expect(pool.query("SELECT 'customer text'")).rejects.toThrow();
        expect(thief.connections()).toBeGreaterThan(0);
        expect(thief.received()).not.toContain(password);
        expect(thief.received()).not.toContain('customer text');
        await thief.close();
        thief = null;
      }
    } finally {
      await thief?.close();
      await pool.end();
    }
  });
});

describe('a cluster of an older version, whose role is the superuser', () => {
  const FILL = `
    CREATE TABLE "Kept things" (id int GENERATED ALWAYS AS IDENTITY, n bigserial, body text);
    CREATE TABLE days (day date NOT NULL, n int) PARTITION BY RANGE (day);
    CREATE TABLE days_1 PARTITION OF days FOR VALUES FROM ('2026-01-01') TO ('2026-01-02');
    CREATE VIEW seen AS SELECT body FROM "Kept things";
    CREATE TYPE mood AS ENUM ('good');
    CREATE DOMAIN short AS text CHECK (length(VALUE) < 9);
    CREATE SEQUENCE loose;
    CREATE SCHEMA side;
    CREATE TABLE side.t AS SELECT 1 AS n;
    CREATE FUNCTION same(x int) RETURNS int LANGUAGE sql AS 'SELECT x';
    INSERT INTO "Kept things" (body) SELECT 'row ' || g FROM generate_series(1, 1000) g`;

  const OWNERS = `
    SELECT DISTINCT owner::regrole::text FROM (
      SELECT relowner AS owner FROM pg_class c WHERE relnamespace IN ('public'::regnamespace, 'side'::regnamespace)
      UNION ALL SELECT typowner FROM pg_type WHERE typnamespace = 'public'::regnamespace
      UNION ALL SELECT proowner FROM pg_proc WHERE pronamespace = 'public'::regnamespace
      UNION ALL SELECT nspowner FROM pg_namespace WHERE nspname = 'side'
      UNION ALL SELECT datdba FROM pg_database WHERE datname = 'sluice'
    ) AS owners`;

  async function expectTakenOver(url: string): Promise<void> {
    expect(new URL(url).hostname).toMatch(/^%2F/);
    expect(await ask(url, 'SELECT rolsuper FROM pg_roles WHERE rolname = current_user')).toEqual([
      false,
    ]);
    expect(await ask(url, 'SELECT count(*)::int FROM "Kept things"')).toEqual([1000]);
    expect(await ask(url, OWNERS)).toEqual(['sluice']);
    await run(
      url,
      'ALTER TABLE days DETACH PARTITION days_1; DROP TABLE days_1; DROP SCHEMA side CASCADE',
    );
    await ask(url, `INSERT INTO "Kept things" (body) VALUES ('new')`);
    for (const [sql, code] of Object.entries(SETUP_ONLY)) {
      if (!sql.includes(' t ')) expect(await codeOf(url, sql), sql).toBe(code);
    }
    const as = new URL(url);
    as.username = 'sluice_setup';
    expect(await codeOf(as.href, 'SELECT 1')).toBe('28P01');
  }

  it('is taken over with all its rows, and later starts leave it alone', async () => {
    const dataDir = await lab.folder();
    const old = await makeOldCluster(dataDir);
    await startOldServer(old, async (url) => {
      await run(url, FILL);
    });
    const first = await lab.start(dataDir);
    expect(first).toMatchObject({ adopted: false, owned: true });
    await expectTakenOver(first.url);
    expect((await stat(join(first.home, 'cluster'))).uid).toBe(
      old.account?.uid ?? process.getuid?.(),
    );
    await first.stop();
    expect(lab.lines.join()).toContain('upgraded');
    lab.lines.length = 0;
    const second = await lab.start(dataDir);
    expect(second.url).toBe(first.url);
    expect(lab.lines.join()).not.toContain('upgraded');
  });

  inFull(
    'also while the older server still runs, and with a first start that was interrupted',
    async () => {
      const dataDir = await lab.folder();
      const old = await makeOldCluster(dataDir);
      let answers = -1;
      await startOldServer(old, async (url) => {
        await run(url, FILL);
        const client = new pg.Client(url);
        client.on('error', () => {});
        await client.connect();
        // Commands of this version beside the older server use it as it is.
        expect(await connectEmbedded(dataDir)).toContain('@127.0.0.1:');
        const adopted = await lab.start(dataDir);
        answers = (await ask(adopted.url, 'SELECT 1')).length;
        await expectTakenOver(adopted.url);
        await adopted.stop();
        await client.end().catch(() => {});
      });
      expect(answers).toBe(1);

      const empty = await lab.folder();
      await makeOldCluster(empty, { withDatabase: false });
      const { url } = await lab.start(empty);
      expect(
        await ask(
          url,
          'SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()',
        ),
      ).toEqual(['sluice']);
    },
  );

  inFull('finishes what was interrupted between its two transactions', async () => {
    const dataDir = await lab.folder();
    const old = await makeOldCluster(dataDir);
    await startOldServer(old, async (url) => {
      await run(url, FILL);
      // The state after the first transaction: the superuser renamed, an ordinary role with the old
      // name.
      await ask(url, "CREATE ROLE helper SUPERUSER LOGIN PASSWORD 'helper'");
      const as = new URL(url);
      as.username = 'helper';
      as.password = 'helper';
      const password = new URL(url).password;
      await run(
        as.href,
        `ALTER ROLE sluice RENAME TO sluice_setup; CREATE ROLE sluice LOGIN PASSWORD '${password}'`,
      );
    });
    await expectTakenOver((await lab.start(dataDir)).url);
  });
});
