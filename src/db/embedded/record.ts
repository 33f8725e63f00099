/**
 * Files in a home that name a running process: `<name>` contains its pid and start time. A pid alone is
 * not enough: pids are reused, in containers almost always.
 */
import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode, processIdentity } from './process.ts';

/**
 * Writes a record of this process; it appears under its name complete or not at all.
 *
 * @returns false when the name is taken
 */
export async function createRecord(home: string, name: string): Promise<boolean> {
  const identity = await processIdentity(process.pid);
  if (identity === null) throw new Error('this process does not find itself among the processes');
  const draft = join(home, `draft.${randomBytes(8).toString('hex')}`);
  try {
    const text = `${JSON.stringify({ pid: process.pid, identity })}\n`;
    await writeFile(draft, text, { flag: 'wx', mode: 0o600 });
    await link(draft, join(home, name));
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Whether the record exists and its process runs; an empty file names no process. */
export async function isRecordAlive(home: string, name: string): Promise<boolean> {
  let text: string;
  try {
    text = await readFile(join(home, name), 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
  const match = /^\{"pid":(\d+),"identity":"([^"]+)"\}\n$/.exec(text);
  return match !== null && (await processIdentity(Number(match[1]))) === match[2];
}

/** Removes a record, if it is there. */
export async function removeRecord(home: string, name: string): Promise<void> {
  await rm(join(home, name), { force: true });
}
