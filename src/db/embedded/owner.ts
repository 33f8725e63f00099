/**
 * Ownership of the embedded server of one home.
 *
 * Taking over a dead owner's file is a race. So ownership is a growing number: `owner.<n>` names a
 * process, the highest n is the owner, and the process that creates n+1 first becomes the next owner. A
 * file is deleted only once a higher one exists.
 *
 *   owner.7 {dead pid}  →  A creates owner.8, B gets EEXIST  →  A deletes owner.7
 *
 * A pid says nothing about a process of another container. So nobody becomes the owner without the
 * folder's lock, or beside a server of this container that has it. Where there are no
 * locks, an owner elsewhere counts as alive until it has not renewed its file for `OWNER_SILENT_MS`.
 */
import { close, constants, open } from 'node:fs';
import { readdir, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { OperatorError } from '../../errors.ts';
import { errorCode, runProgram } from './process.ts';
import {
  createRecord,
  fileSystemNowMs,
  isVisible,
  type ProcessPlace,
  type ProcessRecord,
  placeIn,
  readRecord,
  removeRecord,
  renewedAtMs,
  renewRecord,
  runsHere,
} from './record.ts';

/** How long processes of a killed server may keep the lock. */
const LOCK_WAIT_MS = 30_000;
/** An owner of another container may be about to end. */
const OTHER_LOCK_WAIT_MS = 3000;
const LOCK_POLL_MS = 50;

export interface Ownership {
  /** The folder's lock, for a program that must hold it; null on file systems without locks. */
  lockFd(): Promise<number | null>;
  /** Releases the ownership; the process may keep running. */
  release(): Promise<void>;
}

/** A folder that holds a database; a relay's queue has none. */
interface ServedFolder {
  /** Is the claiming process a server of Sluice? Commands use the database while it runs. */
  readonly serves: boolean;
  /** Checks whether a PostgreSQL of this container runs in the folder, which then has its lock. */
  isServed(): Promise<boolean>;
}

/**
 * Takes the ownership of `home`; null when a running process that is visible here has it. @throws
 * OperatorError when its owner runs elsewhere, or the folder is a copy that was made while its database was
 * in use
 */
export async function claimOwnership(
  home: string,
  served: ServedFolder | null = null,
): Promise<Ownership | null> {
  const startedAt = performance.now();
  for (;;) {
    const { highest, last } = await lastOwner(home);
    const here = await placeIn(home, false);
    const isCopy = last !== null && last.place.folder !== here.folder;
    if (isCopy && served !== null) throw copied(home, `owner.${highest}`, last);
    const owner = isCopy ? null : last;
    if (owner !== null && (await runsHere(owner, here))) return null;

    const taken = await lockFolder(home);
    const lock = typeof taken === 'string' ? null : taken;
    if (taken === 'held' && !(await served?.isServed())) {
      const isElsewhere = owner !== null && !isVisible(owner, here);
      const limitMs = isElsewhere ? OTHER_LOCK_WAIT_MS : LOCK_WAIT_MS;
      if (performance.now() - startedAt > limitMs) throw inUse(home, owner);
      await sleep(LOCK_POLL_MS);
      continue;
    }
    let ownership: Ownership | null = null;
    try {
      if (owner !== null && !(await hasEnded(home, `owner.${highest}`, owner, here, lock !== null)))
        throw inUse(home, owner);
      ownership = await createOwnership(home, highest + 1, lock, served?.serves === true);
      if (ownership !== null) return ownership;
    } finally {
      if (ownership === null) await lock?.release();
    }
  }
}

async function lastOwner(home: string): Promise<{ highest: number; last: ProcessRecord | null }> {
  const highest = Math.max(0, ...(await generations(home)));
  return { highest, last: await readRecord(home, `owner.${highest}`) };
}

export async function ownerServes(home: string): Promise<boolean> {
  return (await lastOwner(home)).last?.serves === true;
}

/** Checks whether an owner that does not run here has ended. @param isLocked the folder's lock is held here */
async function hasEnded(
  home: string,
  name: string,
  owner: ProcessRecord,
  here: ProcessPlace,
  isLocked: boolean,
): Promise<boolean> {
  if (isVisible(owner, here)) return true;
  // The kernel of another machine may not share its locks.
  if (isLocked && owner.place.isLocked && owner.place.kernel === here.kernel) return true;
  return await untilSilent(home, name);
}

/** null when others have created a record of this number, or a later one, meanwhile. */
async function createOwnership(
  home: string,
  mine: number,
  taken: FolderLock | null,
  serves: boolean,
): Promise<Ownership | null> {
  const name = `owner.${mine}`;
  if (!(await createRecord(home, name, taken !== null, serves))) return null;
  const now = await generations(home);
  if (Math.max(...now) !== mine) {
    // Others have created n+1 and beyond since n was read: this record is late.
    await removeRecord(home, name);
    return null;
  }
  for (const n of now) if (n < mine) await removeRecord(home, `owner.${n}`);
  const heartbeat = startHeartbeat(home, name);
  let lock = taken;
  return {
    lockFd: async () => {
      lock ??= await takeLock(home);
      return lock?.fd ?? null;
    },
    release: async () => {
      await heartbeat.stop();
      try {
        // The number stays taken: otherwise a slow process could create it again beside a newer owner.
        // And emptying a file works on a full disk.
        await truncate(join(home, name));
      } catch (error) {
        // Without locks, a process elsewhere may have taken this one for dead.
        if (errorCode(error) !== 'ENOENT') throw error;
      } finally {
        await lock?.release();
        lock = null;
      }
    },
  };
}

/** Takes the lock that a server had; its last processes may keep it for a moment. */
async function takeLock(home: string): Promise<FolderLock | null> {
  const startedAt = performance.now();
  for (;;) {
    const taken = await lockFolder(home);
    if (taken === 'unsupported') return null;
    if (taken !== 'held') return taken;
    if (performance.now() - startedAt > LOCK_WAIT_MS) throw inUse(home, null);
    await sleep(LOCK_POLL_MS);
  }
}

function inUse(home: string, owner: ProcessRecord | null): OperatorError {
  const who =
    owner === null
      ? 'by a process that is not visible here'
      : `by process ${owner.pid} of host or container ${owner.place.host}, which is not visible here`;
  return new OperatorError(
    `${home} is in use ${who}: another container or machine has the same folder. Run commands in that ` +
      'container (docker exec CONTAINER node bin/sluice.js …), or stop it first. Nothing was changed',
  );
}

function copied(home: string, name: string, { pid, place }: ProcessRecord): OperatorError {
  return new OperatorError(
    `${home} is a copy of a folder that was in use (by process ${pid} of host or container ` +
      `${place.host}): PostgreSQL's files changed while they were copied, and do not fit together. Stop ` +
      'Sluice and copy its folder again, or use pg_basebackup or pg_dump while it runs ' +
      '(docs/operations.md, backup and restore). If PostgreSQL had ended before the copy, because it was ' +
      `killed, remove ${join(home, name)} and start again`,
  );
}

async function generations(home: string): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir(home)) {
    const match = /^owner\.(\d+)$/.exec(name);
    if (match?.[1] !== undefined) found.push(Number(match[1]));
  }
  return found;
}

