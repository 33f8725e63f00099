/**
 * The embedded server's installation: its home directory, the account it runs as, its programs.
 *
 *   <home>/cluster       the database cluster (mode 0700, the account's)
 *   <home>/password      of the role `sluice`, mode 0600, this process's user's
 *   <home>/socket/       its Unix socket (mode 0700, the account's): see address.ts
 *   <home>/port          its port on 127.0.0.1, of the last start
 *   <home>/server.log    PostgreSQL's log; .1 is the one before
 *   <home>/owner.<n>     the process that owns it: see owner.ts
 *   <home>/lock          locked while any process uses it: see owner.ts
 *
 * home is <dataDir>/postgres or, for root where the system user cannot enter that, a folder under
 * /var/lib/sluice. Never changes owner or mode of files that belong to others.
 */
import { createHash } from 'node:crypto';
import { realpath, rmdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { OperatorError } from '../../errors.ts';
import { requireOwnFolder } from '../../own-folder.ts';
import { databaseAccount } from './account.ts';
import { ANOTHER_FOLDER, createDataFolder, createOwnFolder, uidOf } from './folder.ts';
import { errorCode, oneLine, runProgram, type SystemAccount } from './process.ts';
import { findRuntime, packagedPrograms, type Runtime } from './runtime.ts';

export interface Installation {
  /** absolute, free of symbolic links */
  readonly home: string;
  readonly account: SystemAccount;
  readonly runtime: Runtime;
  /** why home is not under the data folder; null when it is */
  readonly moved: string | null;
}

export interface HeldInstallation extends Installation {
  /** the home's lock, which every PostgreSQL program inherits; null on file systems without locks */
  readonly lockFd: number | null;
}

/** A folder that system users can enter and only root can write. */
const SYSTEM_DIR = '/var/lib/sluice';
const PROBE_TIMEOUT_MS = 10_000;

export const clusterOf = (home: string): string => join(home, 'cluster');
export const passwordFileOf = (home: string): string => join(home, 'password');
export const portFileOf = (home: string): string => join(home, 'port');
export const socketFolderOf = (home: string): string => join(home, 'socket');
export const logFileOf = (home: string): string => join(home, 'server.log');

/** Chooses and creates the home: an existing database's, else one that the account can enter. */
export async function prepareInstallation(dataDir: string): Promise<Installation> {
  const account = await databaseAccount();
  const runtime = await findRuntime(await packagedPrograms(), account, join(SYSTEM_DIR, 'runtime'));
  await createDataFolder(resolve(dataDir));
  const ownHome = join(await realpath(dataDir), 'postgres');
  const systemHome = await movedHome(dataDir);

  const hasData = await hasCluster(ownHome);
  if (hasData) await requireOwnCluster(ownHome, account);
  if (!hasData && account !== null && (await hasCluster(systemHome))) {
    await requireOwnCluster(systemHome, account);
    requireOwnFolder(systemHome, ANOTHER_FOLDER);
    const moved = 'an earlier start created it there';
    return { home: systemHome, account, runtime, moved };
  }
  const isNew = await createHome(ownHome, account);
  const refusal = await probe(ownHome, account);
  if (refusal === null) return { home: await realpath(ownHome), account, runtime, moved: null };
  if (hasData || account === null) {
    throw new OperatorError(`PostgreSQL cannot enter ${ownHome}, where its data is: ${refusal}`);
  }
  if (isNew) await removeEmptyFolder(ownHome);
  return moveHome(systemHome, ownHome, account, runtime);
}

async function moveHome(
  systemHome: string,
  ownHome: string,
  account: NonNullable<SystemAccount>,
  runtime: Runtime,
): Promise<Installation> {
  for (const folder of [SYSTEM_DIR, dirname(systemHome)]) await createOwnFolder(folder, 0o755);
  await createHome(systemHome, account);
  const refusal = await probe(systemHome, account);
  if (refusal !== null)
    throw new OperatorError(`PostgreSQL cannot enter ${systemHome}: ${refusal}`);
  const moved = `PostgreSQL does not run as root, and uid ${account.uid} cannot enter ${ownHome}`;
  return { home: systemHome, account, runtime, moved };
}

/** The homes with a database for `dataDir`, the one in the data folder first. Creates nothing. */
export async function existingHomes(dataDir: string): Promise<string[]> {
  const candidates = [join(resolve(dataDir), 'postgres'), await movedHome(dataDir)];
  const found: string[] = [];
  for (const home of candidates) if (await hasCluster(home)) found.push(await realpath(home));
  return found;
}

async function movedHome(dataDir: string): Promise<string> {
  // A folder that does not exist or cannot be entered has no real path.
  const absolute = await realpath(dataDir).catch(() => resolve(dataDir));
  const hash = createHash('sha256').update(absolute).digest('hex').slice(0, 12);
  return join(SYSTEM_DIR, hash, 'postgres');
}

async function hasCluster(home: string): Promise<boolean> {
  return (await uidOf(clusterOf(home))) !== null;
}

/**
 * Other accounts can pass through root's home, not write: its files stay root's, so that the database
 * account can neither replace them nor put links in their place.
 */
function createHome(home: string, account: SystemAccount): Promise<boolean> {
  return createOwnFolder(home, account === null ? 0o700 : 0o711);
}

async function removeEmptyFolder(path: string): Promise<void> {
  try {
    await rmdir(path);
  } catch (error) {
    // A concurrent start has created the same folder, and removed or uses it.
    if (errorCode(error) !== 'ENOENT' && errorCode(error) !== 'ENOTEMPTY') throw error;
  }
}

async function requireOwnCluster(home: string, account: SystemAccount): Promise<void> {
  const needed = account?.uid ?? process.getuid?.();
  const actual = await uidOf(clusterOf(home));
  if (needed === undefined || actual === null || actual === needed) return;
  throw new OperatorError(
    `the database in ${home} belongs to uid ${actual}, and PostgreSQL would run as uid ${needed}: ` +
      'start Sluice as the user that started it first, or set another DATA_DIR',
  );
}

/** Why `account` cannot enter `home`, tried as that account; null when it can. */
async function probe(home: string, account: SystemAccount): Promise<string | null> {
  const run = await runProgram('/bin/sh', ['-c', 'cd "$1"', 'sh', home], {
    account,
    timeoutMs: PROBE_TIMEOUT_MS,
  });
  return run.code === 0 ? null : oneLine(run.output);
}
