/**
 * The running server of a home: finds it, logs in, stops it. Every wait has a time limit. Never signals
 * a process without having checked that it is PostgreSQL on this very cluster; `pg_ctl stop` would
 * (docs/decisions/0001-embedded-postgres.md).
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError } from '../../errors.ts';
import { type Address, addressOf, addressText, addressUrls, type DatabaseUrls } from './address.ts';
import { readPassword } from './cluster.ts';
import { clusterOf } from './installation.ts';
import { serverLogTail } from './log.ts';
import { errorCode, processCommand, processIdentity } from './process.ts';
import { DATABASE, ROLE } from './roles.ts';
import { ScramClient } from './scram-client.ts';

export interface Server {
  readonly pid: number;
  readonly address: Address;
  readonly status: 'starting' | 'ready' | 'stopping';
}

/** Crash recovery replays max_wal_size and more; on a slow disk that takes minutes. */
export const START_TIMEOUT_MS = 300_000;
export const POLL_MS = 25;
/** Fast shutdown writes a checkpoint of at most shared_buffers. */
const FAST_STOP_TIMEOUT_MS = 60_000;
const IMMEDIATE_STOP_TIMEOUT_MS = 15_000;
const LOGIN_TIMEOUT_MS = 10_000;

/** Finds the server that runs on the cluster of `home`, by postmaster.pid and the process's command. */
export async function findServer(home: string): Promise<Server | null> {
  const lines = await readPidFile(home);
  // Negative: PostgreSQL without a server (roles.ts), which ends by itself.
  const pid = Math.abs(Number(lines?.[0]));
  if (lines === null || !Number.isInteger(pid) || pid === 0) return null;
  if ((await processIdentity(pid)) === null) return null;
  const command = await processCommand(pid);
  const isOurs = command?.includes('postgres') && command.includes(` -D ${clusterOf(home)} `);
  if (!isOurs) return null;
  const word = lines[7]?.trim();
  const status = word === 'ready' || word === 'stopping' ? word : 'starting';
  return { pid, address: addressOf(home, lines), status };
}

/**
 * The lines of postmaster.pid: pid, data directory, start, port, socket directory, address, shared
 * memory, status; the last ones come later than the first. null when there is no file.
 */
export async function readPidFile(home: string): Promise<string[] | null> {
  try {
    return (await readFile(join(clusterOf(home), 'postmaster.pid'), 'utf8')).split('\n');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Waits until the server of `home` accepts logins; null when it is gone. @throws OperatorError */
export async function settledServer(
  home: string,
  limitMs: number = START_TIMEOUT_MS,
): Promise<Server | null> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const server = await findServer(home);
    if (server === null || server.status === 'ready') return server;
    if (performance.now() > deadline) {
      throw new OperatorError(
        `PostgreSQL (pid ${server.pid}) has been ${server.status} for ${limitMs / 1000} s: ` +
          (await serverLogTail(home, 0)),
      );
    }
    await sleep(POLL_MS);
  }
}

/** Logs in with the home's password by SCRAM, which also proves that the server knows it. */
export async function logIn(home: string, { pid, address }: Server): Promise<DatabaseUrls> {
  const login = { role: ROLE, password: await readPassword(home), database: DATABASE };
  const urls = addressUrls(address, login);
  const client = new ScramClient({
    connectionString: urls.url,
    connectionTimeoutMillis: LOGIN_TIMEOUT_MS,
    query_timeout: LOGIN_TIMEOUT_MS,
  });
  // A connection that breaks rejects the query too; without a listener it would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return urls;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new OperatorError(
      `cannot log in to the embedded PostgreSQL (pid ${pid}, ${addressText(address)}): ${why}`,
      { cause },
    );
  } finally {
    await client.end();
  }
}

/** Stops the server of `home`: `fast`, after a minute `immediate` (the next start recovers from the log). */
export async function stopServer(home: string): Promise<void> {
  const server = await findServer(home);
  if (server === null) return;
  signal(server.pid, 'SIGINT');
  if (await goneWithin(home, server.pid, FAST_STOP_TIMEOUT_MS)) return;
  signal(server.pid, 'SIGQUIT');
  if (await goneWithin(home, server.pid, IMMEDIATE_STOP_TIMEOUT_MS)) return;
  throw new OperatorError(
    `PostgreSQL (pid ${server.pid}) does not stop: ${await serverLogTail(home, 0)}`,
  );
}

/** Checks the process, because postmaster.pid is removed shortly before it ends. */
async function goneWithin(home: string, pid: number, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    if ((await processIdentity(pid)) === null) return true;
    const server = await findServer(home);
    if (server !== null && server.pid !== pid) return true;
    if (performance.now() > deadline) return false;
    await sleep(POLL_MS);
  }
}

function signal(pid: number, name: 'SIGINT' | 'SIGQUIT'): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}
