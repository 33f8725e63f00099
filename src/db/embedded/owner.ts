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
 * folder's lock (folder-lock.ts), or beside a server of this container that has it. Where there are no
 * locks, an owner elsewhere counts as alive until it has not renewed its file for `OWNER_SILENT_MS`.
 */
import { readdir, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError } from '../../errors.ts';
import { type FolderLock, lockFolder } from './folder-lock.ts';
import { startHeartbeat, untilSilent } from './heartbeat.ts';
import { errorCode } from './process.ts';
import {
  createRecord,
  isVisible,
  type ProcessPlace,
  type ProcessRecord,
  placeIn,
  readRecord,
  removeRecord,
  runsHere,
} from './record.ts';

/** How long processes of a killed server may keep the lock. */
const LOCK_WAIT_MS = 30_000;
/** An owner of another container may be about to end. */
const OTHER_LOCK_WAIT_MS = 3000;
const LOCK_POLL_MS = 50;

export interface Ownership {
  /**
   * The folder's lock, for a program that must hold it; taken now where a server had it before. null on
   * file systems without locks.
   *
   * @throws OperatorError when another process keeps it for too long
   */
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
 * Takes the ownership of `home` if no running process has it.
 *
 * @param served null for a folder without a database
 * @returns null when a running process (this one included) owns it already, and is visible here
 * @throws OperatorError when its owner runs elsewhere (another container or machine); or when the folder
 *   is a copy that was made while its database was in use
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

/**
 * Checks whether an owner that does not run here has ended.
 *
 * @param isLocked does this process have the folder's lock?
 */
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
