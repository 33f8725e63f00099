/** The last use of keys: no id is lost to a write that failed, and the stop does not fail by one. */
import { expect, test } from 'vitest';

import { keepKeyUse } from '../../../src/main/http/acceptor.ts';
import { StopOrder } from '../../../src/main/stop-order.ts';
import { waitFor } from '../../support/wait-for.ts';

const TURN_MS = 5;

function setUp(record: (ids: readonly number[]) => Promise<void>, intervalMs: number) {
  const stops = new StopOrder();
  const unrecorded: unknown[] = [];
  const stopFailures: string[] = [];
  const events = {
    keyUseUnrecorded: (error: unknown) => void unrecorded.push(error),
    keyUseRecorded: () => {},
    stopFailed: (step: string) => void stopFailures.push(step),
  };
  const note = keepKeyUse(record, events, stops, intervalMs);
  return { note, unrecorded, stopFailures, stop: () => stops.run(events) };
}

test('ids whose write failed are written at the next turn, with those noted since', async () => {
  const written: number[][] = [];
  let isAway = true;
  const lab = setUp(async (ids) => {
    if (ids.length === 0) return;
    if (isAway) throw new Error('away');
    written.push([...ids].sort());
  }, TURN_MS);
  lab.note(1);
  lab.note(2);
  await waitFor(() => lab.unrecorded.length > 0, {
    withinMs: 60_000,
    what: 'the failed write to be reported',
  });
  lab.note(3);
  isAway = false;
  await waitFor(() => written.length > 0, { withinMs: 60_000, what: 'the next write' });
  expect(written).toEqual([[1, 2, 3]]);
  expect(await lab.stop()).toBe(true);
  expect(written).toEqual([[1, 2, 3]]);
});

test('a use noted during a write is kept for the next', async () => {
  const written: number[][] = [];
  const lab = setUp(async (ids) => {
    if (ids.length > 0 && written.push([...ids]) === 1) lab.note(1);
  }, TURN_MS);
  lab.note(1);
  await waitFor(() => written.length === 2, { withinMs: 60_000, what: 'the second write' });
  await lab.stop();
  expect(written).toEqual([[1], [1]]);
});

test('the stop writes what is left; that this fails is reported and is no failed stop', async () => {
  const lab = setUp(() => Promise.reject(new TypeError('away')), 60_000);
  lab.note(1);
  expect(await lab.stop()).toBe(true);
  expect(lab.unrecorded).toEqual([new TypeError('away')]);
  expect(lab.stopFailures).toEqual([]);
});
