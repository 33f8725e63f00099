/** Heartbeats: a process that missed a beat still ends the leases of the dead. */
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { Database } from '../../src/db/database.ts';
import { Heartbeat } from '../../src/pool/heartbeat.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/migrated-database.ts';
import { waitFor } from '../support/wait-for.ts';

/** A beat that fails is followed by the next long before three are missed. */
const TIMING = { beatMs: 200, judgesAfterMs: 1 };
const SOON = { withinMs: 20_000 };

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
    get: (target, name, receiver) =>
      name === 'query' ? query : Reflect.get(target, name, receiver),
  });
  return { state, broken };
}

test('one failed beat does not end its judging of others', async () => {
  const { state, broken } = breakable();
  const found: number[] = [];
  const heartbeat = new Heartbeat(
    broken,
    { deadProcessesFound: (processes) => found.push(processes), passFailed: () => {} },
    TIMING,
  );
  heartbeat.start();
  try {
    await heartbeat.isHeard();
    state.isAway = true;
    await waitFor(() => state.failures === 1, { ...SOON, what: 'a beat fails' });
    await scratch.rows(
      `INSERT INTO processes (id, seen_at) VALUES (gen_random_uuid(), now() - interval '1 minute')`,
    );
    await waitFor(() => found.length > 0, { ...SOON, what: 'the dead process is found' });
    expect(found).toEqual([1]);
    const left = await scratch.rows('SELECT FROM processes WHERE id = $1', [heartbeat.processId]);
    expect(left).toHaveLength(1);
  } finally {
    await heartbeat.stop();
  }
});
