/**
 * Storing requests, through a real PostgreSQL: batches form while one is under way, a bad request
 * costs its neighbours nothing, and a lost database costs no more than its batch.
 */

import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest';
import { createDatabase, type Database } from '../../../src/db/database.ts';
import { CopyWriter, type CopyWriterSettings } from '../../../src/db/telemetry/copy-writer.ts';
import type { EncodedRequest } from '../../../src/db/telemetry/encoded-request.ts';
import { ByteBudget } from '../../../src/http/ingest/byte-budget.ts';
import type { BatchFacts } from '../../../src/observe/ingest-events.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { encodeRequest } from '../../support/decoding.ts';
import {
  DAY_MS,
  decodedRequest,
  hex8,
  hex16,
  logRow,
  NOON_MS,
  type RowsRequest,
  spanRow,
} from '../../support/rows.ts';
import { storedRecords, storedSpans } from '../../support/stored-blocks.ts';
import { waitFor } from '../../support/wait-for.ts';

const WORKSPACE = 1;
const roomOf = (bytesMax: number): CopyWriterSettings => ({ budget: new ByteBudget(bytesMax) });
const ROOMY = roomOf(1 << 30);

function recordEvents() {
  const batches: BatchFacts[] = [];
  const failedBatches: unknown[] = [];
  const unstorable: unknown[] = [];
  const partitions: string[][] = [];
  const inflight: number[] = [];
  const resends: number[] = [];
  return {
    resends,
    requestsResent: (count: number) => void resends.push(count),
    batches,
    failedBatches,
    unstorable,
    partitions,
    inflight,
    batchCommitted: (facts: BatchFacts) => void batches.push(facts),
    batchFailed: (_requests: number, error: unknown) => void failedBatches.push(error),
    requestUnstorable: (error: unknown) => void unstorable.push(error),
    partitionsChanged: (created: readonly string[]) => void partitions.push([...created]),
    inflightChanged: (bytes: number) => void inflight.push(bytes),
  };
}

let scratch: MigratedDatabase;
let events: ReturnType<typeof recordEvents>;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
});
afterAll(() => scratch.close());
beforeEach(async () => {
  events = recordEvents();
  await scratch.database.query('TRUNCATE hot_blocks, blocks, hot_places, places, runs, leases');
});

function createWriter(
  settings: CopyWriterSettings = ROOMY,
  database: Database = scratch.database,
): CopyWriter {
  return new CopyWriter(database, settings, events);
}

function encode(fields: Partial<RowsRequest>, workspaceId = WORKSPACE): EncodedRequest {
  return encodeRequest(decodedRequest(fields), workspaceId, NOON_MS);
}

/** A request with one span whose name tells it apart. */
function named(name: string, fields: Partial<RowsRequest> = {}): EncodedRequest {
  return encode({ spans: [spanRow({ name })], ...fields });
}

/** The same in a workspace. */
function namedIn(workspaceId: number, name: string): EncodedRequest {
  return encode({ spans: [spanRow({ name })] }, workspaceId);
}

const spanNames = async (): Promise<unknown[]> =>
  (await storedSpans(scratch.database)).map(({ record }) => record.name).sort();

const logsOf = (workspaceId?: number): Promise<number> =>
  storedRecords(scratch.database, 'logs', workspaceId);

/** Keeps every COPY into a table waiting until it is released. */
async function holdTable(table: 'hot_blocks' | 'hot_places'): Promise<{
  waiters(count: number): Promise<number[]>;
  release(): Promise<void>;
}> {
  const holder = await scratch.database.connect();
  await holder.query(`BEGIN; LOCK TABLE ${table} IN EXCLUSIVE MODE`);
  return {
    waiters: (count) =>
      waitFor(
        async () => {
          const rows = await scratch.rows(
            `SELECT pid FROM pg_locks WHERE NOT granted AND relation = '${table}'::regclass`,
          );
          return rows.length === count && rows.map(({ pid }) => Number(pid));
        },
        { withinMs: 20_000, what: `${count} transactions waiting for the table` },
      ),
    release: async () => {
      await holder.query('COMMIT');
      holder.release();
    },
  };
}

