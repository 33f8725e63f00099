/**
 * Senders that keep adding to a run so that it is never evaluated: the arrivals use ingest's own
 * statements, and the run is claimed nevertheless. Time passes by UPDATE.
 */

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { claimRuns, requeueRuns } from '../../../src/db/runs/evaluation-queue.ts';
import { settleAllowance } from '../../../src/db/runs/run-times.ts';
import { closeSessionRuns } from '../../../src/db/runs/session-runs.ts';
import { ensureDay } from '../../../src/db/telemetry/partitions.ts';
import type { RunState } from '../../../src/model/runs.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { encodeRequest } from '../../support/decoding.ts';
import {
  decodedRequest,
  hex8,
  hex16,
  type LogRow,
  logRow,
  NOON_MS,
  type RowsRequest,
  sessionFor,
  spanRow,
} from '../../support/rows.ts';
import { storeRequests } from '../../support/stored-runs.ts';

const TIMES = {
  settleMs: 60_000,
  settleMaxMs: 300_000,
  timeoutMs: 900_000,
  openMaxMs: 4 * 3_600_000,
};
const CHILD = spanRow({ parentSpanId: hex8(9), spanId: hex8(2) });
const ROOT = spanRow();

let scratch: MigratedDatabase;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await ensureDay(scratch.database, NOON_MS);
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.database.query(
    'TRUNCATE runs, leases, hot_blocks, blocks, hot_places, places, session_marks',
  );
});

async function arrive(fields: Partial<RowsRequest>): Promise<void> {
  const connection = await scratch.database.connect();
  try {
    const request = encodeRequest(decodedRequest(fields), 1, NOON_MS);
    await storeRequests(connection, [request], {
      allowance: settleAllowance(TIMES),
    });
  } finally {
    connection.release();
  }
}

async function pass(seconds: number): Promise<void> {
  await scratch.database.query(
    `UPDATE runs SET first_arrival_at = first_arrival_at - by, settles_until = settles_until - by,
                     last_arrival_at = last_arrival_at - by
       FROM make_interval(secs => $1) AS by`,
    [seconds],
  );
  await scratch.database.query(
    'UPDATE session_marks SET arrived_at = arrived_at - make_interval(secs => $1)',
    [seconds],
  );
}

const claim = () => claimRuns(scratch.database, { ...TIMES, limit: 10 });
const states = async (): Promise<RunState[]> => (await claim()).map(({ state }) => state);

/** Lets rows arrive at an interval in seconds. @returns seconds until the run was claimed */
async function trickle(everySeconds: number, fields: Partial<RowsRequest>): Promise<number> {
  for (let seconds = everySeconds; seconds < 100_000; seconds += everySeconds) {
    await pass(everySeconds);
    if ((await claim()).length > 0) return seconds;
    await arrive(fields);
  }
  throw new Error('never claimed');
}

test('a span every 30 seconds after the root puts a run off for RUN_SETTLE_MAX_MS, not forever', async () => {
  await arrive({ spans: [ROOT] });
  expect(await trickle(30, { spans: [CHILD] })).toBe(300);
});

test('roots that keep arriving put a run off for no longer', async () => {
  await arrive({ spans: [ROOT] });
  expect(await trickle(30, { spans: [ROOT] })).toBe(300);
});

test('a trace without a root that gets a span every ten minutes is timed out after RUN_OPEN_MAX_MS', async () => {
  await arrive({ spans: [CHILD] });
  expect(await trickle(600, { spans: [CHILD] })).toBe(4 * 3600);
  expect(await scratch.rows('SELECT state FROM runs')).toEqual([{ state: 'timed_out' }]);
});

test('a prompt that its session has ended is put off by its own records for no longer', async () => {
  const of = (event: 'prompt' | 'text' | 'end', seconds: number): LogRow =>
    logRow({
      timeUnixNano: String(1_000_000_000 + seconds),
      session: sessionFor(event, hex16(0x5e), event === 'end' ? null : hex16(1)),
    });
  await arrive({ logs: [of('prompt', 0), of('end', 9)] });
  await pass(60);
  await arrive({ logs: [of('text', 1)] });
  expect(await closeSessionRuns(scratch.database, TIMES)).toEqual({ marks: 2, runs: 1 });
  expect(await trickle(30, { logs: [of('text', 2)] })).toBe(300);
});

test('a run is still given its settle time: after the last arrival, and after a late root', async () => {
  await arrive({ spans: [CHILD] });
  for (let hours = 0; hours < 3; hours += 1) {
    for (let turn = 0; turn < 6; turn += 1) {
      await pass(600);
      expect(await states()).toEqual([]);
      await arrive({ spans: [CHILD] });
    }
  }
  await pass(600);
  await arrive({ spans: [ROOT] });
  await pass(59);
  expect(await states()).toEqual([]);
  await pass(1);
  expect(await states()).toEqual(['completed']);
});

test('a run that was timed out and given back is due again, whatever keeps arriving', async () => {
  await arrive({ spans: [CHILD] });
  await pass(900);
  await requeueRuns(scratch.database, await claim());
  expect(await trickle(30, { spans: [CHILD] })).toBeLessThanOrEqual(60);
});

test('a run stored by an older version, which wrote no ceiling, is due after its last arrival', async () => {
  await arrive({ spans: [ROOT] });
  await scratch.database.query('UPDATE runs SET settles_until = NULL');
  await pass(59);
  expect(await states()).toEqual([]);
  await pass(1);
  expect(await states()).toEqual(['completed']);
});
