/** Ids of blocks have the time of arrival, and rise within a day. */
import { expect, test } from 'vitest';
import { newBlockId } from '../../../src/db/telemetry/blocks.ts';
import {
  FIRST_ID,
  idAt,
  readSlice,
  timeOfId,
  WINDOW_MS,
} from '../../../src/db/telemetry/day-blocks.ts';
import { openMigratedDatabase } from '../../support/database.ts';

const DAY_MS = 86_400_000;
/** A day on which no other test stores anything. */
const FROM_MS = Date.UTC(2031, 4, 1);

const makeIds = (atMs: number, count: number): string[] =>
  Array.from({ length: count }, () => newBlockId(atMs));

test('rise within a millisecond, into the next one, and when the clock is set back', () => {
  const ids = [
    ...makeIds(FROM_MS + 5000, 4097),
    ...makeIds(FROM_MS + 2000, 3),
    newBlockId(FROM_MS + 6000),
  ];
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(4101);
  expect(ids[0]?.slice(12, 13)).toBe('7');
});

test('have the time of arrival on an earlier day, too', () => {
  newBlockId(FROM_MS + 40 * DAY_MS);
  const id = newBlockId(FROM_MS + 39 * DAY_MS);
  expect(timeOfId(id).getTime()).toBe(FROM_MS + 39 * DAY_MS);
});

test('rise on 16 days at a time', () => {
  const days = Array.from({ length: 16 }, (_, day) => FROM_MS + (50 + day) * DAY_MS + 9000);
  const first = days.map((ms) => newBlockId(ms));
  const second = days.map((ms) => newBlockId(ms - 9000));
  expect(second.map((id, day) => id > (first[day] ?? ''))).toEqual(days.map(() => true));
});

test('a day is looked through in windows from its start, as wide as the reader wants them', async () => {
  const { database, close } = await openMigratedDatabase();
  const last = idAt(FROM_MS + DAY_MS - 1);
  const of = { workspaceId: 1, signals: ['logs'] as const, day: '2031-05-01', last };
  const nextOf = async (after: string, windowMs?: number) =>
    (await readSlice(database, of, after, windowMs)).next;
  try {
    expect(await nextOf(FIRST_ID)).toBe(idAt(FROM_MS + WINDOW_MS));
    expect(await nextOf(idAt(FROM_MS + WINDOW_MS))).toBe(idAt(FROM_MS + 2 * WINDOW_MS));
    const within = idAt(FROM_MS + WINDOW_MS + 1);
    expect(await nextOf(within, 8 * WINDOW_MS)).toBe(idAt(FROM_MS + 9 * WINDOW_MS));
    expect(await nextOf(within, DAY_MS)).toBeNull();
  } finally {
    await close();
  }
});
