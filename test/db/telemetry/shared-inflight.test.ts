/** Several writers that count their bytes together: no room is taken twice, and all is given back. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { CopyWriter } from '../../../src/db/telemetry/copy-writer.ts';
import { ByteBudget, OwnByteCount } from '../../../src/http/ingest/byte-budget.ts';
import { encodeRequest } from '../../support/decoding.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/migrated-database.ts';
import { decodedRequest, NOON_MS, spanRow } from '../../support/rows.ts';

const silent = {
  inflightChanged: () => {},
  batchCommitted: () => {},
  batchFailed: () => {},
  requestUnstorable: () => {},
  requestsResent: () => {},
  partitionsChanged: () => {},
};

let scratch: MigratedDatabase;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
});
afterAll(() => scratch.close());

/** Of a workspace of its own, so that nobody is held to a share. */
let workspaces = 0;
const encode = (name: string) => {
  workspaces += 1;
  return encodeRequest(decodedRequest({ spans: [spanRow({ name })] }), workspaces, NOON_MS);
};

const writersOf = (bytesMax: number, inflight: OwnByteCount) =>
  [1, 2].map(() => {
    const budget = new ByteBudget(bytesMax, inflight);
    return new CopyWriter(scratch.database, { budget }, silent);
  });

test('what one writer has taken is missing to the other until it is stored', async () => {
  const request = encode('a');
  const inflight = new OwnByteCount();
  const [one, other] = writersOf(request.bytes * 2, inflight);
  const stored = [one?.offer(encode('b')), one?.offer(encode('c'))];
  expect(inflight.total).toBe(request.bytes * 2);
  await expect(other?.offer(encode('d'))).rejects.toMatchObject({ code: 'overloaded' });
  await Promise.all(stored);
  expect(inflight.total).toBe(0);
  await other?.offer(encode('d'));
  const rows = await scratch.rows('SELECT name FROM spans ORDER BY name');
  expect(rows.map(({ name }) => name)).toEqual(['b', 'c', 'd']);
});

test('a request larger than the whole room is taken when nothing else is there', async () => {
  const inflight = new OwnByteCount();
  const [one, other] = writersOf(1, inflight);
  const stored = one?.offer(encode('e'));
  await expect(other?.offer(encode('f'))).rejects.toMatchObject({ code: 'overloaded' });
  await stored;
  await other?.offer(encode('f'));
  expect(inflight.total).toBe(0);
});
