/**
 * The embedded server against real processes: first start, second start, deaths of every kind,
 * other owners, other users. Nothing here waits for time to pass, only for things to happen.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFile,
  chmod,
  chown,
  lchown,
  mkdir,
  readdir,
  readFile,
  rename,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { databaseAccount } from '../../../src/db/embedded/account.ts';
import { connectEmbedded } from '../../../src/db/embedded/connect.ts';
import { lockFolder } from '../../../src/db/embedded/owner.ts';
import { asAccount, processCommand, runProgram } from '../../../src/db/embedded/process.ts';
import { findServer } from '../../../src/db/embedded/server.ts';
import { OperatorError } from '../../../src/errors.ts';
import { inFull } from '../../support/cases.ts';
import {
  ask,
  ended,
  gone,
  type Lab,
  openLab,
  serverLog,
  serverPid,
} from '../../support/embedded-lab.ts';

const isRoot = process.getuid?.() === 0;
const NOBODY = { uid: 65_534, gid: 65_534 };
const checkout = fileURLToPath(new URL('../../..', import.meta.url));
const nobodyReaches = async (path: string): Promise<boolean> =>
  (await runProgram('/bin/ls', [path], { account: NOBODY, timeoutMs: 10_000 })).code === 0;

const AS_COMMAND = { serves: false };

let lab: Lab;
beforeEach(() => {
  lab = openLab();
});
afterEach(() => lab.close());

/** The error a promise ends with; fails when it does not. */
async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.unreachable('should have failed'),
    (error: unknown) => error,
  );
}

async function operatorLine(promise: Promise<unknown>): Promise<string> {
  const error = await failure(promise);
  expect(error).toBeInstanceOf(OperatorError);
  const { message } = error as OperatorError;
  expect(message).not.toContain('\n');
  return message;
}

