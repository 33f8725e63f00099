/**
 * Child processes and process ids: runs a program and returns its output, and identifies the process
 * that has a pid.
 *
 * Children never inherit the environment, which has secrets, and PG* variables that would change
 * PostgreSQL's behaviour. A failing program is a value; the caller decides what it means.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile, readlink } from 'node:fs/promises';

/** The account that a PostgreSQL program runs as; null means this process's. */
export type SystemAccount = { readonly uid: number; readonly gid: number } | null;

interface ProgramResult {
  readonly code: number | null;
  readonly output: string;
  readonly missing: boolean;
}

const OUTPUT_CHARS_MAX = 1024 * 1024;
/** Free memory that a PostgreSQL process keeps for its next transaction. */
const KEPT_BYTES_MAX = 8 * 1024 * 1024;

/**
 * The environment of children. 'C' keeps messages in English; some of them are parsed. By default glibc
 * gives a transaction's memory back to the kernel, which clears it for the next one: a tenth of
 * PostgreSQL's CPU time for a COPY (docs/decisions/0025-tried-for-speed.md).
 */
export const CHILD_ENVIRONMENT = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  MALLOC_TRIM_THRESHOLD_: String(KEPT_BYTES_MAX),
  MALLOC_MMAP_THRESHOLD_: String(KEPT_BYTES_MAX),
  MALLOC_TOP_PAD_: String(1024 * 1024),
} as const;

export function asAccount(account: SystemAccount): { uid?: number; gid?: number } {
  return account === null ? {} : { uid: account.uid, gid: account.gid };
}

/**
 * Runs a program to its end, from the root directory, which every account can enter. A failure is a value.
 * @param options.inherited an open file that it gets as number 3
 */
export function runProgram(
  file: string,
  args: readonly string[],
  options: {
    readonly account: SystemAccount;
    readonly timeoutMs: number;
    readonly input?: string;
    readonly inherited?: number | null;
  },
): Promise<ProgramResult> {
  const { account, timeoutMs, input = '', inherited = null } = options;
  const start = (): ChildProcess =>
    spawn(file, [...args], {
      ...asAccount(account),
      cwd: '/',
      env: CHILD_ENVIRONMENT,
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      stdio: ['pipe', 'pipe', 'pipe', ...(inherited === null ? [] : [inherited])],
    });
  return new Promise((resolve) => {
    let child: ChildProcess;
    try {
      child = start();
    } catch (error) {
      // For example, a container does not map the user id.
      resolve(notStarted(error));
      return;
    }
    const written = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name]?.setEncoding('utf8').on('data', (text: string) => {
        if (written[name].length < OUTPUT_CHARS_MAX) written[name] += text;
      });
    }
    child.once('error', (error) => resolve(notStarted(error)));
    // Programs that a killed one has started may keep its output open.
    child.once('exit', (code) => {
      if (code === null) for (const name of ['stdout', 'stderr'] as const) child[name]?.destroy();
    });
    child.once('close', (code, signal) => {
      const output = `${written.stdout}${written.stderr}`.trim();
      const isSilent = output === '' && code !== 0;
      const said = isSilent && signal !== null ? `it was ended by ${signal}` : output;
      resolve({ code, output: said, missing: false });
    });
    // A program that ends without reading it has an exit code.
    child.stdin?.on('error', () => {}).end(input);
  });
}

function notStarted(error: unknown): ProgramResult {
  const output = error instanceof Error ? error.message : String(error);
  return { code: null, output, missing: errorCode(error) === 'ENOENT' };
}

export function oneLine(output: string): string {
  return output.replace(/\s*\n\s*/g, ' · ').slice(0, 1000);
}

/** The code an error carries: errno name (`ENOENT`) or SQLSTATE (`42P04`); null when none. */
export function errorCode(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

/**
 * Identifies the process that has `pid` now, since pids are reused: by its start time, and on Linux the boot
 * it counts from. Null for a zombie.
 */
export async function processIdentity(pid: number): Promise<string | null> {
  if (process.platform !== 'linux') {
    const ps = await runProgram('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], PS_OPTIONS);
    return ps.code !== 0 || ps.output.startsWith('Z') ? null : ps.output.replace(/^\S+\s+/, '');
  }
  if (!(await seesOwnProcesses())) return null;
  const stat = await readProc(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The program's name is in parentheses and may contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // PID 1 of a container may never reap, so a zombie counts as ended.
  if (fields[0] === 'Z' || fields[0] === 'X') return null;
  // The start time, proc(5): field 22; these are the fields from the third on.
  return `${await bootId()} ${fields[19]}`;
}

/** Checks whether /proc has this process's pids, and not those of the container around this one. */
async function seesOwnProcesses(): Promise<boolean> {
  return (await readlink('/proc/self')) === String(process.pid);
}

export async function bootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
}

export async function processCommand(pid: number): Promise<string | null> {
  if (process.platform === 'linux') {
    const line = await readProc(`/proc/${pid}/cmdline`);
    return line === null ? null : line.replaceAll('\0', ' ').trim();
  }
  const ps = await runProgram('ps', ['-ww', '-o', 'command=', '-p', String(pid)], PS_OPTIONS);
  return ps.code === 0 ? ps.output : null;
}

const PS_OPTIONS = { account: null, timeoutMs: 10_000 } as const;

async function readProc(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const errno = errorCode(error);
    if (errno === 'ENOENT' || errno === 'ESRCH') return null;
    throw error;
  }
}
