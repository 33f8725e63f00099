/**
 * The database cluster on disk, while no server runs on it: initdb, password, version, and the
 * settings that every server is started with.
 *
 * The password is never on a command line and never in a message.
 */
import { randomBytes } from 'node:crypto';
import { chown, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { OperatorError } from '../../errors.ts';
import { type Address, addressSettings } from './address.ts';
import { uidOf } from './folder.ts';
import { clusterOf, type HeldInstallation, passwordFileOf } from './installation.ts';
import { errorCode, oneLine, runProgram } from './process.ts';
import { createRoleAndDatabase, SETUP_ROLE } from './roles.ts';

const INITDB_TIMEOUT_MS = 180_000;
const DRAFT_PREFIX = 'cluster.new.';
const MIB = 1024 * 1024;

/**
 * Creates the cluster if there is none, and renames it at the end: an interrupted initdb leaves nothing that
 * looks like a database. Returns true when it was created now.
 */
export async function ensureCluster(installation: HeldInstallation): Promise<boolean> {
  const cluster = clusterOf(installation.home);
  const version = await readIfThere(join(cluster, 'PG_VERSION'));
  if (version !== null) {
    requireVersion(installation, version.trim());
    return false;
  }
  if ((await uidOf(cluster)) !== null) {
    throw new OperatorError(
      `${cluster} has no PG_VERSION file, so it is not a PostgreSQL data folder: restore it from a backup, or move it away`,
    );
  }
  await removeDrafts(installation.home);
  const draft = join(installation.home, `${DRAFT_PREFIX}${randomBytes(6).toString('hex')}`);
  await mkdir(draft, { mode: 0o700 });
  if (installation.account !== null)
    await chown(draft, installation.account.uid, installation.account.gid);
  await initialise(installation, draft);
  // The password must be on the disk before the database that only it opens.
  await syncFolder(installation.home);
  await rename(draft, cluster);
  await syncFolder(installation.home);
  return true;
}

/** An initdb whose parent was killed may still run for a second; without its folder it fails. */
async function removeDrafts(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    if (!name.startsWith(DRAFT_PREFIX)) continue;
    await rm(join(home, name), { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

function requireVersion(installation: HeldInstallation, found: string): void {
  if (found === String(installation.runtime.major)) return;
  throw new OperatorError(
    `the data in ${installation.home} is of PostgreSQL ${found}, this is PostgreSQL ` +
      `${installation.runtime.major}: dump it with the Sluice version that wrote it and load it into an ` +
      'empty DATA_DIR, or set DATABASE_URL to a server of that version',
  );
}

async function initialise(installation: HeldInstallation, draft: string): Promise<void> {
  const passwordFile = passwordFileOf(installation.home);
  await writePrivately(passwordFile, randomBytes(32).toString('base64url'));
  const { account } = installation;
  // initdb reads the file as the account; afterwards only this process's user can read it.
  if (account !== null) await chown(passwordFile, account.uid, account.gid);
  const run = await runProgram(
    installation.runtime.initdb,
    // C.UTF-8 of the builtin provider: byte order, and the same whatever libc the next image has.
    ['-D', draft, '-U', SETUP_ROLE, `--pwfile=${passwordFile}`, '--auth=scram-sha-256']
      .concat(['--encoding=UTF8', '--locale=C'])
      .concat(['--locale-provider=builtin', '--builtin-locale=C.UTF-8']),
    { account, timeoutMs: INITDB_TIMEOUT_MS, inherited: installation.lockFd },
  );
  if (account !== null) await chown(passwordFile, process.getuid?.() ?? 0, process.getgid?.() ?? 0);
  if (run.code !== 0) {
    await removeDrafts(installation.home);
    throw new OperatorError(`initdb failed in ${installation.home}: ${initdbReason(run.output)}`);
  }
  await createRoleAndDatabase(installation, draft, await readPassword(installation.home));
}

function initdbReason(output: string): string {
  const lines = output.split('\n').filter((line) => /(?:error|FATAL|PANIC|hint):/i.test(line));
  return oneLine((lines.length === 0 ? output.split('\n').slice(-3) : lines).join('\n'));
}

export async function readPassword(home: string): Promise<string> {
  const path = passwordFileOf(home);
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (cause) {
    const why = errorCode(cause) ?? String(cause);
    throw new OperatorError(
      `cannot read the embedded database's password in ${path} (${why}); ` +
        'run this as the user that runs Sluice',
      { cause },
    );
  }
}

async function writePrivately(path: string, text: string): Promise<void> {
  await rm(path, { force: true });
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(`${text}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Every setting of the server, as arguments: they take precedence over all files. */
export function serverArguments(address: Address, connectionsMax: number): string[] {
  const settings = {
    ...addressSettings(address),
    max_connections: String(connectionsMax),
    shared_buffers: `${sharedBuffersMib()}MB`,
    ...SETTINGS,
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

const SETTINGS = {
  timezone: 'UTC',
  // A program of another user can connect to the port, and keeps a place for as long.
  authentication_timeout: '10s',

  // 200 means committed.
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',

  // Ingest writes steadily: few checkpoints, far apart. These binaries compress with pglz only,
  // whose time would be taken from COPY.
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
  wal_compression: 'off',
  // A new segment of 16 MB that is first filled with zeros holds up every commit, several times a
  // second at full rate (decision 0001): they are not filled, and a gigabyte of them is kept.
  wal_init_zero: 'off',
  min_wal_size: '1GB',
  jit: 'off',

  // Messages of level ERROR quote rows ("invalid input syntax for type integer: …") and reach the
  // client anyway; `log` ranks above them. Details and statements quote rows as well.
  logging_collector: 'off',
  log_destination: 'stderr',
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_statement: 'none',
  log_min_duration_statement: '-1',
  log_timezone: 'UTC',
  lc_messages: 'C',
} as const;

/** A quarter of the memory this process may use, between 128 and 1024 MiB. */
function sharedBuffersMib(): number {
  const limit = process.constrainedMemory();
  // Without a control group the limit is 0, or a number beyond all memory.
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return Math.min(1024, Math.max(128, Math.floor(memory / 4 / MIB)));
}
