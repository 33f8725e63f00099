/** A run reads the same before it is packed, after it, and after its hot blocks are dropped. */
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { inTransaction } from '../../src/db/database.ts';
import { checkBlocks, checkPlaces } from '../../src/db/telemetry/block-check.ts';
import { keyOf, storePacked } from '../../src/db/telemetry/packed/store-packed.ts';
import { ensureDay } from '../../src/db/telemetry/partitions.ts';
import { findPlaces } from '../../src/db/telemetry/stored-places.ts';
import { packRuns } from '../../src/reads/pack-runs.ts';
import { readStepsOfRuns } from '../../src/reads/steps-of-runs.ts';
import { casesOf } from '../support/cases.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { body, pack, RUNS, send, toRead, views, WORKSPACE } from '../support/packed-runs.ts';
import { DAY_MS, NOON_MS } from '../support/rows.ts';

let scratch: MigratedDatabase;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.rows("INSERT INTO workspaces (slug, name) VALUES ('one', 'One')");
  for (const days of [0, 1]) await ensureDay(scratch.database, NOON_MS + days * DAY_MS);
});
afterAll(() => scratch.close());
beforeEach(() =>
  scratch.rows('TRUNCATE hot_blocks, hot_places, blocks, places, runs, receipts CASCADE'),
);

test('random runs read the same, packed once or twice, with hot blocks or without', async () => {
  const bodies = fc.array(body, { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(bodies, fc.integer({ min: 0, max: 3 }), async (sent, kept) => {
      await scratch.rows('TRUNCATE hot_blocks, hot_places, blocks, places, runs, receipts CASCADE');
      await send(scratch.database, sent);
      const before = await views(scratch.database);
      await pack(scratch.database, (index) => index % 4 !== kept);
      expect(await views(scratch.database)).toEqual(before);
      await pack(scratch.database, () => true);
      expect(await views(scratch.database)).toEqual(before);
      expect((await checkPlaces(scratch.database)).faults).toEqual([]);
      expect((await checkBlocks(scratch.database)).faults).toEqual([]);
      await scratch.rows('TRUNCATE hot_blocks, hot_places');
      expect(await views(scratch.database)).toEqual(before);
      expect((await checkPlaces(scratch.database)).faults).toEqual([]);
    }),
    { numRuns: casesOf(50) },
  );
});

test('hot places that are packed take no room of others', async () => {
  await send(
    scratch.database,
    [1, 2, 3, 4].map((at) => ({
      signal: 'traces',
      day: 0,
      service: 'agent',
      records: [{ run: 0, at, text: 1 }],
    })),
  );
  await pack(scratch.database, (index) => index < 3);
  const run = toRead(RUNS[0] as string);
  for (const [most, count] of [
    [1, 1],
    [3, 3],
    [4, 4],
    [5, 4],
  ] as const) {
    const [found] = await findPlaces(scratch.database, [run], most);
    expect(found?.places).toHaveLength(count);
  }
});

test('a packed place with damaged sources is not read, and its run is not whole', async () => {
  await send(scratch.database, [
    { signal: 'traces', day: 0, service: 'a', records: [{ run: 0, at: 1, text: 1 }] },
  ]);
  await pack(scratch.database, () => true);
  await scratch.rows('TRUNCATE hot_blocks, hot_places');
  await scratch.rows("UPDATE places SET source_records = '\\x8080'");
  const [read] = await readStepsOfRuns(scratch.database, [toRead(RUNS[0] as string)]);
  expect(read).toMatchObject({ steps: [], unread: 1 });
  expect((await checkPlaces(scratch.database)).faults).toHaveLength(1);
});

test('a block with records of a run that is not packed now is not stored, nor another one of its runs', async () => {
  const { database } = scratch;
  await send(
    database,
    RUNS.map((_, run) => ({
      signal: 'traces',
      day: 0,
      service: 'a',
      records: [{ run, at: 1, text: 1 }],
    })),
  );
  const read = await readStepsOfRuns(database, RUNS.map(toRead), { keepsRecords: true });
  const [first, second, third] = RUNS.map((runId, index) => ({
    workspaceId: WORKSPACE,
    runId,
    hot: read[index]?.hot ?? [],
  }));
  if (first === undefined || second === undefined || third === undefined)
    throw new Error('no runs');
  const blocks = [...(await packRuns([first, second])), ...(await packRuns([third]))];
  const stored = async (keys: readonly { workspaceId: number; runId: string }[]) => {
    await inTransaction(database, (connection) =>
      storePacked(connection, blocks, new Set(keys.map(keyOf))),
    );
    return (await scratch.rows('SELECT run_id AS id FROM places')).map(({ id }) => id).sort();
  };
  expect(await stored([first, third])).toEqual([third.runId]);
  await scratch.rows('TRUNCATE blocks, places');
  // Two blocks that share a run.
  const shared = await packRuns([second, third]);
  blocks.push(...shared);
  expect(await stored([second, third])).toEqual([]);
});
