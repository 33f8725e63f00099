/**
 * Who owns the embedded server of one home, and who else uses it.
 *
 * Node has no flock, and a lock file cannot be taken from a dead owner without a race between two
 * takers. So ownership is a growing number: `owner.<n>` names a process, the highest n counts, and
 * the next owner is whoever creates n+1 first. A file is deleted only once a higher one exists.
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
  /** Gives the ownership up; the process may go on living. */
  release(): Promise<void>;
}

export interface Visit {
  leave(): Promise<void>;
}

/**
 * Takes the ownership of `home` when nobody alive has it.
 *
 * @returns null when a living process (this one included) owns it already
 */
export async function claimOwnership(home: string): Promise<Ownership | null> {
  for (;;) {
    const highest = Math.max(0, ...(await generations(home)));
    if (await isRecordAlive(home, `owner.${highest}`)) return null;
    const mine = highest + 1;
    if (!(await createRecord(home, `owner.${mine}`))) continue;
    const now = await generations(home);
    if (Math.max(...now) !== mine) {
      // Others went through n+1 and beyond while we looked at n: ours is the late one.
      await removeRecord(home, `owner.${mine}`);
      continue;
    }
    for (const n of now) if (n < mine) await removeRecord(home, `owner.${n}`);
    // The number stays taken: free again, a slow taker could use it beside a newer owner. And
    // emptying a file works on a full disk.
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
 * Registers this process as a user of a server that another one owns. Look for the server again
 * afterwards: only one that is there then will stay.
 *
 * @returns null when the owner is about to stop it
 */
export async function visit(home: string): Promise<Visit | null> {
  const name = `${GUEST_PREFIX}${randomBytes(8).toString('hex')}`;
  await createRecord(home, name);
  if (!(await isRecordAlive(home, STOPPING))) return { leave: () => removeRecord(home, name) };
  await removeRecord(home, name);
  return null;
}

/**
 * Runs `stop` unless guests are there, then gives the ownership up. The last guest to leave claims
 * it and comes here too, so that the last one out stops the server.
 *
 * @returns whether `stop` ran
 */
export async function stopUnlessVisited(
  home: string,
  ownership: Ownership,
  stop: () => Promise<void>,
): Promise<boolean> {
  try {
    return await unlessVisited(home, stop);
  } finally {
    await ownership.release();
  }
}

/**
 * Runs `work`, which may stop the server, unless guests use it; no guest is admitted meanwhile. For
 * the owner only.
 *
 * @returns whether `work` ran
 */
export async function unlessVisited(home: string, work: () => Promise<void>): Promise<boolean> {
  try {
    await announceStop(home);
    if (await isVisited(home)) return false;
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
    // A full disk is a reason to stop, not one to go on. A guest who comes this instant loses.
    if (errorCode(error) !== 'ENOSPC' && errorCode(error) !== 'EDQUOT') throw error;
  }
}

async function isVisited(home: string): Promise<boolean> {
  let visited = false;
  for (const name of await readdir(home)) {
    if (!name.startsWith(GUEST_PREFIX)) continue;
    if (await isRecordAlive(home, name)) visited = true;
    else await removeRecord(home, name);
  }
  return visited;
}
