/**
 * Lets root run a command on the folder of a service's own user, as that user. Root must not write in
 * such a folder: its owner could put links there that lead anywhere.
 */
import { lstat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OperatorError } from '../../errors.ts';
import { errorCode, oneLine, runProgram } from './process.ts';

const PROBE_TIMEOUT_MS = 10_000;

/** As root, becomes the owner of the database's folder, for the rest of the process. @throws OperatorError */
export async function becomeOwner(dataDir: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const home = join(resolve(dataDir), 'postgres');
  const owner = await ownerOf(home);
  if (owner === null || owner.uid === 0) return;
  // Modules are loaded later, and processes started.
  const program = fileURLToPath(import.meta.url);
  const probe = await runProgram(
    '/bin/sh',
    ['-c', 'test -r "$1" && test -x "$2"', 'sh', program, process.execPath],
    { account: owner, timeoutMs: PROBE_TIMEOUT_MS },
  );
  if (probe.code === null) {
    throw new OperatorError(
      `${home} belongs to uid ${owner.uid}, as which no program runs here (${oneLine(probe.output)}): ` +
        'change its owner, or run the command where that user is known',
    );
  }
  if (probe.code !== 0) {
    throw new OperatorError(
      `${home} belongs to uid ${owner.uid}, which cannot read ${program} or run ${process.execPath}: ` +
        'run the command as that user, with a program that it can read',
    );
  }
  process.setgroups?.([owner.gid]);
  process.setgid?.(owner.gid);
  process.setuid?.(owner.uid);
}

async function ownerOf(path: string): Promise<{ uid: number; gid: number } | null> {
  try {
    const { uid, gid } = await lstat(path);
    return { uid, gid };
  } catch (error) {
    // Others are reported by what uses the folder.
    if (errorCode(error) !== null) return null;
    throw error;
  }
}
