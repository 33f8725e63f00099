/**
 * One folder in several containers: who owns it, with and without locks; and copies of a folder in use.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  claimOwnership,
  lockFolder,
  OWNER_SILENT_MS,
  untilSilent,
} from '../../../src/db/embedded/owner.ts';
import { runProgram } from '../../../src/db/embedded/process.ts';
import { renewedAtMs, renewRecord } from '../../../src/db/embedded/record.ts';
import { findServer } from '../../../src/db/embedded/server.ts';
import { bundle } from '../../support/checkout.ts';
import {
  ask,
  firstInside,
  IN_CONTAINER,
  type Lab,
  openLab,
  serverPid,
  WITHOUT_LOCKS,
} from '../../support/embedded-lab.ts';
import { mustRunAll } from '../../support/programs.ts';

const isRoot = process.getuid?.() === 0;

let lab: Lab;
let containers: ChildProcess[] = [];
beforeEach(() => {
  lab = openLab();
});
afterEach(async () => {
  for (const container of containers) await end(container);
  containers = [];
  await lab.close();
});

async function end(container: ChildProcess): Promise<void> {
  if (container.exitCode !== null || container.signalCode !== null) return;
  container.kill('SIGKILL');
  await once(container, 'exit');
}

/** Not the shell that started it, whose arguments name it too. */
const SLUICE = '^[^ ]*node [^ ]*embedded-child';

interface Answer {
  readonly copyUrl?: string;
  readonly adopted?: boolean;
  readonly owned?: boolean;
  readonly failed?: string;
}

/** Starts the database of `dataDir` in a container; the first process there lives until it is ended. */
async function start(
  prefix: readonly string[],
  dataDir: string,
): Promise<{ container: ChildProcess; answer: Answer }> {
  const child = await bundle(new URL('../../support/embedded-child.ts', import.meta.url));
  const command = [...prefix, 'sh', '-c', '"$@"; sleep 1000', 'sh', process.execPath];
  const [file = '', ...args] = [...command, child, dataDir];
  const container = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  containers.push(container);
  const [line] = await once(createInterface({ input: container.stdout }), 'line');
  return { container, answer: JSON.parse(String(line)) as Answer };
}

/** Ends a program in a container, not the container. */
async function killIn(container: ChildProcess, pattern: string): Promise<void> {
  const first = await firstInside(container);
  const inside = ['--target', String(first), '--pid', '--mount'];
  const options = { account: null, timeoutMs: 10_000 };
  const found = await runProgram('nsenter', [...inside, 'pgrep', '-f', pattern], options);
  const [pid = ''] = found.output.split('\n');
  await runProgram('nsenter', [...inside, 'kill', '-9', pid], options);
}

/** The port works from outside the container, whose network is ours. */
function copyUrlOf({ copyUrl = '' }: Answer): string {
  return copyUrl;
}

async function refusal(dataDir: string): Promise<string> {
  return await lab.start(dataDir).then(
    () => expect.unreachable('should have been refused'),
    (error: Error) => error.message,
  );
}

describe.skipIf(!isRoot && !mustRunAll)('a server in a container', () => {
  const USER = /is in use by process \d+ of host or container .*docker exec .*Nothing was changed/;

  it('is refused to all others, also when only its PostgreSQL is left; then anybody starts', async () => {
    const dataDir = await lab.madeFolder();
    const home = join(dataDir, 'postgres');
    const first = await start(IN_CONTAINER, dataDir);
    expect(first.answer).toMatchObject({ owned: true, adopted: false });
    const before = await readFile(join(home, 'cluster', 'postmaster.pid'), 'utf8');
    await ask(copyUrlOf(first.answer), 'CREATE TABLE kept AS SELECT 7 AS n');

    const startRefused = async (prefix: readonly string[]) => {
      expect((await start(prefix, dataDir)).answer.failed).toMatch(USER);
    };
    const refused = async () => expect(await refusal(dataDir)).toMatch(USER);
    // Its /proc has the pids of the machine.
    const withoutProc = IN_CONTAINER.filter((one) => one !== '--mount-proc');
    // Each waits for a moment before it is refused: at the same time.
    await Promise.all([startRefused(IN_CONTAINER), refused(), startRefused(withoutProc)]);
    await killIn(first.container, SLUICE);
    expect(await lockFolder(home)).toBe('held');
    await Promise.all([startRefused(IN_CONTAINER), refused()]);
    expect(await readFile(join(home, 'cluster', 'postmaster.pid'), 'utf8')).toBe(before);
    expect(await ask(copyUrlOf(first.answer), 'SELECT n FROM kept')).toEqual([7]);

    await end(first.container);
    const next = await lab.start(dataDir);
    expect(next).toMatchObject({ owned: true, adopted: false });
    expect(await ask(next.url, 'SELECT n FROM kept')).toEqual([7]);
  });

  it('whose PostgreSQL was killed still owns the folder', async () => {
    const dataDir = await lab.madeFolder();
    const { container } = await start(IN_CONTAINER, dataDir);
    await killIn(container, 'postgres -D');
    expect(await refusal(dataDir)).toMatch(USER);
  });

  it('is refused to others without locks too, until it has been silent for long enough', async () => {
    const dataDir = await lab.madeFolder();
    const home = join(dataDir, 'postgres');
    const first = await start(WITHOUT_LOCKS, dataDir);
    expect(first.answer).toMatchObject({ owned: true, adopted: false });
    expect((await start(WITHOUT_LOCKS, dataDir)).answer.failed).toMatch(USER);
    // With locks, which the first one does not have.
    expect(await refusal(dataDir)).toMatch(USER);
    // Its PostgreSQL is left, and nobody renews the record.
    await killIn(first.container, SLUICE);
    const [owner = ''] = (await readdir(home)).filter((name) => name.startsWith('owner.'));
    const old = (Date.now() - OWNER_SILENT_MS - 60_000) / 1000;
    await utimes(join(home, owner), old, old);
    expect(await refusal(dataDir)).toContain('a PostgreSQL that is not visible here runs in');
    expect(await ask(copyUrlOf(first.answer), 'SELECT 1')).toEqual([1]);
    await end(first.container);
    expect(await lab.start(dataDir)).toMatchObject({ owned: true, adopted: false });
  });
});

