/**
 * PostgreSQL servers of the storage benchmark's own: the embedded programs, or those of a folder, with
 * the embedded server's settings and whatever a question changes of them. Each has a cluster of its own
 * in a temporary folder, and all of it is gone after `close`.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';

import { databaseAccount } from '../../src/db/embedded/account.ts';
import { serverArguments } from '../../src/db/embedded/cluster.ts';
import { preparePlace } from '../../src/db/embedded/place.ts';
import {
  type Account,
  asAccount,
  CHILD_ENVIRONMENT,
  runProgram,
} from '../../src/db/embedded/process.ts';
import { ROLE } from '../../src/db/embedded/roles.ts';
import { findRuntime, type Runtime } from '../../src/db/embedded/runtime.ts';

const PASSWORD = 'bench';
const CONNECTIONS = 60;
const INITDB_TIMEOUT_MS = 180_000;
const READY_TIMEOUT_MS = 60_000;
const POLL_MS = 50;
/** From here on initdb knows the builtin locale, which the embedded cluster is made with. */
const BUILTIN_LOCALE_MAJOR = 17;

export interface Programs {
  readonly runtime: Runtime;
  readonly account: Account;
  /** a cluster as initdb leaves it, to copy */
  readonly draft: string;
  readonly folder: string;
}

export interface StoreServer {
  /** postgres://…, of one of its databases */
  readonly url: (database: string) => string;
  readonly version: string;
  readonly close: () => Promise<void>;
}

/** Settings by name, as PostgreSQL writes them. */
export type ServerSettings = Readonly<Record<string, string>>;

/** The programs that Sluice brings along. */
export async function embeddedPrograms(): Promise<Programs> {
  const folder = makeFolder();
  const { runtime, account } = await preparePlace(join(folder, 'place'));
  return { runtime, account, folder, draft: await initialise(runtime, account, folder) };
}

/**
 * The programs of a folder.
 *
 * @param binaries such as /usr/lib/postgresql/15/bin
 */
export async function installedPrograms(binaries: string): Promise<Programs> {
  const folder = makeFolder();
  const account = await databaseAccount();
  const runtime = await findRuntime(binaries, account, join(folder, 'copy'));
  return { runtime, account, folder, draft: await initialise(runtime, account, folder) };
}

/** Where the system's own PostgreSQL has its programs; null when there is none. */
export async function installedBinaries(): Promise<string | null> {
  try {
    return (await promisify(execFile)('pg_config', ['--bindir'])).stdout.trim();
  } catch {
    return null;
  }
}

/** Removes what the programs left on disk; their servers must be closed. */
export function removePrograms({ folder }: Programs): void {
  rmSync(folder, { recursive: true, force: true });
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-store-'));
  chmodSync(folder, 0o755);
  return folder;
}

function makeOwned(path: string, account: Account): void {
  mkdirSync(path, { mode: 0o700 });
  if (account !== null) chownSync(path, account.uid, account.gid);
}

async function initialise(runtime: Runtime, account: Account, folder: string): Promise<string> {
  const draft = join(folder, 'draft');
  makeOwned(draft, account);
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, `${PASSWORD}\n`);
  const locale =
    runtime.major < BUILTIN_LOCALE_MAJOR
      ? []
      : ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const run = await runProgram(
    runtime.initdb,
    ['-D', draft, '-U', ROLE, `--pwfile=${passwordFile}`, '--auth=scram-sha-256']
      .concat(['--encoding=UTF8', '--locale=C'])
      .concat(locale),
    { account, timeoutMs: INITDB_TIMEOUT_MS },
  );
  if (run.code !== 0) throw new Error(`initdb: ${run.output}`);
  return draft;
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  listener.close();
  await once(listener, 'close');
  if (address === null || typeof address === 'string') throw new Error('a TCP port without number');
  return address.port;
}

/** The version the server says it is, once it answers. */
async function awaitReady(url: string, child: ChildProcess): Promise<string> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ server_version: string }>('SHOW server_version');
      return rows[0]?.server_version ?? '';
    } catch (error) {
      if (child.exitCode !== null || Date.now() > deadline) throw error;
      await sleep(POLL_MS);
    } finally {
      await client.end();
    }
  }
}

/**
 * Starts a server on a cluster of its own.
 *
 * @param changed instead of, or beside, the embedded server's settings
 */
export async function startStoreServer(
  programs: Programs,
  changed: ServerSettings = {},
): Promise<StoreServer> {
  const cluster = mkdtempSync(join(programs.folder, 'cluster-'));
  cpSync(programs.draft, cluster, { recursive: true, preserveTimestamps: true });
  if (programs.account !== null) {
    const { uid, gid } = programs.account;
    await promisify(execFile)('chown', ['-R', `${uid}:${gid}`, cluster]);
  }
  const port = await freePort();
  const settings = Object.entries(changed).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(
    programs.runtime.postgres,
    [
      '-D',
      cluster,
      ...serverArguments({ port, listensOnPort: true, socketFolder: null }, CONNECTIONS),
      ...settings,
    ],
    { ...asAccount(programs.account), cwd: '/', env: CHILD_ENVIRONMENT, stdio: 'ignore' },
  );
  const url = (database: string) => `postgres://${ROLE}:${PASSWORD}@127.0.0.1:${port}/${database}`;
  const close = async () => {
    if (child.exitCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGINT');
      await ended;
    }
    rmSync(cluster, { recursive: true, force: true });
  };
  try {
    return { url, version: await awaitReady(url('postgres'), child), close };
  } catch (error) {
    await close();
    throw error;
  }
}