/** Log records without a run have no places. */
const holdSpans = () => holdTable('hot_places');

// ── Batching and limits ──────────────────────────────────────────────────────────────────────

test('the next batch fills while one is under way', async () => {
  const writer = createWriter({ ...ROOMY, lanes: 1 });
  const hold = await holdSpans();
  const first = writer.offer(named('00'));
  await hold.waiters(1);
  const rest = Array.from({ length: 49 }, (_, index) => writer.offer(named(`${index + 10}`)));
  await hold.release();
  await Promise.all([first, ...rest]);
  expect(events.batches.map(({ requests, rows }) => [requests, rows])).toEqual([
    [1, 1],
    [49, 49],
  ]);
  expect(await spanNames()).toEqual(['00', ...Array.from({ length: 49 }, (_, at) => `${at + 10}`)]);
  expect(writer.inflightBytes).toBe(0);
});

test('little that arrives beside a batch takes the second lane only when that batch lasts', async () => {
  const writer = createWriter();
  await writer.offer(named('before'));
  const hold = await holdSpans();
  const first = writer.offer(named('0'));
  await hold.waiters(1);
  // Those share a batch, which begins beside the first: that one is not done in time.
  const rest = ['1', '2', '3'].map((name) => writer.offer(named(name)));
  await hold.waiters(2);
  await hold.release();
  await Promise.all([first, ...rest]);
  expect(events.batches.map(({ requests }) => requests).sort()).toEqual([1, 1, 3]);
  expect(await spanNames()).toEqual(['0', '1', '2', '3', 'before']);
});

test('little that arrives beside a batch waits for it, and takes no separate transaction', async () => {
  const writer = createWriter();
  await writer.offer(named('before'));
  const hold = await holdSpans();
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const all = [writer.offer(named('0'))];
  await hold.waiters(1);
  for (const name of ['1', '2', '3']) {
    all.push(writer.offer(named(name)));
    // Each in a turn of its own, within the time in which what is little waits.
    await new Promise(setImmediate);
  }
  await hold.release();
  await Promise.all(all);
  expect(events.batches.map(({ requests }) => requests)).toEqual([1, 1, 3]);
});

