/** Ids of blocks have the time of arrival, and rise within a day. */
import { expect, test } from 'vitest';
import { newBlockId } from '../../../src/db/telemetry/blocks.ts';
import { timeOfId } from '../../../src/db/telemetry/day-blocks.ts';

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
