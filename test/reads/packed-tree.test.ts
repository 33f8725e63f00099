/** The tree of a packed run is read from the narrow parts of its blocks. */
import { afterAll, beforeAll, expect, test } from 'vitest';

import { ensureDay } from '../../src/db/telemetry/partitions.ts';
import { readTree } from '../../src/reads/run-tree.ts';
import { readStepsOfRuns } from '../../src/reads/steps-of-runs.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { pack, RUNS, send, toRead } from '../support/packed-runs.ts';
import { NOON_MS } from '../support/rows.ts';

let scratch: MigratedDatabase;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.rows("INSERT INTO workspaces (slug, name) VALUES ('one', 'One')");
  await ensureDay(scratch.database, NOON_MS);
});
afterAll(() => scratch.close());

test('attributes that are damaged are missed when a step is read, not in the tree', async () => {
  const run = toRead(RUNS[0] as string);
  await send(scratch.database, [
    { signal: 'traces', day: 0, service: 'a', records: [{ run: 0, at: 1, text: 1 }] },
  ]);
  await pack(scratch.database, () => true);
  await scratch.rows('TRUNCATE hot_blocks, hot_places');
  const before = await readTree(scratch.database, run, 10);
  expect(before.steps).toHaveLength(1);
  await scratch.rows("UPDATE blocks SET data = '\\x00'");
  expect(await readTree(scratch.database, run, 10)).toEqual(before);
  const [read] = await readStepsOfRuns(scratch.database, [run]);
  expect(read).toMatchObject({ steps: [], unread: 1 });
});
