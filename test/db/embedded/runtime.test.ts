/**
 * The PostgreSQL programs, and root's needs: a copy the database account can reach, and the
 * account.
 */
import { randomBytes } from 'node:crypto';
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readlink, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemAccount } from '../../../src/db/embedded/account.ts';
import { becomeOwner } from '../../../src/db/embedded/become-owner.ts';
import { runProgram } from '../../../src/db/embedded/process.ts';
import { findRuntime, packagedPrograms } from '../../../src/db/embedded/runtime.ts';
import { OperatorError } from '../../../src/errors.ts';

const isRoot = process.getuid?.() === 0;
const NOBODY = { uid: 65_534, gid: 65_534 };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-runtime-'));
  await chmod(folder, 0o755);
});
afterEach(() => rm(folder, { recursive: true }));

it('runs the programs of the package where they are', async () => {
  const binaries = await packagedPrograms();
  expect(await findRuntime(binaries, null, join(folder, 'unused'))).toEqual({
    postgres: join(binaries, 'postgres'),
    initdb: join(binaries, 'initdb'),
    major: 18,
  });
  expect(await readdir(folder)).toEqual([]);
});

it('says what to do when the programs do not run', async () => {
  const wanted = findRuntime(join(folder, 'nothing'), null, folder);
  await expect(wanted).rejects.toThrow(OperatorError);
  await expect(wanted).rejects.toThrow(/does not run here .*ENOENT.*; set DATABASE_URL/);
});

it('a program that cannot be run as an account is a value', async () => {
  // An id that no user has, as one that a container does not map.
  const account = { uid: -1, gid: -1 };
  const run = await runProgram('/bin/sh', ['-c', 'true'], { account, timeoutMs: 10_000 });
  expect(run).toEqual({ code: null, output: 'spawn EINVAL', missing: false });
  await expect(findRuntime(await packagedPrograms(), account, folder)).rejects.toThrow(
    OperatorError,
  );
});

describe.runIf(isRoot)('as root', () => {
  it('does not become an owner as whom no program can be run', async () => {
    // Above the highest id that Node.js can run a program as.
    const uid = 2 ** 32 - 2;
    await mkdir(join(folder, 'postgres'));
    await chown(join(folder, 'postgres'), uid, 0);
    const becoming = becomeOwner(folder);
    await expect(becoming).rejects.toThrow(OperatorError);
    await expect(becoming).rejects.toThrow(
      new RegExp(`^\\S+/postgres belongs to uid ${uid}, as which no program runs here \\(.+\\)`),
    );
    expect(process.getuid?.()).toBe(0);
  });

  it('copies programs that the account cannot reach, once, links and all', async () => {
    const locked = join(folder, 'locked');
    const native = dirname(await packagedPrograms());
    await cp(dirname(native), locked, { recursive: true, verbatimSymlinks: true });
    await chmod(join(locked, 'native', 'lib'), 0o700);
    await chmod(locked, 0o700);

    const copies = join(folder, 'own', 'runtime');
    const find = () => findRuntime(join(locked, 'native', 'bin'), NOBODY, copies);
    const [runtime, again] = await Promise.all([find(), find()]);
    expect(again).toEqual(runtime);
    const [version, ...others] = await readdir(copies);
    expect(others).toEqual([]);
    expect(runtime.postgres).toBe(join(copies, String(version), 'bin', 'postgres'));
    const library = join(copies, String(version), 'lib', 'libpq.so.5');
    if (process.platform === 'linux') expect(await readlink(library)).toBe('libpq.so.5.18');
    expect((await stat(locked)).mode & 0o777).toBe(0o700);

    const { ino } = await stat(runtime.postgres);
    expect((await stat((await find()).postgres)).ino).toBe(ino);
    const asNobody = { account: NOBODY, timeoutMs: 10_000 };
    expect((await runProgram(runtime.initdb, ['--version'], asNobody)).code).toBe(0);
  });

  it("runs no programs from another user's folder, or another user's copy", async () => {
    const locked = join(folder, 'locked');
    const native = dirname(await packagedPrograms());
    await cp(dirname(native), locked, { recursive: true, verbatimSymlinks: true });
    await chmod(locked, 0o700);
    const find = () =>
      findRuntime(join(locked, 'native', 'bin'), NOBODY, join(folder, 'own', 'runtime'));
    await mkdir(join(folder, 'own'));
    await chown(join(folder, 'own'), NOBODY.uid, NOBODY.gid);
    await expect(find()).rejects.toThrow(/own belongs to uid 65534, and Sluice runs as uid 0/);

    await chown(join(folder, 'own'), 0, 0);
    await find();
    const [version = ''] = await readdir(join(folder, 'own', 'runtime'));
    await chown(join(folder, 'own', 'runtime', version), NOBODY.uid, NOBODY.gid);
    await expect(find()).rejects.toThrow(/belongs to uid 65534, and Sluice runs as uid 0/);
  });

  it('makes a system user that is missing, once', async () => {
    const name = `sluice-${randomBytes(4).toString('hex')}`;
    const asRoot = { account: null, timeoutMs: 10_000 };
    try {
      const made = await systemAccount(name);
      expect(made.uid).toBeGreaterThan(0);
      expect(await systemAccount(name)).toEqual(made);
      const { output } = await runProgram('getent', ['passwd', name], asRoot);
      expect(output).toMatch(/:\/nonexistent:\/usr\/sbin\/nologin$/);
    } finally {
      await runProgram('userdel', [name], asRoot);
    }
  });

  it('says what to do when the user cannot be made', async () => {
    const wanted = systemAccount('no such:name');
    await expect(wanted).rejects.toThrow(OperatorError);
    await expect(wanted).rejects.toThrow(
      /could not be created .*ordinary user, or set DATABASE_URL/,
    );
  });
});
