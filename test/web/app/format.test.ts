/** Times, counts and sizes as people read them. */
import { expect, test } from 'vitest';

import {
  ago,
  count,
  dayLabel,
  duration,
  hourLabel,
  nanoMoment,
  size,
  time,
} from '../../../src/web/app/format.ts';
import { NOW_MS } from './fixtures.ts';

test.each([
  [0, '0 ms'],
  [-5, '0 ms'],
  [0.2, '< 1 ms'],
  [999, '999 ms'],
  [1_000, '1.0 s'],
  [59_940, '59.9 s'],
  [59_960, '1 min 0 s'],
  [184_000, '3 min 4 s'],
  [3_600_000, '1 h 0 min'],
  [7_500_000, '2 h 5 min'],
  [86_400_000, '1 day 0 h'],
  [3 * 86_400_000 + 4 * 3_600_000, '3 days 4 h'],
])('%d milliseconds are %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test.each([
  [-60_000, 'just now'],
  [59_999, 'just now'],
  [60_000, '1 minute ago'],
  [7_200_000, '2 hours ago'],
  [86_400_000, '1 day ago'],
])('%d milliseconds before is %s', (ms, text) => {
  expect(ago(NOW_MS - ms, NOW_MS)).toBe(text);
});

test('a time that is not there is a dash', () => {
  expect(time(null, NOW_MS).text).toBe('<span class="soft">–</span>');
});

test.each([
  [0, '0'],
  [999, '999'],
  [1_000, '1,000'],
  [1_234_567, '1,234,567'],
])('%d is written %s', (value, text) => {
  expect(count(value)).toBe(text);
});

test('sizes are in thousands', () => {
  expect([size(999), size(1500), size(2_000_000)]).toEqual(['999 B', '1.5 KB', '2.0 MB']);
});

test('labels of charts are cut out of the time', () => {
  expect(dayLabel('2026-01-09T00:00:00.000Z')).toBe('9 Jan');
  expect(hourLabel('2026-01-09T07:00:00.000Z')).toBe('07:00');
});

test('a time in nanoseconds is shown to the millisecond', () => {
  expect(nanoMoment('1763640000123000000').text).toBe(
    '<time datetime="2025-11-20T12:00:00.123Z" title="2025-11-20 12:00:00.123 UTC" data-local>2025-11-20 12:00:00.123 UTC</time>',
  );
});
