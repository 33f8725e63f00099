/**
 * Heartbeats: a process that missed a beat still ends the leases of the dead; processes record and learn the
 * codec of new blocks.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { Database } from '../../src/db/database.ts';
import { BROTLI, USE_ZSTD_NODE, ZSTD } from '../../src/db/telemetry/codecs.ts';
import { Heartbeat } from '../../src/pool/heartbeat.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';

/** A beat that fails is followed by the next long before three are missed. */
const TIMING = { beatMs: 200, judgesAfterMs: 1 };
const SOON = { withinMs: 20_000 };

const SILENT = { deadProcessesFound: () => {}, passFailed: () => {}, zstdRecorded: () => {} };

let scratch: MigratedDatabase;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
});
afterAll(() => scratch.close());

/** The database, whose queries fail while `isAway`. */
function breakable() {
  const state = { isAway: false, failures: 0 };
  const { database } = scratch;
  const query = ((...statement: Parameters<Database['query']>) => {
    if (!state.isAway) return database.query(...statement);
    state.isAway = false;
    state.failures += 1;
    return Promise.reject(new Error('Connection terminated unexpectedly'));
  }) as Database['query'];
  const broken = new Proxy(database, {
    // A pool has private members, which its proxy has not.
    get: (target, name) =>
      name === 'query'
        ? query
        : name === 'connect'
          ? target.connect.bind(target)
          : Reflect.get(target, name),
  });
  return { state, broken };
}

test('one failed beat does not end its judging of others', async () => {
  const { state, broken } = breakable();
  const found: number[] = [];
  const heartbeat = new Heartbeat(
    broken,
    { ...SILENT, deadProcessesFound: (processes) => found.push(processes) },
    TIMING,
  );
  heartbeat.start();
  try {
    await heartbeat.isHeard();
    state.isAway = true;
    await waitFor(() => state.failures === 1, { ...SOON, what: 'a beat fails' });
    await scratch.rows(
      `INSERT INTO processes VALUES (gen_random_uuid(), now() - interval '1 minute', true)`,
    );
    await waitFor(() => found.length > 0, { ...SOON, what: 'the dead process is found' });
    expect(found).toEqual([1]);
    const left = await scratch.rows('SELECT FROM processes WHERE id = $1', [heartbeat.processId]);
    expect(left).toHaveLength(1);
  } finally {
    await heartbeat.stop();
  }
});

test('zstd is recorded when the last process without it has left, and all others learn it', async () => {
  await scratch.database.query('TRUNCATE processes');
  // On a Node.js with zstd the process of the test before has recorded it.
  await scratch.database.query('UPDATE new_blocks SET codec = $1', [BROTLI]);
  let recorded = 0;
  const processes = [false, true, true].map((readsZstd) => {
    const codecs: number[] = [];
    const events = { ...SILENT, zstdRecorded: () => (recorded += 1) };
    const learn = (codec: number) => codecs.push(codec);
    const heartbeat = new Heartbeat(scratch.database, events, TIMING, learn, readsZstd);
    return { heartbeat, codecs };
  });
  const [older, ...newer] = processes;
  try {
    for (const { heartbeat } of processes) {
      await heartbeat.isHeard();
      heartbeat.start();
    }
    const beatenSince = newer.map(({ codecs }) => codecs.length + 3);
    await waitFor(() => newer.every(({ codecs }, at) => codecs.length > (beatenSince[at] ?? 0)), {
      ...SOON,
      what: 'all beat for a while',
    });
    expect(new Set(processes.flatMap(({ codecs }) => codecs))).toEqual(new Set([BROTLI]));
    await older?.heartbeat.stop();
    await waitFor(() => newer.every(({ codecs }) => codecs.at(-1) === ZSTD), {
      ...SOON,
      what: 'both use zstd',
    });
    expect(recorded).toBe(1);
    await expect(older?.heartbeat.isHeard()).rejects.toThrow(USE_ZSTD_NODE);
  } finally {
    for (const { heartbeat } of processes) await heartbeat.stop();
  }
});
