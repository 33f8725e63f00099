/** PostgreSQL's clock as a process reads it, whatever its own clock shows. */
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';

import { CLOCK_DIFFERENCE_MAX_MS, DatabaseClock } from '../../src/db/database-clock.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';

let scratch: MigratedDatabase;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
});
afterAll(() => scratch.close());

/** A clock in a process whose own clock is that far ahead. */
function clockOf(aheadMs: number, database: Pick<typeof scratch.database, 'query'>) {
  const reported: number[] = [];
  const events = {
    clockCompared: (differenceMs: number, differs: boolean) => {
      if (differs) reported.push(differenceMs);
    },
  };
  return { reported, clock: new DatabaseClock(database, events, () => Date.now() + aheadMs) };
}

const byPostgres = async (): Promise<number> => {
  const [row] = await scratch.rows('SELECT extract(epoch FROM clock_timestamp())::float8 AS now');
  return Number(row?.now) * 1000;
};

test('lies between two readings of its own, and advances between them', async () => {
  const { clock, reported } = clockOf(0, scratch.database);
  const before = await byPostgres();
  await clock.read();
  const now = clock.nowMs();
  const after = await byPostgres();
  // A reading may be off by half a round trip.
  expect(now).toBeGreaterThanOrEqual(before - 2000);
  expect(now).toBeLessThanOrEqual(after + 2000);
  expect(clock.nowMs()).toBeGreaterThanOrEqual(now);
  expect(Number.isInteger(now)).toBe(true);
  expect(reported).toEqual([]);
});

test.each([3 * 86_400_000, -3 * 86_400_000])(
  'a process clock that is %d ms off is reported, fails the probe, and is not used',
  async (aheadMs) => {
    const { clock, reported } = clockOf(aheadMs, scratch.database);
    expect(clock.differs).toBe(false);
    await clock.check();
    await clock.read();
    expect(clock.differs).toBe(true);
    await expect(clock.check()).rejects.toThrow('differs');
    expect(Math.abs(clock.nowMs() - (await byPostgres()))).toBeLessThan(2000);
    expect(reported).toHaveLength(1);
    expect(Math.abs((reported[0] ?? 0) - aheadMs)).toBeLessThan(CLOCK_DIFFERENCE_MAX_MS);
  },
);

test('a difference that a slow answer may explain is none, and a corrected clock is seen', async () => {
  let aheadMs = 2 * CLOCK_DIFFERENCE_MAX_MS;
  const reported: boolean[] = [];
  const events = { clockCompared: (_ms: number, differs: boolean) => void reported.push(differs) };
  const clock = new DatabaseClock(scratch.database, events, () => Date.now() + aheadMs);
  await clock.read();
  aheadMs = 0;
  await clock.read();
  await clock.check();
  expect(reported).toEqual([true, false]);
  // The first reading counts however long it took.
  const now = vi.spyOn(performance, 'now').mockReturnValueOnce(0).mockReturnValue(30_000);
  try {
    aheadMs = CLOCK_DIFFERENCE_MAX_MS + 20_000;
    const slow = new DatabaseClock(scratch.database, events, () => Date.now() + aheadMs - 15_000);
    await slow.read();
    expect(slow.differs).toBe(false);
  } finally {
    now.mockRestore();
  }
});

test('a database that is away leaves the reading before it; without one there is no time', async () => {
  let isAway = true;
  const flaky = {
    query: (text: string) =>
      isAway ? Promise.reject(new Error('away')) : scratch.database.query(text),
  } as unknown as typeof scratch.database;
  const { clock } = clockOf(0, flaky);
  await expect(clock.read()).rejects.toThrow('away');
  expect(clock.nowMs).toThrow('not read yet');
  isAway = false;
  await clock.read();
  isAway = true;
  await expect(clock.read()).rejects.toThrow('away');
  expect(Math.abs(clock.nowMs() - (await byPostgres()))).toBeLessThan(2000);
});

test('a slow reading replaces only one that it proves wrong, as after the machine has slept', async () => {
  const { clock } = clockOf(0, scratch.database);
  await clock.read();
  const now = vi.spyOn(performance, 'now');
  onTestFinished(() => now.mockRestore());
  const read = async (startedMs: number, endedMs: number): Promise<number> => {
    now.mockReturnValueOnce(startedMs).mockReturnValueOnce(endedMs).mockReturnValue(endedMs);
    await clock.read();
    now.mockReturnValue(0);
    return clock.nowMs();
  };
  const startMs = await read(0, 0);
  // The answer took 30 s, at any moment of which PostgreSQL may have looked at its clock.
  expect(await read(-20_000, 10_000)).toBe(startMs);
  // 30 days have passed by PostgreSQL's clock that this process has not seen.
  const sleptMs = 30 * 86_400_000;
  const seenMs = await read(-sleptMs - 15_000, -sleptMs + 15_000);
  expect(Math.abs(seenMs - startMs - sleptMs)).toBeLessThan(2000);
});
