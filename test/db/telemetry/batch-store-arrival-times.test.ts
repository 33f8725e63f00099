/** Which requests are misdated, on both sides of each edge, and what happens to their batch. */
import { afterAll, beforeAll, expect, test } from 'vitest';

import {
  ARRIVAL_DIFFERENCE_MAX_MS,
  isMisdated,
  MisdatedError,
} from '../../../src/db/telemetry/batch-store.ts';
import { CopyWriter } from '../../../src/db/telemetry/copy-writer.ts';
import { ByteBudget } from '../../../src/http/ingest/byte-budget.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { encodeRequest } from '../../support/decoding.ts';
import { decodedRequest, NOON_MS, spanRow } from '../../support/rows.ts';
import { storedSpans } from '../../support/stored-blocks.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let scratch: MigratedDatabase;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
});
afterAll(() => scratch.close());

test.each([
  ['the same hour', NOON_MS, NOON_MS + HOUR_MS - 1, false],
  ['the next hour, soon', NOON_MS - 1, NOON_MS - 1 + ARRIVAL_DIFFERENCE_MAX_MS, false],
  ['the next hour, later', NOON_MS - 1, NOON_MS + ARRIVAL_DIFFERENCE_MAX_MS, true],
  ['the hour before, soon', NOON_MS, NOON_MS - ARRIVAL_DIFFERENCE_MAX_MS, false],
  ['the hour before, earlier', NOON_MS, NOON_MS - ARRIVAL_DIFFERENCE_MAX_MS - 1, true],
  ['another day', NOON_MS, NOON_MS + DAY_MS, true],
])('%s', (_what, arrivedAtMs, nowMs, expected) => {
  expect(isMisdated(arrivedAtMs, nowMs)).toBe(expected);
});

test.each([
  ['read again', false],
  ['cannot be read', true],
])(
  'misdated requests are refused, the others of their batch stored; the clock is %s',
  async (_what, isAway) => {
    const failed: unknown[] = [];
    let readings = 0;
    const writer = new CopyWriter(
      scratch.database,
      {
        budget: new ByteBudget(1 << 30),
        lanes: 1,
        clock: {
          read: async () => {
            readings += 1;
            if (isAway) throw new Error('away');
          },
        },
      },
      {
        inflightChanged: () => undefined,
        batchCommitted: () => undefined,
        batchFailed: (requests, error) => void failed.push([requests, error]),
        requestUnstorable: () => undefined,
        requestsResent: () => undefined,
        partitionsChanged: () => undefined,
      },
    );
    await scratch.database.query('TRUNCATE hot_blocks, blocks, hot_places, places, runs, leases');
    const send = (name: string, agoMs: number) =>
      writer.offer(
        encodeRequest(decodedRequest({ spans: [spanRow({ name })] }), 1, Date.now() - agoMs),
      );
    const outcomes = await Promise.allSettled([
      send('first', 0),
      send('a day ago', DAY_MS),
      send('now', 0),
      send('three days ago', 3 * DAY_MS),
      send('tomorrow', -DAY_MS),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'rejected',
    ]);
    for (const outcome of outcomes) {
      if (outcome.status !== 'rejected') continue;
      expect(outcome.reason).toMatchObject({ code: 'store_unavailable', retryAfterSeconds: 1 });
    }
    expect(failed).toEqual([[3, expect.any(MisdatedError)]]);
    expect(readings).toBe(1);
    const stored = await storedSpans(scratch.database);
    expect(stored.map(({ record }) => record.name).sort()).toEqual(['first', 'now']);
    expect(writer.inflightBytes).toBe(0);
    // Without a clock, and while it is right, nothing is refused.
    await send('later', 0);
    await writer.close();
  },
);