test('fifty at once all resolve, in fewer batches', async () => {
  const writer = createWriter();
  const requests = Array.from({ length: 50 }, (_, index) => named(`${index + 10}`));
  await Promise.all(requests.map((request) => writer.offer(request)));
  expect(events.batches.length).toBeLessThan(50);
  expect(events.batches.reduce((sum, { requests: count }) => sum + count, 0)).toBe(50);
  expect(events.batches.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(
    requests.reduce((sum, { bytes }) => sum + bytes, 0),
  );
  expect(await spanNames()).toEqual(Array.from({ length: 50 }, (_, at) => `${at + 10}`));
});

test('a batch ends at its size, and one request may be larger', async () => {
  const writer = createWriter({ ...ROOMY, lanes: 1 });
  const large = (name: string, bytes: number): EncodedRequest =>
    encode({ spans: [spanRow({ name, attributes: JSON.stringify({ text: 'x'.repeat(bytes) }) })] });
  const sizes = [3e6, 3e6, 3e6, 9e6, 1e6, 1e6];
  await Promise.all(sizes.map((bytes, index) => writer.offer(large(`${index}`, bytes))));
  expect(events.batches.map(({ requests }) => requests)).toEqual([2, 1, 1, 2]);
});

test('a batch may be made smaller, and still holds one request at least', async () => {
  const sample = named('0');
  const writer = createWriter({ ...ROOMY, lanes: 1, batchBytesMax: sample.bytes * 2 });
  await Promise.all(['1', '2', '3', '4', '5'].map((name) => writer.offer(named(name))));
  expect(events.batches.map(({ requests }) => requests)).toEqual([2, 2, 1]);
  const narrow = createWriter({ ...ROOMY, lanes: 1, batchBytesMax: 1 });
  await Promise.all([narrow.offer(named('6')), narrow.offer(named('7'))]);
  expect(events.batches.slice(3).map(({ requests }) => requests)).toEqual([1, 1]);
});

test('past the limit it refuses, and what it refused it never took', async () => {
  const sample = named('sample');
  const writer = createWriter(roomOf(sample.bytes * 2));
  const hold = await holdSpans();
  // Of several workspaces: one alone would leave room for others.
  const taken = [writer.offer(named('taken1')), writer.offer(namedIn(2, 'taken2'))];
  await expect(writer.offer(namedIn(3, 'refused'))).rejects.toMatchObject({
    code: 'overloaded',
    retryAfterSeconds: 1,
  });
  await hold.release();
  await Promise.all(taken);
  await writer.offer(named('later1'));
  expect(await spanNames()).toEqual(['later1', 'taken1', 'taken2']);
  expect(events.inflight.at(-1)).toBe(0);
  expect(Math.max(...events.inflight)).toBe(sample.bytes * 2);
});

test('a request above the whole limit is taken when nothing else is in flight', async () => {
  const writer = createWriter(roomOf(1));
  const alone = writer.offer(named('alone'));
  await expect(writer.offer(named('beside'))).rejects.toMatchObject({ code: 'overloaded' });
  await alone;
  expect(await spanNames()).toEqual(['alone']);
});

// ── Workspaces beside each other ─────────────────────────────────────────────────────────────

/** A request of a workspace with so many bytes of text. */
function large(workspaceId: number, name: string, bytes: number): EncodedRequest {
  const attributes = JSON.stringify({ text: 'x'.repeat(bytes) });
  return encode({ spans: [spanRow({ name, attributes })] }, workspaceId);
}

describe('a workspace with much to store', () => {
  test('has the whole of a batch for itself only until another has something', async () => {
    const writer = createWriter({ ...ROOMY, lanes: 1 });
    const hold = await holdSpans();
    const order: string[] = [];
    const offer = (workspaceId: number, name: string, bytes: number): Promise<unknown> =>
      writer.offer(large(workspaceId, name, bytes)).then(() => order.push(name));
    const flood = ['0', '1', '2', '3', '4', '5'].map((name) => offer(1, name, 3e6));
    await hold.waiters(1);
    // Larger than the short lane takes, so that it waits for the others' lane.
    const quiet = offer(2, 'quiet', 2e6);
    await hold.release();
    await Promise.all([...flood, quiet]);
    // The batch under way, then one that it shares.
    expect(order.indexOf('quiet')).toBeLessThan(order.indexOf('4'));
  });

  test('keeps no lane from others: their small requests are stored while it waits', async () => {
    const writer = createWriter();
    await writer.offer(named('before'));
    const hold = await holdSpans();
    const flood = ['0', '1', '2', '3', '4', '5'].map((name) => writer.offer(large(1, name, 6e6)));
    await hold.waiters(2);
    const quiet = encode({ logs: [logRow()] }, 2);
    await writer.offer(quiet);
    await writer.offer(quiet);
    expect(await logsOf()).toBe(2);
    // It has its two lanes, and not the third.
    const own = writer.offer(encode({ logs: [logRow()] }, 1));
    await writer.offer(quiet);
    expect(await logsOf(1)).toBe(0);
    await hold.release();
    await Promise.all([...flood, own]);
    expect(await logsOf()).toBe(4);
  });

  test('does not get the short lane for a large request, which would keep small ones of others waiting', async () => {
    const writer = createWriter({ ...ROOMY, lanes: 1 });
    await writer.offer(named('before'));
    const hold = await holdSpans();
    const first = writer.offer(named('first'));
    await hold.waiters(1);
    const second = writer.offer(large(2, 'large', 2e6));
    await writer.offer(encode({ logs: [logRow()] }, 3));
    await hold.waiters(1);
    await hold.release();
    await Promise.all([first, second]);
  });

  test('has one batch at a time while others are active', async () => {
    const writer = createWriter();
    const requests = ['0', '1', '2', '3'].map((name) => large(1, name, 9e5));
    await Promise.all([writer.offer(namedIn(2, 'other')), writer.offer(named('own'))]);
    const hold = await holdSpans();
    const flood = requests.map((request) => writer.offer(request));
    await hold.waiters(1);
    // A lane is free, and its batches would wait for the table as well.
    await writer.offer(encode({ logs: [logRow()] }, 2));
    await hold.waiters(1);
    await hold.release();
    await Promise.all(flood);
    expect(events.batches.slice(-4).map(({ requests }) => requests)).toEqual([1, 1, 1, 1]);
  });

  test('waits for no further request when its next one is too large for the short lane', async () => {
    const writer = createWriter({ ...ROOMY, lanes: 1 });
    await Promise.all([writer.offer(namedIn(2, 'known')), writer.offer(named('known'))]);
    const spans = await holdSpans();
    const all = await holdTable('hot_blocks');
    const other = writer.offer(encode({ logs: [logRow()] }, 2));
    await all.waiters(1);
    const small = writer.offer(named('small'));
    await all.waiters(2);
    const next = writer.offer(large(1, 'large', 2e6));
    // The lane finds nothing but the request whose workspace the short lane is storing.
    await all.release();
    await other;
    await spans.release();
    await Promise.all([small, next]);
    expect(await spanNames()).toEqual(expect.arrayContaining(['large', 'small']));
  });

  test('is refused before others are, who find room', async () => {
    const sample = named('sample');
    const writer = createWriter(roomOf(sample.bytes * 16));
    const hold = await holdSpans();
    const outcomes = Promise.allSettled(
      Array.from({ length: 30 }, (_, at) => writer.offer(named(`${at}`))),
    );
    const others = [2, 3].map((workspaceId) => writer.offer(namedIn(workspaceId, 'other')));
    await hold.release();
    await Promise.all(others);
    const taken = (await outcomes).filter(({ status }) => status === 'fulfilled');
    expect(taken).toHaveLength(14);
    expect(writer.inflightBytes).toBe(0);
  });
});

test('a day without partitions gets them, once', async () => {
  const writer = createWriter();
  const on = (day: number): EncodedRequest =>
    encodeRequest(decodedRequest({ spans: [spanRow()] }), WORKSPACE, NOON_MS + day * DAY_MS);
  await Promise.all([writer.offer(on(100)), writer.offer(on(101))]);
  await writer.offer(on(100));
  expect(events.partitions.flat().filter((name) => name.startsWith('hot_blocks'))).toEqual([
    'hot_blocks_2027_02_28',
    'hot_blocks_2027_03_01',
  ]);
  // On a cluster a partition's shard has its name and a number.
  const rows = await scratch.rows(
    `SELECT substring(tableoid::regclass::text FROM 'hot_blocks_\\d+_\\d+_\\d+') AS partition, arrived_on::text
       FROM hot_blocks ORDER BY 1`,
  );
  expect(rows).toEqual([
    { partition: 'hot_blocks_2027_02_28', arrived_on: '2027-02-28' },
    { partition: 'hot_blocks_2027_02_28', arrived_on: '2027-02-28' },
    { partition: 'hot_blocks_2027_03_01', arrived_on: '2027-03-01' },
  ]);
});

// ── Bad rows ─────────────────────────────────────────────────────────────────────────────────

/** A request whose run has a value that PostgreSQL refuses. */
function bad(facts: Partial<EncodedRequest['runs'][number]> = { name: 'a\0b' }): EncodedRequest {
  const request = encode({ spans: [spanRow({ name: 'bad', traceId: hex16(9) })] });
  return { ...request, runs: request.runs.map((run) => ({ ...run, ...facts })) };
}

describe('a request that PostgreSQL refuses is refused alone', () => {
  test.each<[string, string, () => EncodedRequest]>([
    ['U+0000 in a name', '22021', () => bad()],
    ['a time out of range', '22003', () => bad({ startUnixNano: '9223372036854775808' })],
    ['a count out of range', '22003', () => bad({ spans: 2 ** 31 })],
  ])('%s (%s)', async (_what, sqlState, refused) => {
    const writer = createWriter();
    const requests = ['0', '1', '2', '3', '4', '6', '7'].map((name) => named(name));
    requests.splice(5, 0, refused());
    const outcomes = await Promise.allSettled(requests.map((request) => writer.offer(request)));
    expect(outcomes.map(({ status }) => status)).toEqual(
      requests.map((_, index) => (index === 5 ? 'rejected' : 'fulfilled')),
    );
    expect(outcomes[5]).toMatchObject({
      reason: { code: 'unstorable_rows', cause: { code: sqlState }, retryAfterSeconds: null },
    });
    expect(events.unstorable).toMatchObject([{ code: sqlState }]);
    expect(events.failedBatches).toEqual([]);
    expect(await spanNames()).toEqual(['0', '1', '2', '3', '4', '6', '7']);
    expect(await scratch.rows('SELECT spans FROM runs')).toEqual([{ spans: 7 }]);
    expect(writer.inflightBytes).toBe(0);
    await writer.offer(named('8'));
    expect(await spanNames()).toContain('8');
  });

  test('several bad ones among many', async () => {
    const writer = createWriter();
    const refused = new Set([0, 3, 4, 19]);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        writer.offer(refused.has(index) ? bad() : named(`${index + 10}`)),
      ),
    );
    expect(outcomes.flatMap(({ status }, at) => (status === 'rejected' ? [at] : []))).toEqual([
      ...refused,
    ]);
    expect(await spanNames()).toHaveLength(16);
  });
});

