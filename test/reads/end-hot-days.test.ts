/** The end of a hot day: nothing is lost or doubled, whatever is killed when. */
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import type { Database } from '../../src/db/database.ts';
import { checkPlaces } from '../../src/db/telemetry/block-check.ts';
import { hotDaysOf } from '../../src/db/telemetry/packed/hot-days.ts';
import { ensureDay } from '../../src/db/telemetry/partitions.ts';
import { endHotDays } from '../../src/reads/end-hot-days.ts';
import { readStepsOfRuns } from '../../src/reads/steps-of-runs.ts';
import { casesOf, sampleOf } from '../support/cases.ts';
import { killing, type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import {
  body,
  everythingOf,
  pack,
  RUNS,
  type SentBody,
  send,
  toRead,
} from '../support/packed-runs.ts';
import { DAY_MS, NOON_MS } from '../support/rows.ts';

let scratch: MigratedDatabase;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.rows("INSERT INTO workspaces (slug, name) VALUES ('one', 'One')");
});
afterAll(() => scratch.close());

/** Empties the tables, with both days hot: another database for each case would take most of the time. */
async function reset(): Promise<void> {
  await scratch.rows(
    'TRUNCATE hot_blocks, hot_places, hot_days, blocks, places, runs, leases, receipts CASCADE',
  );
  for (const days of [0, 1]) await ensureDay(scratch.database, NOON_MS + days * DAY_MS);
}
beforeEach(reset);

const events = {
  runsPacked: () => {},
  hotDayPacked: () => {},
  hotDaysWait: () => {},
  partitionsChanged: () => {},
};

/** @param days that have passed since the first day */
async function end(days: number, database: Database = scratch.database): Promise<void> {
  const { signal } = new AbortController();
  await endHotDays(database, { hotDays: 2, nowMs: NOON_MS + days * DAY_MS, signal }, events);
}

/** Lets the time pass that readers have. */
const passReaders = () =>
  scratch.rows("UPDATE hot_days SET places_dropped_at = places_dropped_at - interval '2 hours'");

const everything = () => everythingOf(scratch.database);

const hotDays = async () => ({
  places: await hotDaysOf(scratch.database, 'hot_places'),
  blocks: await hotDaysOf(scratch.database, 'hot_blocks'),
});
const [FIRST, SECOND] = ['2026-11-20', '2026-11-21'];

test('random runs and log records read the same before, between and after', async () => {
  const bodies = fc.array(body, { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(bodies, fc.integer({ min: 0, max: 3 }), async (sent, kept) => {
      await reset();
      await send(scratch.database, sent);
      const before = await everything();
      await pack(scratch.database, (index) => index % 4 !== kept);
      await end(3);
      expect(await everything()).toEqual(before);
      expect(await hotDays()).toEqual({ places: [SECOND], blocks: [FIRST, SECOND] });
      await passReaders();
      await end(4);
      expect(await everything()).toEqual(before);
      expect(await hotDays()).toEqual({ places: [], blocks: [SECOND] });
      await passReaders();
      await end(4);
      expect(await everything()).toEqual(before);
      expect(await hotDays()).toEqual({ places: [], blocks: [] });
      expect((await checkPlaces(scratch.database)).faults).toEqual([]);
      expect(await scratch.rows('SELECT FROM hot_days')).toEqual([]);
    }),
    { numRuns: casesOf(30, 10) },
  );
});

const bodyOf = (signal: SentBody['signal'], ...runs: number[]): SentBody => ({
  signal,
  day: 0,
  service: 'agent',
  records: runs.map((run, at) => ({ run, at: at + 1, text: 3 })),
});

test('a day stays hot for HOT_DAYS', async () => {
  await send(scratch.database, [bodyOf('traces', 0)]);
  await end(2);
  expect(await hotDays()).toEqual({ places: [FIRST, SECOND], blocks: [FIRST, SECOND] });
  await end(3);
  expect(await hotDays()).toEqual({ places: [SECOND], blocks: [FIRST, SECOND] });
  await end(3);
  expect((await hotDays()).blocks).toEqual([FIRST, SECOND]);
});

test.each([
  ['is damaged', 'UPDATE hot_blocks SET checksum = checksum + 1'],
  ['is missing', 'DELETE FROM hot_blocks'],
  ['has a codec that is not known', 'UPDATE hot_blocks SET codec = 9'],
  ['has fewer records than its place', "UPDATE hot_places SET records = '\\x0063'"],
])('of a block that %s the same is reported as before', async (_what, damage) => {
  await send(scratch.database, [bodyOf('traces', 0, 1), bodyOf('traces', 0), bodyOf('logs', 2)]);
  await scratch.rows(
    `${damage} WHERE block_id = (SELECT block_id FROM hot_places ORDER BY 1 LIMIT 1)`,
  );
  const seen = async () => {
    const read = await readStepsOfRuns(scratch.database, RUNS.map(toRead));
    return read.map((one) => [one?.steps.length, one?.unread, one?.unreadable]);
  };
  const before = await seen();
  await end(3);
  expect(await seen()).toEqual(before);
  await passReaders();
  await end(3);
  expect((await hotDays()).blocks).toEqual([SECOND]);
  expect(await seen()).toEqual(before);
});

test('the pass and the end of a day never pack the same records', async () => {
  await send(scratch.database, [bodyOf('traces', 0, 1, 2), bodyOf('logs', 0, 3)]);
  const before = await everything();
  let isFirst = true;
  // The pass is faster than the group that was read.
  const late = new Proxy(scratch.database, {
    get: (target, name) => {
      const value = Reflect.get(target, name, target);
      if (name !== 'connect') return typeof value === 'function' ? value.bind(target) : value;
      return async () => {
        const [row] = await scratch.rows('SELECT packed_to FROM hot_days');
        const connection = await target.connect();
        if (row !== undefined && isFirst) {
          isFirst = false;
          await pack(scratch.database, () => true);
        }
        return connection;
      };
    },
  });
  await end(3, late);
  expect(await everything()).toEqual(before);
  expect((await hotDays()).places).toEqual([SECOND]);
});

test.each(['before', 'after'] as const)(
  'killed %s any statement, nothing is lost or doubled, and the next turn ends the day',
  async (when) => {
    const sent = [bodyOf('traces', 0, 1, 0), bodyOf('logs', 0, 3), bodyOf('traces', 2)];
    let isOver = false;
    for (const at of sampleOf(
      Array.from({ length: 80 }, (_, index) => index + 1),
      8,
    )) {
      if (isOver) break;
      await reset();
      await send(scratch.database, sent);
      await pack(scratch.database, (index) => index === 0);
      const before = await everything();
      const one = killing(scratch.database, at, when);
      await end(3, one.database).catch(() => {});
      isOver = one.isOver();
      expect(await everything()).toEqual(before);
      await scratch.rows('UPDATE hot_days SET lease_until = now()');
      await end(3);
      await passReaders();
      await end(3);
      expect(await hotDays()).toEqual({ places: [SECOND], blocks: [SECOND] });
      expect(await everything()).toEqual(before);
    }
    expect(isOver).toBe(true);
  },
);
