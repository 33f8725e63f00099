/**
 * Ownership of a home: one at a time, whichever process dies, however many want it at once.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { claimOwnership, lockFolder, ownerServes } from '../../../src/db/embedded/owner.ts';
import { processIdentity } from '../../../src/db/embedded/process.ts';
import { placeIn } from '../../../src/db/embedded/record.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-owner-'));
});
afterEach(() => rm(home, { recursive: true }));

const claims = (count: number) =>
  Promise.all(Array.from({ length: count }, () => claimOwnership(home)));
const granted = <T>(all: readonly (T | null)[]): T[] => all.filter((one) => one !== null);

it('goes to exactly one of many, and to the next after its release', async () => {
  for (let round = 1; round <= 5; round += 1) {
    const owners = granted(await claims(20));
    expect(owners).toHaveLength(1);
    expect(await claimOwnership(home)).toBeNull();
    expect(await readdir(home)).toEqual(['lock', `owner.${round}`]);
    await owners[0]?.release();
  }
});

it('goes to exactly one when it is taken from the dead', async () => {
  const self = await processIdentity(process.pid);
  const place = await placeIn(home, false);
  const dead = [
    { pid: 999_999_999, identity: self, place },
    // The number is in use again, by a process that started at another time.
    { pid: process.pid, identity: `${self}0`, place },
  ];
  for (const [index, record] of dead.entries()) {
    await writeFile(join(home, `owner.${(index + 1) * 100}`), `${JSON.stringify(record)}\n`);
    const owners = granted(await claims(20));
    expect(owners).toHaveLength(1);
    await owners[0]?.release();
  }
  expect(await readdir(home)).toEqual(['lock', 'owner.201']);
});

it('names its process, and nobody once released', async () => {
  const ownership = await claimOwnership(home);
  const identity = await processIdentity(process.pid);
  const path = join(home, 'owner.1');
  expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ pid: process.pid, identity });
  await ownership?.release();
  expect(await readFile(path, 'utf8')).toBe('');
});

it('lets go of the lock, also when its record was taken over', async () => {
  const ownership = await claimOwnership(home);
  expect(await lockFolder(home)).toBe('held');
  await rm(join(home, 'owner.1'));
  await ownership?.release();
  const lock = await lockFolder(home);
  if (typeof lock === 'string') throw new Error(lock);
  await lock.release();
});

it('says whether it is a server of Sluice', async () => {
  expect(await ownerServes(home)).toBe(false);
  for (const serves of [true, false]) {
    const ownership = await claimOwnership(home, {
      serves,
      isServed: () => Promise.resolve(false),
    });
    expect(await ownerServes(home)).toBe(serves);
    await ownership?.release();
    expect(await ownerServes(home)).toBe(false);
  }
});
