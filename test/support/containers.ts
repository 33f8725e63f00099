/**
 * Stand-ins for containers on one machine: processes with pids, shared memory and mounts of their own,
 * over the same folders. Needs root.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';

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
