/**
 * Creates and checks the folders of the embedded server.
 *
 * Never uses a folder that another user owns or can write to, and never changes the mode of such a
 * folder: that user could replace the programs, the password or the server.
 */
import { chmod, mkdir, stat } from 'node:fs/promises';
import { OperatorError } from '../../errors.ts';
import { requireOwnFolder } from '../../own-folder.ts';
import { errorCode } from './process.ts';

export const ANOTHER_FOLDER = 'set another DATA_DIR';

/** Creates `path` with exactly `mode`, also of an existing folder. Returns true when it is new. */
export async function createOwnFolder(path: string, mode: number): Promise<boolean> {
  const isNew = (await uidOf(path)) === null;
  try {
    await mkdir(path, { recursive: true, mode });
    requireOwnFolder(path, ANOTHER_FOLDER);
    const { mode: actual } = await stat(path);
    if ((actual & 0o777) !== mode) await chmod(path, mode);
  } catch (error) {
    throw error instanceof OperatorError ? error : unusableFolder(path, error);
  }
  return isNew;
}

/** Creates the data folder, with the mode of the operator's umask. */
export async function createDataFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true });
  } catch (error) {
    throw unusableFolder(path, error);
  }
}

/** The owner of `path`; null when there is nothing. */
export async function uidOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).uid;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw unusableFolder(path, error);
  }
}

export function unusableFolder(path: string, cause: unknown): OperatorError {
  const why = errorCode(cause) ?? String(cause);
  const hint = HINTS[why] ?? 'set DATA_DIR to another folder';
  return new OperatorError(`cannot use ${path} for the database (${why}): ${hint}`, { cause });
}

const HINTS: Readonly<Record<string, string>> = {
  EACCES: 'run as the user that owns it, or set DATA_DIR to a folder this user can write',
  EPERM: 'run as the user that owns it, or set DATA_DIR to a folder this user can write',
  // Node reports this for a recursive mkdir on a read-only file system.
  ENOENT: 'its parent folder is missing or cannot be written; set DATA_DIR to another folder',
  EROFS: 'the file system is read-only; set DATA_DIR to a folder that can be written',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
};
