/**
 * Creates or checks the folder of a queue, which only this user may use. Its requests hold telemetry,
 * and a user who could write to it could send with the relay's key.
 */
import { mkdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { OperatorError } from '../../errors.ts';
import { requireOwnFiles, requireOwnFolder, requireSafePath } from '../../own-folder.ts';

const FOLDER_MODE = 0o700;
const ANOTHER_FOLDER = 'choose another folder with --queue-dir';

/**
 * Creates a queue folder that only this user can read, or checks an existing folder and keeps its mode.
 *
 * @param folder absolute
 * @returns the same folder, free of symbolic links
 * @throws OperatorError when it cannot be used, or another user can change it
 */
export function openQueueFolder(folder: string): string {
  try {
    const above = dirname(folder);
    mkdirSync(above, { recursive: true, mode: FOLDER_MODE });
    const path = join(realpathSync(above), basename(folder));
    requireSafePath(dirname(path), ANOTHER_FOLDER);
    createFolder(path);
    requireOwnFolder(path, ANOTHER_FOLDER);
    requireOwnFiles(path);
    return path;
  } catch (cause) {
    if (cause instanceof OperatorError) throw cause;
    throw new OperatorError(`The folder of the queue cannot be used: ${folder}`, { cause });
  }
}

/** Creates a folder; unlike a recursive mkdir, never behind a symbolic link. */
function createFolder(path: string): void {
  try {
    mkdirSync(path, { mode: FOLDER_MODE });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}