// ── A database that goes away ────────────────────────────────────────────────────────────────

describe('a database that goes away', () => {
  test('costs the batch under way and nothing after it', async () => {
    const writer = createWriter({ ...ROOMY, lanes: 1 });
    await writer.offer(named('before'));
    const hold = await holdSpans();
    const lost = writer.offer(named('lost'));
    const refused = expect(lost).rejects.toMatchObject({
      code: 'store_unavailable',
      retryAfterSeconds: 1,
    });
    const [pid] = await hold.waiters(1);
    const waiting = writer.offer(named('waiting'));
    await scratch.database.query('SELECT pg_terminate_backend($1::int)', [pid]);
    await refused;
    await hold.release();
    await waiting;
    await writer.offer(named('after'));
    expect(await spanNames()).toEqual(['after', 'before', 'waiting']);
    expect(events.failedBatches).toHaveLength(1);
    expect(writer.inflightBytes).toBe(0);
  });

  test('makes the writer create partitions again', async () => {
    const writer = createWriter({ ...ROOMY, lanes: 1 });
    await writer.offer(named('before'));
    const hold = await holdSpans();
    const lost = writer.offer(named('lost'));
    const [pid] = await hold.waiters(1);
    const refused = expect(lost).rejects.toMatchObject({ code: 'store_unavailable' });
    await scratch.database.query('SELECT pg_terminate_backend($1::int)', [pid]);
    await refused;
    await hold.release();
    await scratch.database.query('DROP TABLE hot_blocks_2026_11_20');
    await writer.offer(named('after'));
    expect(await spanNames()).toEqual(['after']);
  });

  test.each([
    ['dropped', 'DROP TABLE hot_blocks_2026_11_20'],
    ['detached', 'ALTER TABLE hot_blocks DETACH PARTITION hot_blocks_2026_11_20'],
  ])('a partition that was %s is made again, and nothing is refused', async (_how, statement) => {
    const writer = createWriter({ ...ROOMY, lanes: 1 });
    await writer.offer(named('before'));
    // Citus sends the text of what it was given to its workers: only this statement.
    const connection = await scratch.database.connect();
    await connection.query(statement);
    connection.release();
    await writer.offer(named('after'));
    expect(await spanNames()).toContain('after');
    expect([events.unstorable, events.failedBatches]).toEqual([[], []]);
  });

  test('a day that can have no partition is the database’s fault, to be sent again', async () => {
    const writer = createWriter({ ...ROOMY, lanes: 1 });
    await writer.offer(named('before'));
    await scratch.database.query(
      'DROP TABLE hot_blocks_2026_11_20; CREATE VIEW hot_blocks_2026_11_20 AS SELECT 1 AS one',
    );
    try {
      await expect(writer.offer(named('after'))).rejects.toMatchObject({
        code: 'store_unavailable',
        retryAfterSeconds: 1,
      });
    } finally {
      await scratch.database.query('DROP VIEW hot_blocks_2026_11_20');
    }
    await writer.offer(named('again'));
    expect(await spanNames()).toEqual(['again']);
  });

  test('a COMMIT with a warning, as without its standby, is not acknowledged', async () => {
    const writer = createWriter({ ...ROOMY, lanes: 1 });
    await scratch.database.query(
      `CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE WARNING 'committed locally'; RETURN NULL; END $$;
       CREATE CONSTRAINT TRIGGER warn AFTER INSERT ON runs DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW EXECUTE FUNCTION warn()`,
    );
    try {
      await expect(writer.offer(named('a'))).rejects.toMatchObject({ code: 'store_unavailable' });
    } finally {
      await scratch.database.query('DROP FUNCTION warn CASCADE');
    }
    await writer.offer(named('b'));
    expect(events.failedBatches).toHaveLength(1);
  });

  test('while idle, costs nothing', async () => {
    const { rows } = scratch;
    const database = createDatabase(scratch.url, 2, {
      connectionLost: (error) => lost.push(error),
    });
    const lost: unknown[] = [];
    const writer = createWriter(ROOMY, database);
    await writer.offer(named('before'));
    const { rows: backends } = await database.query('SELECT pg_backend_pid() AS pid');
    await rows('SELECT pg_terminate_backend($1::int)', [backends[0]?.pid]);
    await waitFor(() => lost.length > 0, { withinMs: 20_000, what: 'the loss to be reported' });
    await writer.offer(named('after'));
    expect(lost).toMatchObject([{ code: '57P01' }]);
    expect(await spanNames()).toEqual(['after', 'before']);
    await database.end();
  });

  test('that was never there answers every request', async () => {
    const database = createDatabase('postgres://nobody@127.0.0.1:1/none', 2, {
      connectionLost: () => undefined,
    });
    const writer = createWriter(ROOMY, database);
    const outcomes = await Promise.allSettled([writer.offer(named('a')), writer.offer(named('b'))]);
    expect(outcomes).toMatchObject([
      { reason: { code: 'store_unavailable' } },
      { reason: { code: 'store_unavailable' } },
    ]);
    expect(writer.inflightBytes).toBe(0);
    await writer.close();
    await database.end();
  });
});

