/** The programs of the high-availability run: each on 127.0.0.1, in one folder, ended with the run. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Packages of Debian and the programs that are looked for. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  patroni: ['/usr/bin/patroni'],
  'python3-etcd': ['/usr/lib/python3/dist-packages/etcd'],
  'etcd-server': ['/usr/bin/etcd'],
  haproxy: ['/usr/sbin/haproxy'],
  'redis-server': ['/usr/bin/redis-server'],
};

/** The newest PostgreSQL that Debian has installed; null when there is none. */
export function postgresBin(): string | null {
  const found = [18, 17, 16, 15, 14].map((version) => `/usr/lib/postgresql/${version}/bin`);
  return found.find((path) => existsSync(join(path, 'pg_rewind'))) ?? null;
}

/** Of these, and of PostgreSQL, the packages of Debian that are not installed. */
export function missingPackages(needed: readonly string[] = Object.keys(NEEDED)): string[] {
  const missing = Object.entries(NEEDED)
    .filter(([name, paths]) => needed.includes(name) && !paths.every((path) => existsSync(path)))
    .map(([name]) => name);
  return postgresBin() === null ? [...missing, 'postgresql'] : missing;
}

export interface Program {
  readonly name: string;
  readonly pid: () => number;
  readonly start: () => void;
  /** Kills it with all processes that it has started. */
  readonly kill: () => Promise<void>;
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** The process of a file that has its id in the first line; null when there is none. */
async function pidOf(file: string): Promise<number | null> {
  const content = await readFile(file, 'utf8').catch(() => '');
  const pid = Number.parseInt(content, 10);
  return pid > 1 && existsSync(`/proc/${pid}`) ? pid : null;
}

/** Process ids of a process and all of its descendants. */
function familyOf(pid: number): number[] {
  const listed = execFileSync('ps', ['-e', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  const parents = listed
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([one]) => one !== undefined && one > 0);
  const family = [pid];
  for (let at = 0; at < family.length; at += 1) {
    for (const [child = 0, parent] of parents) if (parent === family[at]) family.push(child);
  }
  return family;
}

export interface ProgramSettings {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly account: { readonly uid: number; readonly gid: number } | null;
  /** of the log and working files */
  readonly folder: string;
  /** of a process that the program starts and leaves alone (PostgreSQL's postmaster.pid) */
  readonly pidFile?: string;
}

/** Describes a program; `start` runs it. */
export function createProgram(settings: ProgramSettings): Program {
  const { name, command, args, account, folder, pidFile } = settings;
  let child: ChildProcess | null = null;
  return {
    name,
    pid: () => child?.pid ?? 0,
    start: () => {
      const log = openSync(join(folder, `${name}.log`), 'a');
      child = spawn(command, args, {
        cwd: folder,
        env: { PATH: '/usr/bin:/bin:/usr/sbin', HOME: folder, LC_ALL: 'C.UTF-8' },
        stdio: ['ignore', log, log],
        ...(account ?? {}),
      });
      closeSync(log);
      running.add(child);
      child.once('exit', () => child !== null && running.delete(child));
    },
    kill: async () => {
      const ended = child;
      if (ended === null || ended.exitCode !== null || ended.signalCode !== null) return;
      const exited = once(ended, 'exit');
      const detached = pidFile === undefined ? null : await pidOf(pidFile);
      const pids = [ended.pid ?? 0, ...(detached === null ? [] : [detached])];
      for (const pid of pids.flatMap(familyOf)) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // It has ended since it was listed.
        }
      }
      await exited;
      running.delete(ended);
    },
  };
}
