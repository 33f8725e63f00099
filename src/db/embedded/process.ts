/**
 * Other processes, as the embedded server needs to see them: run one and read what it said, tell
 * whether a pid is alive and still the same program.
 *
 * Never inherits our environment (it holds secrets, and PG* variables that would steer PostgreSQL)
 * and never decides what a failure means: it reports, the caller judges.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';

/** The account a PostgreSQL program runs under; null means our own. */
export type Account = { readonly uid: number; readonly gid: number } | null;

export interface ProgramResult {
  /** exit code; null when it could not be started or was killed for taking too long */
  readonly code: number | null;
  /** standard output and standard error, in that order, trimmed */
  readonly output: string;
  /** true when there is no such program */
  readonly missing: boolean;
}

/** All a child gets to see. 'C' keeps messages in English, and we read some of them. */
export const CHILD_ENVIRONMENT = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
} as const;

/** Spawn options that switch to `account`; empty for our own. */
export function asAccount(account: Account): { uid?: number; gid?: number } {
  return account === null ? {} : { uid: account.uid, gid: account.gid };
}

/**
 * Runs a program to its end, from the root directory (the account may be unable to enter ours).
 *
 * @param options.timeoutMs the program is killed after this long
 * @param options.input what stands on its standard input
 * @returns always; a program that fails, is missing or takes too long is a value, not an error
 */
export function runProgram(
  file: string,
  args: readonly string[],
  options: { readonly account: Account; readonly timeoutMs: number; readonly input?: string },
): Promise<ProgramResult> {
  const spawnOptions = {
    ...asAccount(options.account),
    cwd: '/',
    env: CHILD_ENVIRONMENT,
    timeout: options.timeoutMs,
    killSignal: 'SIGKILL' as const,
    maxBuffer: 1024 * 1024,
  };
  return new Promise((resolve) => {
    const child = execFile(file, [...args], spawnOptions, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`.trim();
      if (error === null) {
        resolve({ code: 0, output, missing: false });
        return;
      }
      const code = typeof error.code === 'number' ? error.code : null;
      const missing = errorCode(error) === 'ENOENT';
      resolve({ code, output: output === '' ? error.message : output, missing });
    });
    // One that ends without reading it says why by its exit code.
    child.stdin?.on('error', () => {}).end(options.input ?? '');
  });
}

/** What a program said, as part of a one-line message. */
export function oneLine(output: string): string {
  return output.replace(/\s*\n\s*/g, ' · ').slice(0, 1000);
}

/** The code an error carries: errno name (`ENOENT`) or SQLSTATE (`42P04`); null when none. */
export function errorCode(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

/**
 * Something that stays the same as long as `pid` is the same process, and differs after the number
 * was given to another one: start time, and on Linux the boot it counts from (proc(5), field 22).
 *
 * @returns null when there is no such process, or only its zombie
 */
export async function processIdentity(pid: number): Promise<string | null> {
  if (process.platform !== 'linux') {
    const ps = await runProgram('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], PS_OPTIONS);
    return ps.code !== 0 || ps.output.startsWith('Z') ? null : ps.output.replace(/^\S+\s+/, '');
  }
  const stat = await readProc(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The program's name stands in parentheses and may hold spaces and parentheses itself.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // PID 1 of a container may be a program that never reaps: a zombie is as dead as it gets there.
  if (fields[0] === 'Z' || fields[0] === 'X') return null;
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
  return `${boot.trim()} ${fields[19]}`;
}

/** The command line of `pid`, arguments separated by one space; null when there is no process. */
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
