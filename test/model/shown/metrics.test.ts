/** The value of an hour fits the kind and the temporality of its metric. */
import { expect, test } from 'vitest';
import {
  HOUR_MS,
  hourlySeries,
  hoursOf,
  type MetricForm,
  type MetricPoint,
  statisticOf,
} from '../../../src/model/shown/metrics.ts';

const END = Date.UTC(2026, 10, 20, 12);
const HOURS = hoursOf({ until: new Date(END), hours: 3 });
const START = END - 3 * HOUR_MS;

const form = (own: Partial<MetricForm>): MetricForm => ({
  kind: 'sum',
  isCumulative: false,
  isMonotonic: true,
  ...own,
});
const at = (minutes: number, value: number, own: Partial<MetricPoint> = {}): MetricPoint => ({
  atMs: START + minutes * 60_000,
  stream: 'one',
  group: null,
  value,
  count: 1,
  ...own,
});
const values = (points: readonly MetricPoint[], own: Partial<MetricForm>) =>
  hourlySeries(points, form(own), HOURS).map((series) => series.values);

test('the hours end with the one that has the end of the range', () => {
  expect(HOURS.map((hour) => hour.getTime())).toEqual([
    START,
    START + HOUR_MS,
    START + 2 * HOUR_MS,
  ]);
  const [first] = hoursOf({ until: new Date(END + 1), hours: 3 });
  expect(first?.getTime()).toBe(START + HOUR_MS);
});

test('differences of a counter are added up', () => {
  expect(values([at(10, 2), at(50, 3), at(70, 4)], {})).toEqual([[5, 4, null]]);
});

test('totals of a counter become differences of each sender, also after it started again', () => {
  const points = [at(70, 12), at(10, 5), at(80, 3), at(130, 5), at(75, 100, { stream: 'two' })];
  const cumulative = { isCumulative: true };
  expect(values(points, cumulative)).toEqual([[null, 10, 2]]);
});

test('a sum that also falls has its last value, added up over senders', () => {
  const points = [at(10, 5), at(20, 7), at(30, 2, { stream: 'two' }), at(70, 1)];
  expect(values(points, { isCumulative: true, isMonotonic: false })).toEqual([[9, 1, null]]);
});

test('a gauge has the average, a histogram that of its measurements', () => {
  expect(values([at(10, 1), at(20, 3), at(70, 5)], { kind: 'gauge' })).toEqual([[2, 5, null]]);
  const histogram = [at(10, 100, { count: 1 }), at(20, 20, { count: 9 }), at(130, 0, { count: 0 })];
  expect(values(histogram, { kind: 'histogram' })).toEqual([[12, null, null]]);
  const totals = [at(10, 100, { count: 10 }), at(70, 130, { count: 12 })];
  expect(values(totals, { kind: 'histogram', isCumulative: true })).toEqual([[null, 15, null]]);
  expect(values(totals, { kind: 'summary' })).toEqual([[null, 15, null]]);
});

test('each value of the attribute is a series, the largest first', () => {
  const points = [at(10, 1, { group: 'a' }), at(20, 9, { group: 'b' }), at(30, 2, { group: 'a' })];
  expect(hourlySeries(points, form({}), HOURS)).toEqual([
    { value: 'b', values: [9, null, null] },
    { value: 'a', values: [3, null, null] },
  ]);
});

test('points outside of the hours do not count', () => {
  expect(values([at(-1, 1), at(180, 1), at(179, 4)], {})).toEqual([[null, null, 4]]);
});

test('the statistic of each kind', () => {
  expect(statisticOf(form({}))).toBe('sum');
  expect(statisticOf(form({ isMonotonic: false }))).toBe('sum');
  expect(statisticOf(form({ isMonotonic: false, isCumulative: true }))).toBe('last');
  expect(statisticOf(form({ kind: 'gauge' }))).toBe('average');
});
