/** A database that is on no Citus cluster. What is distributed on one: test/citus. */
import { afterAll, beforeAll, expect, test } from 'vitest';

import { distribute, distributeIfEmpty, requireCoordinator } from '../../src/db/distribute.ts';
import { placementOf } from '../../src/db/placement.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';

let scratch: MigratedDatabase;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
});
afterAll(() => scratch.close());

test('plain PostgreSQL has its telemetry where everything else is', async () => {
  expect(await placementOf(scratch.database)).toBe('local');
  await expect(requireCoordinator(scratch.database)).resolves.toBeUndefined();
  expect(await distributeIfEmpty(scratch.database)).toBeNull();
});

test('it is not distributed without Citus', async () => {
  await expect(distribute(scratch.database)).rejects.toThrow(
    /has no Citus: CREATE EXTENSION citus on every node/,
  );
  expect(await scratch.rows(`SELECT to_regclass('blocks_by_id')::text AS name`)).toEqual([
    { name: 'blocks_by_id' },
  ]);
});
