/** `sluice doctor` finds places that do not fit their blocks. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { placesCheck } from '../../../src/cli/doctor/database-checks.ts';
import { checkPlaces } from '../../../src/db/telemetry/block-check.ts';
import { CopyWriter } from '../../../src/db/telemetry/copy-writer.ts';
import { ByteBudget } from '../../../src/http/ingest/byte-budget.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { encodeRequest } from '../../support/decoding.ts';
import { DAY_MS, decodedRequest, hex8, hex16, NOON_MS, spanRow } from '../../support/rows.ts';
import { silentEvents } from '../../support/stored-runs.ts';

let scratch: MigratedDatabase;
let writer: CopyWriter;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
  writer = new CopyWriter(scratch.database, { budget: new ByteBudget(1 << 28) }, silentEvents);
});
afterAll(async () => {
  await writer.close();
  await scratch.close();
});
beforeEach(() => scratch.database.query('TRUNCATE hot_blocks, blocks, hot_places, places'));

const RUN = '00000000-0000-0000-0000-000000000001';

/** Stores a run of three spans, and other ones on two days. @returns the block of the run */
async function store(): Promise<string> {
  const spans = (run: number, count: number) =>
    Array.from({ length: count }, (_, at) => spanRow({ traceId: hex16(run), spanId: hex8(at) }));
  const request = (run: number, count: number, arrivedAtMs = NOON_MS) =>
    writer.offer(encodeRequest(decodedRequest({ spans: spans(run, count) }), 1, arrivedAtMs));
  await request(1, 3);
  await Promise.all([request(2, 2), request(3, 1), request(4, 1, NOON_MS - DAY_MS)]);
  const [place] = await scratch.rows('SELECT block_id FROM hot_places WHERE run_id = $1', [RUN]);
  const [block] = await scratch.rows('SELECT $1::uuid::text AS id', [place?.block_id]);
  return String(block?.id);
}

test('places that fit their blocks', async () => {
  expect(placesCheck(await checkPlaces(scratch.database))).toMatchObject({
    state: 'ok',
    found: 'none stored',
  });
  await store();
  const found = await checkPlaces(scratch.database);
  expect(found).toEqual({ checked: 4, faults: [] });
  expect(placesCheck(found)).toMatchObject({ state: 'ok', found: '4 read, all fit their blocks' });
});

test.each([
  ['DELETE FROM hot_blocks WHERE block_id = $1', 'there is no such block'],
  [
    `UPDATE hot_places SET records = '\\x0004' WHERE block_id = $1`,
    'it names record 3, and the block has 3, from 0',
  ],
  [`UPDATE hot_places SET records = '' WHERE block_id = $1`, 'it names no record'],
  [`UPDATE hot_places SET records = '\\x0080' WHERE block_id = $1`, 'its records cannot be read'],
  [
    'UPDATE hot_blocks SET workspace_id = 2 WHERE block_id = $1',
    'the block is in another workspace',
  ],
  [
    `UPDATE hot_blocks SET arrived_on = arrived_on - 1 WHERE block_id = $1`,
    'the block is of another day',
  ],
])('%s: the place is named, and why', async (sql, reason) => {
  const block = await store();
  await scratch.rows(sql, [block]);
  const fault = `The place of run ${RUN} in block ${block} is wrong: ${reason}.`;
  const found = await checkPlaces(scratch.database);
  expect(found).toEqual({ checked: 4, faults: [fault] });
  expect(placesCheck(found)).toMatchObject({ state: 'problem', found: `1 of 4 read: ${fault}` });
});
