/**
 * A real PgBouncer in transaction mode, on a free port of 127.0.0.1, in front of the PostgreSQL of a url.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { databaseAccount } from '../../src/db/embedded/account.ts';
import { pgbouncerPath } from './programs.ts';
import { findFreePort } from './sockets.ts';
import { waitFor } from './wait-for.ts';

export interface TestPooler {
  readonly port: number;
  readonly pid: number;
  readonly close: () => Promise<void>;
}

export interface PoolerSettings {
  /** connections to PostgreSQL for each database and user */
  readonly poolSize?: number;
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Starts it and waits until it takes connections.
 *
 * @param url of a PostgreSQL that listens on 127.0.0.1; its role logs in through the pooler
 */
export async function startPgBouncer(
  url: string,
  { poolSize = 3 }: PoolerSettings = {},
): Promise<TestPooler> {
  const { username, password, pathname, port: serverPort } = new URL(url);
  const folder = await mkdtemp(join(tmpdir(), 'sluice-pgbouncer-'));
  // Root's PgBouncer refuses to run; another account must be able to enter.
  await chmod(folder, 0o755);
  const port = await findFreePort();
  await writeFile(join(folder, 'users.txt'), `"${username}" "${decodeURIComponent(password)}"\n`);
  await writeFile(
    join(folder, 'pgbouncer.ini'),
    `[databases]
* = host=127.0.0.1 port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${join(folder, 'users.txt')}
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 500
`,
  );
  const account = await databaseAccount();
  if (pgbouncerPath === null) throw new Error('pgbouncer is not installed');
  const child = spawn(pgbouncerPath, [join(folder, 'pgbouncer.ini')], {
    stdio: 'ignore',
    ...(account === null ? {} : { uid: account.uid, gid: account.gid }),
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  const answers = async (): Promise<boolean> => {
    const client = new pg.Client({
      connectionString: `postgres://${username}:${password}@127.0.0.1:${port}${pathname}`,
    });
    try {
      await client.connect();
      return true;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => {});
    }
  };
  await waitFor(answers, { withinMs: 20_000, what: 'PgBouncer to take connections' });
  return {
    port,
    pid: child.pid ?? 0,
    close: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}
