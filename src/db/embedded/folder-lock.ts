/**
 * The kernel's lock of a folder, on its file `lock`. It works across containers on one machine, where
 * pids do not, and ends with its last holder, however that ends.
 *
 * Node has no flock(2). The program flock of util-linux locks an open file that it inherits; the lock
 * belongs to the open file, so it stays with this process, and with every program that inherits the
 * file from it:
 *
 *   Sluice ──opens──► lock ◄──inherits── flock (ends at once)
 *                       ◄──inherits── postgres (keeps it, also after the death of Sluice)
 */
import { close, constants, open } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runProgram } from './process.ts';

/** Not of node:fs/promises, which closes files that are no longer referenced, and so unlocks them. */
const openFile = promisify(open);
const closeFile = promisify(close);

/** Append, create, follow no symbolic link. */
const LOCK_FLAGS =
  constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
const FLOCK_TIMEOUT_MS = 30_000;

export interface FolderLock {
  /** for programs that must hold the lock as well (`runProgram`, `spawn`) */
  readonly fd: number;
  /** Lets go; programs that inherited the lock keep it. */
  release(): Promise<void>;
}

/**
 * Locks `folder`, unless another open file has the lock.
 *
 * @returns 'held' when another has it; 'unsupported' without the program flock, or on a file system
 *   without locks
 */
export async function lockFolder(folder: string): Promise<FolderLock | 'held' | 'unsupported'> {
  const fd = await openFile(join(folder, 'lock'), LOCK_FLAGS, 0o600);
  const run = await runProgram('flock', ['--exclusive', '--nonblock', '3'], {
    account: null,
    timeoutMs: FLOCK_TIMEOUT_MS,
    inherited: fd,
  });
  if (run.code === 0) return { fd, release: () => closeFile(fd) };
  await closeFile(fd);
  // Other faults have another code, or say what they are.
  return run.code === 1 && run.output === '' ? 'held' : 'unsupported';
}
