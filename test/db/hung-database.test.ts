/**
 * A database that hangs without a word: nobody waits for it longer than the limits say, and what it
 * did not answer counts as not stored.
 */
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createDatabase, type Database, ping } from '../../src/db/database.ts';
import type { EmbeddedDatabase } from '../../src/db/embedded/connect.ts';
import { migrate } from '../../src/db/migrate.ts';
import { CopyWriter } from '../../src/db/telemetry/copy-writer.ts';
import type { EncodedRequest } from '../../src/db/telemetry/encoded-request.ts';
import { UnavailableError } from '../../src/errors.ts';
import { ByteBudget } from '../../src/http/ingest/byte-budget.ts';
import { encodeRequest } from '../support/decoding.ts';
import { freezeServer, type Lab, openLab } from '../support/embedded-lab.ts';
import { decodedRequest, NOON_MS, spanRow } from '../support/rows.ts';
import { storedSpans } from '../support/stored-blocks.ts';
import { waitFor } from '../support/wait-for.ts';

const BATCH_TIMEOUT_MS = 500;
/** Of a statement, as src/db/database.ts has it. */
const QUERY_TIMEOUT_MS = 32_000;

let lab: Lab;
let server: EmbeddedDatabase;
let database: Database;
let failedBatches: unknown[];
let thaw: () => void;

beforeEach(async () => {
  lab = openLab();
  server = await lab.start(await lab.madeFolder());
  database = connect();
  await migrate(database);
  failedBatches = [];
  thaw = () => undefined;
});
afterEach(async () => {
  vi.useRealTimers();
  thaw();
  await database.end();
  await lab.close();
});

function connect(): Database {
  return createDatabase(server.url, 4, { connectionLost: () => undefined });
}

function createWriter(): CopyWriter {
  return new CopyWriter(
    database,
    { budget: new ByteBudget(1 << 30), batchTimeoutMs: BATCH_TIMEOUT_MS },
    {
      inflightChanged: () => undefined,
      batchCommitted: () => undefined,
      batchFailed: (_requests, error) => void failedBatches.push(error),
      requestUnstorable: () => undefined,
      requestsResent: () => undefined,
      partitionsChanged: () => undefined,
    },
  );
}

/** A span with a text that does not become smaller by compression. */
function named(name: string, bytes = 3): EncodedRequest {
  const text = randomBytes(bytes).toString('base64');
  const span = spanRow({ name, attributes: JSON.stringify({ text }) });
  return encodeRequest(decodedRequest({ spans: [span] }), 1, NOON_MS);
}

const spanNames = async (): Promise<unknown[]> =>
  (await storedSpans(database)).map(({ record }) => record.name).sort();

const REFUSED = { code: 'store_unavailable', retryAfterSeconds: 1 };

test('a batch is refused when its time is up, and the next is stored once it continues', async () => {
  const writer = createWriter();
  await writer.offer(named('before'));
  thaw = await freezeServer(server.home, server.url);
  await expect(writer.offer(named('lost'))).rejects.toMatchObject(REFUSED);
  expect(failedBatches).toEqual([
    new UnavailableError(`The database took longer than ${BATCH_TIMEOUT_MS} ms.`),
  ]);
  expect(writer.inflightBytes).toBe(0);
  thaw();
  await writer.offer(named('after'));
  expect(await spanNames()).toEqual(['after', 'before']);
});

test('so is one that hangs in the middle of its COPY, with megabytes still to send', async () => {
  const writer = createWriter();
  await writer.offer(named('before'));
  const holder = await database.connect();
  await holder.query('BEGIN; LOCK TABLE hot_blocks IN EXCLUSIVE MODE');
  const lost = expect(writer.offer(named('lost', 24e6))).rejects.toMatchObject(REFUSED);
  const isWaiting = `SELECT 1 FROM pg_locks
                      WHERE NOT granted AND relation = 'hot_blocks'::regclass`;
  await waitFor(async () => (await database.query(isWaiting)).rows.length > 0, {
    withinMs: 20_000,
    what: 'the COPY to wait for its table',
  });
  thaw = await freezeServer(server.home, server.url);
  await lost;
  expect(failedBatches).toHaveLength(1);
  thaw();
  await holder.query('COMMIT');
  holder.release();
  await writer.offer(named('after'));
  expect(await spanNames()).toEqual(['after', 'before']);
});

test('a pool ends though nobody answers its goodbyes', async () => {
  const other = connect();
  await ping(other);
  const busy = await other.connect();
  thaw = await freezeServer(server.home, server.url);
  const query = expect(busy.query('SELECT 1')).rejects.toThrow(/terminated/);
  const ended = other.end();
  await query;
  busy.release();
  await ended;
});

test('a single query fails, and its connection is not used again', async () => {
  const { rows } = await database.query('SELECT pg_backend_pid() AS pid');
  thaw = await freezeServer(server.home, server.url);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let outcome = 'pending';
  const answered = ping(database).catch((error: Error) => {
    outcome = error.message;
  });
  await vi.advanceTimersByTimeAsync(QUERY_TIMEOUT_MS - 1);
  expect(outcome).toBe('pending');
  await vi.advanceTimersByTimeAsync(1);
  await answered;
  expect(outcome).toBe('Query read timeout');
  vi.useRealTimers();
  thaw();
  const { rows: later } = await database.query('SELECT pg_backend_pid() AS pid');
  expect(later[0].pid).not.toBe(rows[0].pid);
});
