/**
 * Checks that only this process's user can change a folder, its files and the folders above it. Another
 * user could replace programs or read data in the folder, or create links in it.
 *
 * Never changes an owner or a mode.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

import { OperatorError } from './errors.ts';

const GROUP_OR_OTHERS_MAY_WRITE = 0o022;
const OTHERS_MAY_WRITE = 0o002;
/** Sticky bit: in such a folder, for example /tmp, users can rename and remove only their files. */
const STICKY = 0o1000;

/**
 * Requires that `path` is a folder of this user, that no other user can write to it, and that it is not
 * a symbolic link.
 *
 * @param alternative the operator's alternative, such as `set another DATA_DIR`
 * @throws OperatorError when the folder must not be used
 */
export function requireOwnFolder(path: string, alternative: string): void {
  const stats = lstatSync(path);
  requireOwner(path, stats.uid, alternative);
  if (stats.isSymbolicLink()) {
    throw new OperatorError(
      `${path} is a symbolic link: put the folder itself in its place, or ${alternative}`,
    );
  }
  if (!stats.isDirectory()) throw new OperatorError(`${path} is not a folder: ${alternative}`);
  if ((stats.mode & GROUP_OR_OTHERS_MAY_WRITE) === 0) return;
  throw new OperatorError(
    `${path} can be written by other users (mode ${modeText(stats.mode)}): check what they put there, ` +
      `then run chmod go-w ${path}, or ${alternative}`,
  );
}

function requireOwner(path: string, uid: number, alternative: string): void {
  const own = process.getuid?.();
  if (own === undefined || uid === own) return;
  throw new OperatorError(
    `${path} belongs to uid ${uid}, and Sluice runs as uid ${own}: start Sluice as that user, remove ` +
      `the folder if it holds nothing, or ${alternative}`,
  );
}

/**
 * Requires that no other user can replace files in `folder`: it and every folder above it belong to this
 * user or to root, and others cannot write to them, or the sticky bit is set. A group may write, because
 * many systems give each user a group.
 *
 * @param folder absolute, free of symbolic links
 * @throws OperatorError when another user can replace them
 */
export function requireSafePath(folder: string, alternative: string): void {
  // If a user namespace does not map root, root's files have the uid of the root folder.
  const trusted = [0, process.getuid?.() ?? 0, statSync('/').uid];
  for (let path = folder; ; path = dirname(path)) {
    const { uid, mode } = statSync(path);
    if (!trusted.includes(uid)) {
      throw new OperatorError(`${path} belongs to uid ${uid}, who can replace it: ${alternative}`);
    }
    if ((mode & OTHERS_MAY_WRITE) !== 0 && (mode & STICKY) === 0) {
      throw new OperatorError(
        `${path} can be written by all users (mode ${modeText(mode)}), who could replace what is in ` +
          `it: run chmod o-w ${path}, or ${alternative}`,
      );
    }
    if (path === dirname(path)) return;
  }
}

/**
 * Requires that every file in `folder` is a regular file of this user. Folders in it are ignored.
 *
 * @throws OperatorError when a file is not
 */
export function requireOwnFiles(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) continue;
    const path = join(folder, entry.name);
    // Another process may have removed it.
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats !== undefined) requireOwnFile(path, stats);
  }
}

/**
 * Opens a regular file of this user, never through a symbolic link.
 *
 * @param flags as of open(2)
 * @throws OperatorError when the file belongs to another user or is not a regular file
 */
export function openOwnFile(path: string, flags: number, mode = 0o600): number {
  // Without O_NONBLOCK, opening a named pipe would wait.
  const descriptor = openSync(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, mode);
  try {
    requireOwnFile(path, fstatSync(descriptor));
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

function requireOwnFile(path: string, stats: Stats): void {
  const own = process.getuid?.();
  if (stats.isFile() && (own === undefined || stats.uid === own)) return;
  const fault = stats.isFile() ? `belongs to uid ${stats.uid}` : 'is not a regular file';
  throw new OperatorError(
    `${path} ${fault}, so another user may have put it there: move it out of the folder`,
  );
}

/** Writes a mode as chmod(1) takes it: `0775`. */
function modeText(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}
