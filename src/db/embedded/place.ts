/**
 * Where the embedded server lives: its home directory, the account it runs under, its programs.
 *
 *   <home>/cluster       the database itself (mode 0700, the account's)
 *   <home>/password      of the role `sluice`, mode 0600, ours
 *   <home>/socket/       its Unix socket (mode 0700, the account's): see address.ts
 *   <home>/port          its port on 127.0.0.1, of the last start
 *   <home>/server.log    PostgreSQL's log; .1 is the one before
 *   <home>/owner.<n>     who uses it, with guest.<x>: see owner.ts
 *
 * home is <dataDir>/postgres; for root, where the system user cannot reach that, a folder under
 * /var/lib/sluice. Never changes owner or mode of anything that is not its own.
 */
import { createHash } from 'node:crypto';
import { realpath, rmdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { OperatorError } from '../../errors.ts';
import { databaseAccount } from './account.ts';
import { makeAskedFolder, makeOwnFolder, requireOwn, uidOf } from './folder.ts';
import { type Account, errorCode, oneLine, runProgram } from './process.ts';
import { findRuntime, packagedPrograms, type Runtime } from './runtime.ts';

export interface Place {
  /** absolute, free of symbolic links */
  readonly home: string;
  readonly account: Account;
  readonly runtime: Runtime;
  /** why home is not under the folder asked for; null when it is */
  readonly moved: string | null;
}

/** Root's own folder: a system user can reach it, and nobody but root writes in it. */
const SYSTEM_DIR = '/var/lib/sluice';
const PROBE_TIMEOUT_MS = 10_000;

export const clusterOf = (home: string): string => join(home, 'cluster');
export const passwordFileOf = (home: string): string => join(home, 'password');
export const portFileOf = (home: string): string => join(home, 'port');
export const socketFolderOf = (home: string): string => join(home, 'socket');
export const logFileOf = (home: string): string => join(home, 'server.log');

/**
 * Decides where the server lives and makes that folder. A database that is there already decides;
 * an empty start takes the asked-for folder if the account can reach it.
 *
 * @param dataDir the folder asked for; relative to the working directory
 * @throws OperatorError when there is no place, or the database there belongs to someone else
 */
export async function preparePlace(dataDir: string): Promise<Place> {
  const account = await databaseAccount();
  const runtime = await findRuntime(await packagedPrograms(), account, join(SYSTEM_DIR, 'runtime'));
  await makeAskedFolder(resolve(dataDir));
  const asked = join(await realpath(dataDir), 'postgres');
  const elsewhere = await movedHome(dataDir);

  const hasData = await hasCluster(asked);
  if (hasData) await requireOwnCluster(asked, account);
  if (!hasData && account !== null && (await hasCluster(elsewhere))) {
    await requireOwnCluster(elsewhere, account);
    await requireOwn(elsewhere);
    const moved = 'it has been there since an earlier start';
    return { home: elsewhere, account, runtime, moved };
  }
  const isNew = await makeHome(asked, account);
  const refusal = await probe(asked, account);
  if (refusal === null) return { home: await realpath(asked), account, runtime, moved: null };
  if (hasData || account === null) {
    throw new OperatorError(`PostgreSQL cannot enter ${asked}, where its data is: ${refusal}`);
  }
  if (isNew) await removeEmptyFolder(asked);
  return moveHome(elsewhere, asked, account, runtime);
}

async function moveHome(
  elsewhere: string,
  asked: string,
  account: NonNullable<Account>,
  runtime: Runtime,
): Promise<Place> {
  for (const folder of [SYSTEM_DIR, dirname(elsewhere)]) await makeOwnFolder(folder, 0o755);
  await makeHome(elsewhere, account);
  const refusal = await probe(elsewhere, account);
  if (refusal !== null) throw new OperatorError(`PostgreSQL cannot enter ${elsewhere}: ${refusal}`);
  const moved = `PostgreSQL does not run as root, and uid ${account.uid} cannot enter ${asked}`;
  return { home: elsewhere, account, runtime, moved };
}

/**
 * The homes in which a database for `dataDir` may be, the asked-for place first. Makes nothing.
 *
 * @throws OperatorError when we may not look
 */
export async function existingHomes(dataDir: string): Promise<string[]> {
  const candidates = [join(resolve(dataDir), 'postgres'), await movedHome(dataDir)];
  const found: string[] = [];
  for (const home of candidates) if (await hasCluster(home)) found.push(await realpath(home));
  return found;
}

async function movedHome(dataDir: string): Promise<string> {
  // What does not exist, or is out of reach, still has a name to look for.
  const absolute = await realpath(dataDir).catch(() => resolve(dataDir));
  const hash = createHash('sha256').update(absolute).digest('hex').slice(0, 12);
  return join(SYSTEM_DIR, hash, 'postgres');
}

async function hasCluster(home: string): Promise<boolean> {
  return (await uidOf(clusterOf(home))) !== null;
}

/**
 * Only root's home is open to pass through. Its files stay root's, so that the database account
 * can neither replace them nor make us write through a link of its making.
 */
function makeHome(home: string, account: Account): Promise<boolean> {
  return makeOwnFolder(home, account === null ? 0o700 : 0o711);
}

async function removeEmptyFolder(path: string): Promise<void> {
  try {
    await rmdir(path);
  } catch (error) {
    // Another start made the same folder, and removed it or uses it.
    if (errorCode(error) !== 'ENOENT' && errorCode(error) !== 'ENOTEMPTY') throw error;
  }
}

async function requireOwnCluster(home: string, account: Account): Promise<void> {
  const needed = account?.uid ?? process.getuid?.();
  const actual = await uidOf(clusterOf(home));
  if (needed === undefined || actual === null || actual === needed) return;
  throw new OperatorError(
    `the database in ${home} belongs to uid ${actual}, and PostgreSQL would run as uid ${needed}: ` +
      'start Sluice as the user that started it first, or set another DATA_DIR',
  );
}

/** What is in the way of `account` entering `home`, tried as that account; null when nothing is. */
async function probe(home: string, account: Account): Promise<string | null> {
  const run = await runProgram('/bin/sh', ['-c', 'cd "$1"', 'sh', home], {
    account,
    timeoutMs: PROBE_TIMEOUT_MS,
  });
  return run.code === 0 ? null : oneLine(run.output);
}
