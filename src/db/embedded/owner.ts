/**
 * Ownership of the embedded server of one home, and its other users, the guests.
 *
 * Node has no flock, and taking over a dead owner's lock file is a race. So ownership is a growing
 * number: `owner.<n>` names a process, the highest n is the owner, and the process that creates n+1
 * first becomes the next owner. A file is deleted only once a higher one exists.
 *
 *   owner.7 {dead pid}  →  A creates owner.8, B gets EEXIST  →  A deletes owner.7
 *
 * A guest writes `guest.<x>` and then looks for `stopping`; an owner writes `stopping` and then
 * looks for guests. At least one of them sees the other, so no guest loses a server it got.
 */
import { randomBytes } from 'node:crypto';
import { readdir, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from './process.ts';
import { createRecord, isRecordAlive, removeRecord } from './record.ts';

const STOPPING = 'stopping';
const GUEST_PREFIX = 'guest.';

export interface Ownership {
  /** Releases the ownership; the process may keep running. */
  release(): Promise<void>;
}

export interface GuestUse {
  leave(): Promise<void>;
}

/**
 * Takes the ownership of `home` if no running process has it.
 *
 * @returns null when a running process (this one included) owns it already
 */
export async function claimOwnership(home: string): Promise<Ownership | null> {
  for (;;) {
    const highest = Math.max(0, ...(await generations(home)));
    if (await isRecordAlive(home, `owner.${highest}`)) return null;
    const mine = highest + 1;
    if (!(await createRecord(home, `owner.${mine}`))) continue;
    const now = await generations(home);
    if (Math.max(...now) !== mine) {
      // Others have created n+1 and beyond since n was read: this record is late.
      await removeRecord(home, `owner.${mine}`);
      continue;
    }
    for (const n of now) if (n < mine) await removeRecord(home, `owner.${n}`);
    // The number stays taken: otherwise a slow process could create it again beside a newer owner.
    // And emptying a file works on a full disk.
    return { release: () => truncate(join(home, `owner.${mine}`)) };
  }
}

async function generations(home: string): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir(home)) {
    const match = /^owner\.(\d+)$/.exec(name);
    if (match?.[1] !== undefined) found.push(Number(match[1]));
  }
  return found;
}

/**
 * Registers this process as a guest of a server that another one owns. Look for the server again
 * afterwards: only a server found then is not stopped.
 *
 * @returns null when the owner is about to stop the server
 */
export async function registerGuest(home: string): Promise<GuestUse | null> {
  const name = `${GUEST_PREFIX}${randomBytes(8).toString('hex')}`;
  await createRecord(home, name);
  if (!(await isRecordAlive(home, STOPPING))) return { leave: () => removeRecord(home, name) };
  await removeRecord(home, name);
  return null;
}

/**
 * Runs `stop` unless there are guests, then releases the ownership. The last guest to leave claims it
 * and calls this too, so that the last user stops the server.
 *
 * @returns whether `stop` ran
 */
export async function stopUnlessUsed(
  home: string,
  ownership: Ownership,
  stop: () => Promise<void>,
): Promise<boolean> {
  try {
    return await unlessUsed(home, stop);
  } finally {
    await ownership.release();
  }
}

/**
 * Runs `work`, which may stop the server, unless there are guests; none is admitted meanwhile. For the
 * owner only.
 *
 * @returns whether `work` ran
 */
export async function unlessUsed(home: string, work: () => Promise<void>): Promise<boolean> {
  try {
    await announceStop(home);
    if (await isUsed(home)) return false;
    await work();
    return true;
  } finally {
    await removeRecord(home, STOPPING);
  }
}

async function announceStop(home: string): Promise<void> {
  await removeRecord(home, STOPPING);
  try {
    await createRecord(home, STOPPING);
  } catch (error) {
    // A full disk must not prevent the stop. A guest that registers at this moment loses its server.
    if (errorCode(error) !== 'ENOSPC' && errorCode(error) !== 'EDQUOT') throw error;
  }
}

async function isUsed(home: string): Promise<boolean> {
  let visited = false;
  for (const name of await readdir(home)) {
    if (!name.startsWith(GUEST_PREFIX)) continue;
    if (await isRecordAlive(home, name)) visited = true;
    else await removeRecord(home, name);
  }
  return visited;
}