// The owner's sign of life, for processes elsewhere that cannot see it and have no lock to ask: it
// renews its record, and the file system notes when.
//
//   renewed ──OWNER_SILENT_MS without another──► silent
//
// Ages are differences of the file system's own times, so that the clocks of two machines do not matter.

export const OWNER_SILENT_MS = 20_000;
const RENEW_EVERY_MS = 5000;
const POLL_MS = 250;

/** Renews the record until it is stopped. Does not keep the process alive. */
function startHeartbeat(home: string, name: string): { stop(): Promise<void> } {
  let renewing: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    renewing = renewRecord(home, name).catch(() => {
      // The next one may work. The lock protects the folder meanwhile, where there are locks.
    });
  }, RENEW_EVERY_MS).unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await renewing;
    },
  };
}

/** Waits until the process of a record is known to be silent; false when the record was renewed meanwhile. */
export async function untilSilent(home: string, name: string): Promise<boolean> {
  const startedAt = performance.now();
  const first = await renewedAtMs(home, name);
  for (;;) {
    const last = await renewedAtMs(home, name);
    if (last === null) return true;
    if (last !== first) return false;
    if ((await fileSystemNowMs(home)) - last > OWNER_SILENT_MS) return true;
    // Also when the file system's clock was set back.
    if (performance.now() - startedAt > OWNER_SILENT_MS) return true;
    await sleep(POLL_MS);
  }
}

// The kernel's lock of a folder, on its file `lock`. It works across containers on one machine, where
// pids do not, and ends with its last holder, however that ends.
//
// Node has no flock(2). The program flock of util-linux locks an open file that it inherits; the lock
// belongs to the open file, so it stays with this process, and with every program that inherits the
// file from it:
//
//   Sluice ──opens──► lock ◄──inherits── flock (ends at once)
//                       ◄──inherits── postgres (keeps it, also after the death of Sluice)

/** Not of node:fs/promises, which closes files that are no longer referenced, and so unlocks them. */
const openFile = promisify(open);
const closeFile = promisify(close);

const LOCK_FLAGS =
  constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
const FLOCK_TIMEOUT_MS = 30_000;

interface FolderLock {
  /** for programs that must hold the lock as well (`runProgram`, `spawn`) */
  readonly fd: number;
  /** Lets go; programs that inherited the lock keep it. */
  release(): Promise<void>;
}

/** Locks `folder`. Returns 'unsupported' without the program flock, or on a file system without locks. */
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