describe('a first start', () => {
  it('makes a database that is safe by its settings and keeps its password to itself', async () => {
    const database = await lab.start(join(await lab.folder(), 'new', 'data'));
    const { url, home } = database;
    expect(database).toMatchObject({ moved: null, adopted: false, owned: true });

    const show = async (name: string): Promise<unknown> => (await ask(url, `SHOW ${name}`))[0];
    expect(await show('server_encoding')).toBe('UTF8');
    expect(await show('listen_addresses')).toBe('127.0.0.1');
    expect(await show('unix_socket_permissions')).toBe('0700');
    expect((await stat(join(home, 'socket'))).mode & 0o777).toBe(0o700);
    expect(await show('fsync')).toBe('on');
    expect(await show('synchronous_commit')).toBe('on');
    expect(await show('data_checksums')).toBe('on');
    expect(await show('timezone')).toBe('UTC');
    const locale = 'SELECT datlocale FROM pg_database WHERE datname = current_database()';
    expect(await ask(url, locale)).toEqual(['C.UTF-8']);

    const { password } = new URL(url);
    expect(password).toMatch(/^[\w-]{43}$/);
    expect((await stat(join(home, 'password'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(home, 'password'))).uid).toBe(process.getuid?.());
    expect(await processCommand(await serverPid(home))).not.toContain(password);
    expect(await serverLog(home)).not.toContain(password);
    expect(lab.lines.join()).not.toContain(password);
    const wrong = url.replace(password, 'wrong');
    expect(await failure(ask(wrong, 'SELECT 1'))).toMatchObject({ code: '28P01' });
  });

  inFull('takes as many connections as its users need', async () => {
    const dataDir = await lab.madeFolder();
    const { url, stop } = await lab.start(dataDir, { connectionsMax: 300 });
    expect(await ask(url, 'SHOW max_connections')).toEqual(['300']);
    await stop();
    const later = await lab.start(dataDir);
    expect(await ask(later.url, 'SHOW max_connections')).toEqual(['50']);
  });

  it('keeps statements and rows out of the log, even of statements that fail', async () => {
    const { url, home } = await lab.start(await lab.madeFolder());
    await ask(url, 'CREATE TABLE t (id int PRIMARY KEY, body json)');
    const statements = [
      `SELECT 'secret-1'::int`,
      `INSERT INTO t VALUES (1, '"secret-2'::json)`,
      `DO $$ BEGIN RAISE WARNING 'secret-3'; END $$; SELECT secret-4`,
      `INSERT INTO t VALUES (1, '"secret-5"'), (1, '"secret-6"')`,
    ];
    for (const statement of statements) await failure(ask(url, statement));
    expect(await serverLog(home)).toContain('ready to accept connections');
    expect(await serverLog(home)).not.toContain('secret');
  });

  it('clears away what an interrupted initdb left', async () => {
    const dataDir = await lab.folder();
    await mkdir(join(dataDir, 'postgres', 'cluster.new.0', 'base'), { recursive: true });
    await writeFile(join(dataDir, 'postgres', 'cluster.new.0', 'PG_VERSION'), '18\n');
    const { url } = await lab.start(dataDir);
    expect(await ask(url, 'SELECT 1')).toEqual([1]);
  });
});

describe('a later start', () => {
  it('finds the data at the same address, and stop leaves nothing running', async () => {
    const dataDir = await lab.madeFolder();
    const first = await lab.start(dataDir);
    await ask(first.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    const pid = await serverPid(first.home);
    await Promise.all([first.stop(), first.stop()]);
    expect(await findServer(first.home)).toBeNull();
    await gone(pid);

    const second = await lab.start(dataDir);
    expect(second.url).toBe(first.url);
    expect(second).toMatchObject({ adopted: false, owned: true });
    expect(await ask(second.url, 'SELECT n FROM kept')).toEqual([7]);
    await second.stop();
  });

  it('recovers what was committed when the server itself was killed', async () => {
    const dataDir = await lab.madeFolder();
    const first = await lab.start(dataDir);
    await ask(first.url, 'CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n');
    const pid = await serverPid(first.home);
    process.kill(pid, 'SIGKILL');
    await gone(pid);
    await first.stop();

    const second = await lab.start(dataDir);
    expect(second.adopted).toBe(false);
    expect(await ask(second.url, 'SELECT count(*)::int FROM kept')).toEqual([1000]);
    expect(await serverLog(second.home)).toContain('automatic recovery in progress');
  });

  inFull('waits for the children of a killed server to let go', async () => {
    const dataDir = await lab.madeFolder();
    const first = await lab.start(dataDir);
    const client = new pg.Client({ connectionString: first.url });
    client.on('error', () => undefined);
    await client.connect();
    const backend = (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
    const pid = await serverPid(first.home);
    // A stopped child cannot notice that its parent died, and keeps the shared memory.
    process.kill(backend, 'SIGSTOP');
    process.kill(pid, 'SIGKILL');
    await gone(pid);
    await first.stop();
    expect(await lockFolder(first.home)).toBe('held');
    const second = lab.start(dataDir);
    process.kill(backend, 'SIGCONT');
    expect(await ask((await second).url, 'SELECT 1')).toEqual([1]);
  });

  it('is not stopped by a postmaster.pid that names a dead or another program', async () => {
    const dataDir = await lab.madeFolder();
    const first = await lab.start(dataDir);
    await first.stop();
    const account = await databaseAccount();
    const other = spawn('sleep', ['1000'], { ...asAccount(account), cwd: '/', stdio: 'ignore' });
    await once(other, 'spawn');
    const pidFile = join(first.home, 'cluster', 'postmaster.pid');
    const lines = (pid: unknown): string =>
      `${pid}\n${first.home}\n1\n5432\n\n127.0.0.1\n\nready\n`;
    try {
      await writeFile(pidFile, lines(other.pid));
      await chmod(pidFile, 0o644);
      expect(await connectEmbedded(dataDir)).toBeNull();
      const second = await lab.start(dataDir);
      expect(second.adopted).toBe(false);
      await second.stop();
    } finally {
      other.kill();
      await ended(other);
    }
    await writeFile(pidFile, lines(other.pid));
    const third = await lab.start(dataDir);
    expect(await ask(third.url, 'SELECT 1')).toEqual([1]);
  });

  inFull('survives a truncated postmaster.pid', async () => {
    const dataDir = await lab.madeFolder();
    const first = await lab.start(dataDir);
    await first.stop();
    const pidFile = join(first.home, 'cluster', 'postmaster.pid');
    await writeFile(pidFile, '');
    await utimes(pidFile, 0, 0);
    const second = await lab.start(dataDir);
    expect(await ask(second.url, 'SELECT 1')).toEqual([1]);
  });
});

describe('more than one process', () => {
  it('adopts, with ownership, the server of an owner that was killed', async () => {
    const dataDir = await lab.madeFolder();
    const child = await lab.child(dataDir);
    const pid = await serverPid(child.report.home);
    await ask(child.report.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    child.process.kill('SIGKILL');
    await ended(child.process);

    const adopted = await lab.start(dataDir);
    expect(adopted).toMatchObject({ adopted: true, owned: true, url: child.report.url });
    expect(await serverPid(adopted.home)).toBe(pid);
    expect(await ask(adopted.url, 'SELECT n FROM kept')).toEqual([7]);
    // The log is a file of its own: the server still writes to it.
    await adopted.stop();
    await gone(pid);
    expect(await serverLog(adopted.home)).toContain('database system is shut down');
  });

  it('lets a command use the database of a running server, and leaves it running', async () => {
    const dataDir = await lab.madeFolder();
    expect(await connectEmbedded(dataDir)).toBeNull();
    const owner = await lab.child(dataDir);
    const command = await lab.start(dataDir, AS_COMMAND);
    expect(command).toMatchObject({ adopted: true, owned: false, url: owner.report.url });
    expect(await connectEmbedded(dataDir)).toBe(owner.report.url);
    await command.stop();
    expect(await ask(owner.report.url, 'SELECT 1')).toEqual([1]);

    const pid = await serverPid(owner.report.home);
    await owner.end();
    await gone(pid);
    expect(await connectEmbedded(dataDir)).toBeNull();
  });

  it('lets the next one wait while a command has started it for itself', async () => {
    const dataDir = await lab.madeFolder();
    const first = await lab.start(dataDir, AS_COMMAND);
    expect(first).toMatchObject({ adopted: false, owned: true });
    const late = lab.start(dataDir, { ...AS_COMMAND, readyWaitMs: 100 });
    expect(await operatorLine(late)).toContain('a command uses the database in');
    const server = lab.start(dataDir);
    await first.stop();
    expect(await server).toMatchObject({ adopted: false, owned: true });
  });

  inFull('never takes the server from someone who got it', async () => {
    const dataDir = await lab.folder();
    const comeAndGo = async (questions: number): Promise<void> => {
      for (let round = 0; round < 6; round += 1) {
        const database = await lab.start(dataDir, AS_COMMAND);
        for (let n = 0; n < questions; n += 1) {
          expect(await ask(database.url, `SELECT ${n}`)).toEqual([n]);
        }
        await database.stop();
      }
    };
    await Promise.all([comeAndGo(1), comeAndGo(10), comeAndGo(30)]);
    expect(await connectEmbedded(dataDir)).toBeNull();
  });

  it('has one owner when many start at once', async () => {
    const dataDir = await lab.folder();
    const children = [1, 2, 3, 4].map(() => lab.child(dataDir, undefined, 1));
    const ends = await Promise.allSettled(children);
    const [started] = ends.flatMap((one) => (one.status === 'fulfilled' ? [one.value.report] : []));
    expect(started).toMatchObject({ owned: true, adopted: false });
    const refusals = ends.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
    expect(refusals).toHaveLength(3);
    for (const one of refusals) expect(one).toContain('another Sluice server uses the database');
  });

  it('keeps Ctrl-C in our terminal from the server', async () => {
    const child = await lab.child(await lab.madeFolder());
    const { pid } = child.process;
    if (pid === undefined) throw new Error('the child has no pid');
    process.kill(-pid, 'SIGINT');
    await ended(child.process);
    expect(child.process.signalCode).toBe('SIGINT');
    expect(await ask(child.report.url, 'SELECT 1')).toEqual([1]);
  });
});

describe('a start that cannot be', () => {
  it('says what to do about data of another major version', async () => {
    const dataDir = await lab.madeFolder();
    const { home, stop } = await lab.start(dataDir);
    await stop();
    await writeFile(join(home, 'cluster', 'PG_VERSION'), '15\n');
    const line = await operatorLine(lab.start(dataDir));
    expect(line).toContain('of PostgreSQL 15, this is PostgreSQL 18');
    expect(line).toContain('DATABASE_URL');
  });

  it('names the folder it cannot use', async () => {
    const file = join(await lab.folder(), 'file');
    await writeFile(file, '');
    expect(await operatorLine(lab.start(join(file, 'data')))).toBe(
      `cannot use ${file}/data for the database (ENOTDIR): set DATA_DIR to another folder`,
    );
  });

  it('takes nothing for a database that is none', async () => {
    const dataDir = await lab.madeFolder();
    const { home, url, stop } = await lab.start(dataDir);
    await stop();
    const version = join(home, 'cluster', 'PG_VERSION');
    await rename(version, `${version}.lost`);
    expect(await operatorLine(lab.start(dataDir))).toContain('has no PG_VERSION');
    await rename(`${version}.lost`, version);
    expect((await lab.start(dataDir)).url).toBe(url);
  });

  it("shows the server's last words, and can be repaired", async () => {
    const dataDir = await lab.madeFolder();
    const { home, stop } = await lab.start(dataDir);
    await stop();
    const conf = join(home, 'cluster', 'postgresql.conf');
    const before = await readFile(conf, 'utf8');
    await appendFile(conf, 'no_such_setting = 1\n');
    const line = await operatorLine(lab.start(dataDir));
    expect(line).toContain(`PostgreSQL in ${home} did not start`);
    expect(line).toContain('unrecognized configuration parameter "no_such_setting"');

    await writeFile(conf, before);
    expect(await lab.start(dataDir)).toMatchObject({ owned: true });
  });

  it('refuses a server whose password is not ours', async () => {
    const dataDir = await lab.madeFolder();
    const { home, url } = await lab.start(dataDir);
    await ask(url, `ALTER ROLE sluice PASSWORD 'other'`);
    expect(await operatorLine(connectEmbedded(dataDir))).toMatch(
      /^cannot log in to the embedded PostgreSQL .*password authentication failed/,
    );
    expect(await findServer(home)).not.toBeNull();
  });
});

describe('a home that others could have changed', () => {
  it.each([0o770, 0o757])('is refused with mode %o, and keeps it', async (mode) => {
    const dataDir = await lab.folder();
    const home = join(dataDir, 'postgres');
    await mkdir(home);
    await chmod(home, mode);
    expect(await operatorLine(lab.start(dataDir))).toBe(
      `${home} can be written by other users (mode 0${mode.toString(8)}): check what they put there, ` +
        `then run chmod go-w ${home}, or set another DATA_DIR`,
    );
    expect((await stat(home)).mode & 0o777).toBe(mode);
    expect(await readdir(home)).toEqual([]);
  });

  it('is refused when it is a link, also to a folder of this user', async () => {
    const dataDir = await lab.folder();
    const target = await lab.folder();
    await symlink(target, join(dataDir, 'postgres'));
    expect(await operatorLine(lab.start(dataDir))).toContain('postgres is a symbolic link');
    expect(await readdir(target)).toEqual([]);
  });
});

describe.runIf(isRoot)('as root', () => {
  it('runs as the system user and leaves it nothing but the cluster', async () => {
    const { home } = await lab.start(await lab.folder());
    const account = await databaseAccount();
    expect((await stat(`/proc/${await serverPid(home)}`)).uid).toBe(account?.uid);
    expect((await stat(join(home, 'cluster'))).uid).toBe(account?.uid);
    expect((await stat(join(home, 'socket'))).uid).toBe(account?.uid);
    for (const ours of ['.', 'password', 'server.log']) {
      expect((await stat(join(home, ours))).uid).toBe(0);
    }
  });

  it("keeps everybody else from the socket, and will not live in another user's folder", async () => {
    const dataDir = await lab.madeFolder();
    const { home } = await lab.start(dataDir);
    const list = await runProgram('/bin/ls', [join(home, 'socket')], {
      account: NOBODY,
      timeoutMs: 10_000,
    });
    expect(list).toMatchObject({ code: 2 });
    expect(list.output).toContain('Permission denied');

    const planted = await lab.folder();
    await mkdir(join(planted, 'postgres'));
    await chown(join(planted, 'postgres'), NOBODY.uid, NOBODY.gid);
    expect(await operatorLine(lab.start(planted))).toContain(
      `${planted}/postgres belongs to uid 65534, and Sluice runs as uid 0`,
    );
    expect(await readdir(join(planted, 'postgres'))).toEqual([]);

    const linked = await lab.folder();
    const target = await lab.folder();
    await symlink(target, join(linked, 'postgres'));
    await lchown(join(linked, 'postgres'), NOBODY.uid, NOBODY.gid);
    expect(await operatorLine(lab.start(linked))).toContain('belongs to uid 65534');
    expect((await stat(target)).mode & 0o777).toBe(0o755);
  });

  it('moves the data where the system user can reach it, and finds it there again', async () => {
    const locked = await lab.folder();
    await chmod(locked, 0o700);
    const dataDir = join(locked, 'data');
    const first = await lab.start(dataDir);
    expect(first.home).toMatch(/^\/var\/lib\/sluice\/[0-9a-f]{12}\/postgres$/);
    expect(first.moved).toContain(`cannot enter ${dataDir}/postgres`);
    expect(lab.lines[0]).toContain(first.home);
    expect((await stat(locked)).mode & 0o777).toBe(0o700);
    await ask(first.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    expect(await connectEmbedded(dataDir)).toBe(first.url);
    await first.stop();

    // Within reach by now, but the data decides.
    await chmod(locked, 0o755);
    const second = await lab.start(dataDir);
    expect(second.home).toBe(first.home);
    expect(await ask(second.url, 'SELECT n FROM kept')).toEqual([7]);
  });

  it("will not run an ordinary user's database as someone else", async () => {
    const dataDir = await lab.folder();
    await mkdir(join(dataDir, 'postgres', 'cluster'), { recursive: true });
    const account = await databaseAccount();
    expect(await operatorLine(lab.start(dataDir))).toContain(
      `belongs to uid 0, and PostgreSQL would run as uid ${account?.uid}`,
    );
  });
});

describe.runIf(isRoot && (await nobodyReaches(checkout)))('as an ordinary user', () => {
  it('runs plainly, adopts after a kill, and keeps all to itself', async () => {
    const dataDir = await lab.folder();
    await chmod(dataDir, 0o777);
    const first = await lab.child(dataDir, NOBODY);
    expect(first.report).toMatchObject({ moved: null, adopted: false, owned: true });
    expect(first.report.home).toBe(join(dataDir, 'postgres'));
    expect((await stat(first.report.home)).mode & 0o777).toBe(0o700);
    expect((await stat(join(first.report.home, 'password'))).uid).toBe(NOBODY.uid);
    first.process.kill('SIGKILL');
    await ended(first.process);

    const second = await lab.child(dataDir, NOBODY);
    expect(second.report).toMatchObject({ adopted: true, owned: true, url: first.report.url });
    const pid = await serverPid(second.report.home);
    await second.end();
    await gone(pid);
  });

  it('names the folder it may not write', async () => {
    const dataDir = await lab.folder();
    const error = await failure(lab.child(dataDir, NOBODY));
    expect(String(error)).toContain(`cannot use ${dataDir}/postgres for the database (EACCES)`);
    expect(String(error)).toContain('"operator":true');
  });
});
