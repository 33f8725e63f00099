/**
 * A laboratory for the tests of the embedded server: folders, child processes, questions to a
 * server. `close()` stops every server and child that was started and removes every folder.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { inject } from 'vitest';
import {
  type EmbeddedDatabase,
  type StartOptions,
  startEmbedded,
} from '../../src/db/embedded/connect.ts';
import { processIdentity } from '../../src/db/embedded/process.ts';
import { findServer, stopServer } from '../../src/db/embedded/server.ts';
import { bundle } from './checkout.ts';
import { clusterPrefix, copyCluster } from './cluster.ts';

/** Built once for each worker. */
let childPath: Promise<string> | null = null;

/** What the child process tells of its database. */
export type Report = Omit<EmbeddedDatabase, 'stop' | 'supervise'>;

export interface Child {
  readonly process: ChildProcess;
  readonly report: Report;
  /** Lets the child stop its database and waits for its end. */
  end(): Promise<void>;
}

export interface Lab {
  readonly lines: string[];
  /** a new empty folder that every user can enter */
  folder(): Promise<string>;
  /** the same, with a cluster as a first start makes it */
  madeFolder(): Promise<string>;
  start(
    dataDir: string,
    options?: Partial<Omit<StartOptions, 'dataDir' | 'log'>>,
  ): Promise<EmbeddedDatabase>;
  /** a child process with the database of `dataDir`; rejects with what it said when that failed */
  child(dataDir: string, user?: { uid: number; gid: number }, ownerWaitMs?: number): Promise<Child>;
  /** to be removed by `close`, with the server that may run in it */
  forget(home: string): void;
  close(): Promise<void>;
}

export function openLab(): Lab {
  const lines: string[] = [];
  const note = (message: string): void => void lines.push(message);
  const folders: string[] = [];
  const homes = new Set<string>();
  const children: ChildProcess[] = [];

  const folder = async (): Promise<string> => {
    const path = await realpath(await mkdtemp(clusterPrefix()));
    await chmod(path, 0o755);
    folders.push(path);
    return path;
  };

  return {
    lines,
    folder,
    async madeFolder() {
      const path = await folder();
      await copyCluster(inject('clusterFolder'), path);
      return path;
    },
    async start(dataDir, options) {
      const log = { info: note, warn: note };
      const database = await startEmbedded({ dataDir, log, ...options });
      homes.add(database.home);
      return database;
    },
    async child(dataDir, user, ownerWaitMs = 30_000) {
      childPath ??= bundle(new URL('./embedded-child.ts', import.meta.url));
      const args = [await childPath, dataDir, String(ownerWaitMs)];
      const child = spawn(process.execPath, args, {
        ...user,
        detached: true,
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      children.push(child);
      const [line] = await once(createInterface({ input: child.stdout }), 'line');
      const report: unknown = JSON.parse(String(line));
      if (!isReport(report)) throw new Error(String(line));
      homes.add(report.home);
      const end = async (): Promise<void> => {
        child.stdin.end();
        await ended(child);
      };
      return { process: child, report, end };
    },
    forget: (home) => void homes.add(home),
    async close() {
      for (const child of children) {
        child.kill('SIGKILL');
        await ended(child);
      }
      for (const home of homes) {
        await stopServer(home);
        await rm(home, { recursive: true, force: true });
        if (home.startsWith('/var/lib/sluice/')) await rm(dirname(home), { recursive: true });
      }
      for (const folder of folders) await rm(folder, { recursive: true, force: true });
    },
  };
}

function isReport(value: unknown): value is Report {
  return typeof value === 'object' && value !== null && 'home' in value;
}

/** Waits until the child has ended. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

/** The first column of a query's rows, over a connection of its own. */
export async function ask(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<unknown[]>({ text: sql, rowMode: 'array' });
    return rows.map((row) => row[0]);
  } finally {
    await client.end();
  }
}

/** Statements without answers, over a connection of their own. */
export async function run(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** Pid of the server that runs in `home`. */
export async function serverPid(home: string): Promise<number> {
  const server = await findServer(home);
  if (server === null) throw new Error(`no server runs in ${home}`);
  return server.pid;
}

/** Waits until there is no process `pid`. */
export async function gone(pid: number): Promise<void> {
  while ((await processIdentity(pid)) !== null) await sleep(10);
}

/** The server's whole log. */
export function serverLog(home: string): Promise<string> {
  return readFile(join(home, 'server.log'), 'utf8');
}

/**
 * Freezes the server of `home`; one that is frozen cannot be stopped.
 *
 * @param url of a database of that server
 * @returns resumes it
 */
export async function freezeServer(home: string, url: string): Promise<() => void> {
  const backends = await ask(url, 'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()');
  const pids = [await serverPid(home), ...backends.map(Number)];
  signalAll(pids, 'SIGSTOP');
  return () => signalAll(pids, 'SIGCONT');
}

/** Resumes the server of `home`, if there is one, which a test froze that was killed then. */
export async function resumeServer(home: string): Promise<void> {
  const server = await findServer(home);
  if (server === null) return;
  const list = `/proc/${server.pid}/task/${server.pid}/children`;
  const children = existsSync(list) ? readFileSync(list, 'utf8').trim().split(' ') : [];
  signalAll([server.pid, ...children.map(Number)], 'SIGCONT');
}

function signalAll(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch (error) {
      // One whose client has gone may end in between.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }
}

/** What `spawn` needs before a command; its end, also by SIGKILL, ends everything inside. */
export const IN_CONTAINER = [
  'unshare',
  '--pid',
  '--ipc',
  '--mount',
  '--uts',
  '--fork',
  '--kill-child',
  '--mount-proc',
] as const;

/** The same, without the program that locks: as on a file system without locks. */
export const WITHOUT_LOCKS = [
  ...IN_CONTAINER,
  'sh',
  '-c',
  'mount --bind /dev/null "$(command -v flock)" && exec "$@"',
  'sh',
] as const;

/** The pid, seen from outside, of the first process inside. */
export async function firstInside({ pid }: ChildProcess): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return Number(children.trim().split(' ')[0]);
}

export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a command to its end. */
export async function runInside(
  prefix: readonly string[],
  command: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd: string,
): Promise<Ended> {
  const [file = '', ...args] = [...prefix, ...command];
  const child = spawn(file, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  return await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}
