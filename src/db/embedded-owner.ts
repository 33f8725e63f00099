/**
 * Who owns the embedded server of one home directory: the one process that may start and stop it.
 *
 * Node has no flock, and a lock file cannot be taken from a dead owner without a race between two
 * takers. So ownership is a growing number: `owner.<n>` names a process, the highest n counts, and
 * the next owner is whoever creates n+1 first. A file is deleted only once a higher one exists.
 *
 *   owner.7 {dead pid}  →  A creates owner.8, B gets EEXIST  →  A deletes owner.7
 *
 * A process is named by pid and start time: pids come back, in containers almost always.
 */
import { randomBytes } from 'node:crypto';
import { link, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode, processIdentity } from './embedded-process.ts';

export interface Ownership {
  /** Gives the ownership up; the process may go on living. */
  release(): Promise<void>;
}

interface OwnerRecord {
  readonly pid: number;
  /** see `processIdentity` */
  readonly identity: string;
}

/**
 * Takes the ownership of `home` when nobody alive has it.
 *
 * @returns null when a living process (this one included) owns it already
 * @throws when `home` cannot be written
 */
export async function claimOwnership(home: string): Promise<Ownership | null> {
  for (;;) {
    const highest = Math.max(0, ...(await generations(home)));
    if (await isOwned(home, highest)) return null;
    const mine = highest + 1;
    if (!(await createOwnerFile(home, mine, await thisProcess()))) continue;
    const now = await generations(home);
    if (Math.max(...now) !== mine) {
      // Others went through n+1 and beyond while we looked at n: ours is the late one.
      await rm(ownerPath(home, mine), { force: true });
      continue;
    }
    for (const n of now) if (n < mine) await rm(ownerPath(home, n), { force: true });
    // The number stays taken: free again, a slow taker could use it beside a newer owner. And
    // emptying a file works on a full disk.
    return { release: () => truncate(ownerPath(home, mine)) };
  }
}

/** Whether the process that the file of that number names is alive. */
async function isOwned(home: string, generation: number): Promise<boolean> {
  const record = await readRecord(ownerPath(home, generation));
  return record !== null && (await processIdentity(record.pid)) === record.identity;
}

async function thisProcess(): Promise<OwnerRecord> {
  const identity = await processIdentity(process.pid);
  if (identity === null) throw new Error('this process does not find itself among the processes');
  return { pid: process.pid, identity };
}

async function generations(home: string): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir(home)) {
    const match = /^owner\.(\d+)$/.exec(name);
    if (match?.[1] !== undefined) found.push(Number(match[1]));
  }
  return found;
}

/** Appears under its name complete or not at all; false when the name is taken. */
async function createOwnerFile(home: string, n: number, record: OwnerRecord): Promise<boolean> {
  const draft = join(home, `draft.${randomBytes(8).toString('hex')}`);
  try {
    await writeFile(draft, `${JSON.stringify(record)}\n`, { flag: 'wx', mode: 0o600 });
    await link(draft, ownerPath(home, n));
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** null when the file is gone or empty: nobody owns by it. */
async function readRecord(path: string): Promise<OwnerRecord | null> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
  const match = /^\{"pid":(\d+),"identity":"([^"]*)"\}\n$/.exec(text);
  if (match?.[1] === undefined || match[2] === undefined) return null;
  return { pid: Number(match[1]), identity: match[2] };
}

function ownerPath(home: string, generation: number): string {
  return join(home, `owner.${generation}`);
}
