/**
 * Access to the embedded database: an ordinary role, over a socket if its path fits, and over a
 * port that another program may take.
 */
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createDatabase, type Database } from '../../../src/db/database.ts';
import { connectEmbedded } from '../../../src/db/embedded/connect.ts';
import { migrate } from '../../../src/db/migrate.ts';
import { openForRequests } from '../../../src/main/connection-shares.ts';
import { ask, gone, type Lab, openLab, serverPid } from '../../support/embedded-lab.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type FalsePostgres, listenFalsely, TRICKS } from './false-postgres.ts';

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
      expect(await serverAddress(pools.reads({ workspaceId: 1 }))).toBeNull();
      expect(await serverAddress(pools.accounts)).toBeNull();
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
