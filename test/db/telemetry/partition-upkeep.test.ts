/** A clock that is wrong deletes nothing. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DatabaseClock } from '../../../src/db/database-clock.ts';
import { Retention } from '../../../src/db/retention/retention.ts';
import { upkeepPartitions } from '../../../src/db/telemetry/partition-upkeep.ts';
import { ensureDay } from '../../../src/db/telemetry/partitions.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/migrated-database.ts';

const DAY_MS = 86_400_000;

let scratch: MigratedDatabase;
beforeEach(async () => {
  scratch = await openMigratedDatabase();
  await ensureDay(scratch.database, Date.now() - 100 * DAY_MS);
});
afterEach(() => scratch.close());

async function partitionsAfter(shownMs: () => number): Promise<number> {
  const clock = new DatabaseClock(scratch.database, { clockCompared: () => {} }, shownMs);
  const retention = new Retention({ telemetry: 30, runs: 0, findings: 0 });
  const events = { partitionsChanged: () => {}, outdatedDeleted: () => {} };
  await upkeepPartitions(scratch.database, clock, retention, events);
  const [row] = await scratch.rows(
    "SELECT count(*)::int AS n FROM pg_inherits WHERE inhparent = 'spans'::regclass",
  );
  return Number(row?.n);
}

test.each([40, -40])(
  'a process %d days off drops nothing, and one that agrees does',
  async (days) => {
    const before = await partitionsAfter(() => Date.now() + days * DAY_MS);
    expect(await partitionsAfter(() => Date.now() + days * DAY_MS)).toBe(before);
    expect(await partitionsAfter(Date.now)).toBe(before - 1);
  },
);
