/**
 * Files in a home that name a process: `<name>` contains its pid and start time, because pids are reused,
 * and where that pid is valid, because another container has other pids.
 */
import { randomBytes } from 'node:crypto';
import { link, open, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { OperatorError } from '../../errors.ts';
import { bootId, errorCode, processIdentity } from './process.ts';

export interface ProcessRecord {
  readonly pid: number;
  readonly identity: string;
  readonly place: ProcessPlace;
  /** Is it a server of Sluice, and no command? */
  readonly serves: boolean;
}

export interface ProcessPlace {
  /** the running kernel: its boot; elsewhere than on Linux the host's name */
  readonly kernel: string;
  /** in which its pid is valid: the pid namespace of that kernel */
  readonly namespace: string;
  /** the name of the host; in a container, by default, its id */
  readonly host: string;
  /** inode of the folder: a copy of the folder has another */
  readonly folder: string;
  /** Does the process itself hold the folder's lock (owner.ts)? */
  readonly isLocked: boolean;
}

export async function placeIn(home: string, isLocked: boolean): Promise<ProcessPlace> {
  const { ino } = await stat(home, { bigint: true });
  const isLinux = process.platform === 'linux';
  return {
    kernel: isLinux ? await bootId() : hostname(),
    namespace: isLinux ? await readlink('/proc/self/ns/pid') : '',
    host: hostname(),
    folder: String(ino),
    isLocked,
  };
}

/** Writes a record of this process, complete or not at all; false when the name is taken. */
export async function createRecord(
  home: string,
  name: string,
  isLocked: boolean,
  serves: boolean,
): Promise<boolean> {
  const identity = await processIdentity(process.pid);
  if (identity === null) {
    throw new OperatorError(
      'this process is not in /proc, which belongs to another container: mount it here',
    );
  }
  const draft = draftIn(home);
  try {
    const record: ProcessRecord = {
      pid: process.pid,
      identity,
      place: await placeIn(home, isLocked),
      serves,
    };
    await writeFile(draft, `${JSON.stringify(record)}\n`, { flag: 'wx', mode: 0o600 });
    await link(draft, join(home, name));
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Reads a record; null when it does not exist or names no process. */
export async function readRecord(home: string, name: string): Promise<ProcessRecord | null> {
  let text: string;
  try {
    text = await readFile(join(home, name), 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Emptied, or damaged by a crash of the machine.
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { pid, identity, place, serves } = value as Partial<ProcessRecord>;
  if (typeof pid !== 'number' || typeof identity !== 'string' || !isPlace(place)) return null;
  return { pid, identity, place, serves: serves === true };
}

function isPlace(value: unknown): value is ProcessPlace {
  if (typeof value !== 'object' || value === null) return false;
  const { kernel, namespace, host, folder, isLocked } = value as Partial<ProcessPlace>;
  const texts = [kernel, namespace, host, folder];
  return texts.every((text) => typeof text === 'string') && typeof isLocked === 'boolean';
}

export function isVisible({ place }: ProcessRecord, here: ProcessPlace): boolean {
  return place.kernel === here.kernel && place.namespace === here.namespace;
}

export async function runsHere(record: ProcessRecord, here: ProcessPlace): Promise<boolean> {
  return isVisible(record, here) && (await processIdentity(record.pid)) === record.identity;
}

/** Renews a record: the file system notes the time. The text stays, so that a full disk does not matter. */
export async function renewRecord(home: string, name: string): Promise<void> {
  const file = await open(join(home, name), 'r+');
  try {
    const text = await file.readFile();
    if (text.length > 0) await file.write(text, 0, text.length, 0);
  } finally {
    await file.close();
  }
}

/** Reads when a record was renewed, by the file system's clock; null when it does not exist. */
export async function renewedAtMs(home: string, name: string): Promise<number | null> {
  try {
    return (await stat(join(home, name))).mtimeMs;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

export async function fileSystemNowMs(home: string): Promise<number> {
  const draft = draftIn(home);
  try {
    await writeFile(draft, '', { flag: 'wx', mode: 0o600 });
    return (await stat(draft)).mtimeMs;
  } finally {
    await rm(draft, { force: true });
  }
}

export async function removeRecord(home: string, name: string): Promise<void> {
  await rm(join(home, name), { force: true });
}

const draftIn = (home: string): string => join(home, `draft.${randomBytes(8).toString('hex')}`);