describe('close', () => {
  test('refuses what comes, and waits for what was taken', async () => {
    const writer = createWriter({ ...ROOMY, lanes: 1 });
    const order: string[] = [];
    const hold = await holdSpans();
    const taken = ['a', 'b'].map((name) => writer.offer(named(name)).then(() => order.push(name)));
    await hold.waiters(1);
    const closed = writer.close().then(() => order.push('closed'));
    await expect(writer.offer(named('c'))).rejects.toMatchObject({ code: 'shutting_down' });
    expect(order).toEqual([]);
    await hold.release();
    await Promise.all([...taken, closed]);
    expect(order).toEqual(['a', 'b', 'closed']);
    expect(await spanNames()).toEqual(['a', 'b']);
  });

  test('is at once when nothing is under way, and may be called again', async () => {
    const writer = createWriter();
    await writer.close();
    await writer.close();
  });
});

test('many writers at once count runs right and never end in a deadlock', async () => {
  const writers = [createWriter(), createWriter()];
  const offers = Array.from({ length: 200 }, (_, index) => {
    const spans = Array.from({ length: 10 }, (_, at) =>
      spanRow({ traceId: hex16((index * 7 + at * 3) % 10), spanId: hex8(index * 10 + at) }),
    );
    return writers[index % 2]?.offer(encode({ spans }, 1 + (index % 3)));
  });
  await Promise.all(offers);
  expect(events.failedBatches).toEqual([]);
  const [sums] = await scratch.rows(
    'SELECT count(*)::int AS runs, sum(spans)::int AS spans FROM runs',
  );
  expect(sums).toEqual({ runs: 30, spans: 2000 });
});