describe('an owner that cannot be seen and has no lock', () => {
  const ELSEWHERE = {
    pid: 1,
    identity: 'another boot 1',
    place: { kernel: 'another boot', namespace: 'pid:[1]', host: 'other', isLocked: true },
  };

  async function plant(home: string, ageMs: number): Promise<void> {
    const ownership = await claimOwnership(home);
    const path = join(home, 'owner.1');
    const { place } = JSON.parse(await readFile(path, 'utf8'));
    await ownership?.release();
    const record = { ...ELSEWHERE, place: { ...ELSEWHERE.place, folder: place.folder } };
    await writeFile(path, `${JSON.stringify(record)}\n`);
    const at = (Date.now() - ageMs) / 1000;
    await utimes(path, at, at);
  }

  it('has ended once it has been silent for more than 20 s, by the clock of the file system', async () => {
    const home = await lab.folder();
    await plant(home, OWNER_SILENT_MS + 1000);
    const before = await renewedAtMs(home, 'owner.1');
    expect(await untilSilent(home, 'owner.1')).toBe(true);
    expect(await renewedAtMs(home, 'owner.1')).toBe(before);
    expect(await claimOwnership(home)).not.toBeNull();
    expect(await readdir(home)).toContain('owner.2');
  });

  it('lives if it renews its record before, of whatever age that is', async () => {
    for (const ageMs of [OWNER_SILENT_MS - 5000, -60_000]) {
      const home = await lab.folder();
      await plant(home, ageMs);
      const claim = claimOwnership(home).then(
        () => expect.unreachable('should have been refused'),
        (error: Error) => error.message,
      );
      let isDecided = false;
      void claim.then(() => {
        isDecided = true;
      });
      while (!isDecided) await renewRecord(home, 'owner.1');
      expect(await claim).toContain('is in use by process 1 of host or container other');
      expect(await readdir(home)).not.toContain('owner.2');
    }
  });
});

describe('a copy', () => {
  it('of a folder in use is refused at once, with what to do; then it can be used', async () => {
    const dataDir = await lab.madeFolder();
    const copyDir = await lab.folder();
    const { home } = await lab.start(dataDir);
    const copy = join(copyDir, 'postgres');
    lab.forget(copy);
    await runProgram('cp', ['-a', home, copyDir], { account: null, timeoutMs: 60_000 });
    const said = await refusal(copyDir);
    expect(said).toContain(`${copy} is a copy of a folder that was in use`);
    expect(said).toContain('pg_basebackup');
    expect(said).not.toContain('\n');
    expect(await serverPid(home)).toBeGreaterThan(0);
    expect(await findServer(copy)).toBeNull();
    const [, record = ''] = / remove (\S+) and start again/.exec(said) ?? [];
    await rm(record);
    expect(await lab.start(copyDir)).toMatchObject({ owned: true, adopted: false });
  });

  it('of a folder that was not in use is a folder like any other', async () => {
    const dataDir = await lab.madeFolder();
    const copyDir = await lab.folder();
    const { home, stop } = await lab.start(dataDir);
    await stop();
    await runProgram('cp', ['-a', home, copyDir], { account: null, timeoutMs: 60_000 });
    expect(await lab.start(copyDir)).toMatchObject({ owned: true, adopted: false });
  });
});
