/**
 * Stored once: a request that comes again is answered as the first one was and stores nothing, in the
 * same process or another, after the first or beside it; and costs the other requests of its batch
 * nothing.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createDatabase, type Database } from '../../../src/db/database.ts';
import { CopyWriter } from '../../../src/db/telemetry/copy-writer.ts';
import type { EncodedRequest } from '../../../src/db/telemetry/encoded-request.ts';
import type { Receipt } from '../../../src/db/telemetry/receipts.ts';
import { ByteBudget } from '../../../src/http/ingest/byte-budget.ts';
import type { Hex16 } from '../../../src/model/json.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { encodeRequest } from '../../support/decoding.ts';
import { decodedRequest, NOON_MS, spanRow } from '../../support/rows.ts';
import { storedSpans } from '../../support/stored-blocks.ts';
import { waitFor } from '../../support/wait-for.ts';

/** The fate of the next COMMIT: PostgreSQL gets it and its answer is lost, or it is lost itself. */
type Cut = 'answer' | 'commit';

interface CutProxy {
  /** the database's URL, through the proxy */
  readonly url: string;
  /** Breaks the connection of the next COMMIT. */
  readonly cutNext: (cut: Cut) => void;
  readonly close: () => Promise<void>;
}

/** A TCP proxy before PostgreSQL that breaks connections at a COMMIT. @param url of a database, by a port or a Unix socket */
async function openCutProxy(url: string): Promise<CutProxy> {
  const { host, port, user = '', password = '', database = '' } = new pg.Client(url);
  const target = host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
  const sockets = new Set<Socket>();
  let cut: Cut | null = null;
  const server = createServer((client) => {
    const upstream = connect(target);
    let isLosing = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk) => {
      if (cut !== null && chunk.includes('COMMIT')) {
        const what = cut;
        cut = null;
        if (what === 'commit') {
          client.destroy();
          return;
        }
        isLosing = true;
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (isLosing) client.destroy();
      else client.write(chunk);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${address.port}/${database}`,
    cutNext: (what) => {
      cut = what;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const HOUR_MS = 3_600_000;
const WORKSPACE = 1;
/** Longer than any pause of a busy machine: batches wait for each other. */
const PATIENT_MS = 60_000;
/** The last moment of the period that begins at noon. */
const LAST_MS = NOON_MS + 4 * HOUR_MS - 1;

let scratch: MigratedDatabase;
/** connections of another process */
let elsewhere: Database;
let resends: number;
let failed: unknown[];

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  elsewhere = createDatabase(scratch.url, 4, { connectionLost: () => undefined });
});
afterAll(async () => {
  await elsewhere.end();
  await scratch.close();
});
beforeEach(async () => {
  resends = 0;
  failed = [];
  await scratch.database.query(
    'TRUNCATE hot_blocks, blocks, hot_places, places, runs, leases, receipts',
  );
});

function createWriter(
  database: Database = scratch.database,
  lockWaitMs: number = PATIENT_MS,
): CopyWriter {
  return new CopyWriter(
    database,
    { budget: new ByteBudget(1 << 30), lanes: 1, lockWaitMs },
    {
      inflightChanged: () => undefined,
      batchCommitted: () => undefined,
      batchFailed: (_requests, error) => void failed.push(error),
      requestUnstorable: () => undefined,
      requestsResent: (count) => {
        resends += count;
      },
      partitionsChanged: () => undefined,
    },
  );
}

/** A request with one span of this name. */
function named(name: string, arrivedAtMs = NOON_MS, workspaceId = WORKSPACE): EncodedRequest {
  return encodeRequest(decodedRequest({ spans: [spanRow({ name })] }), workspaceId, arrivedAtMs);
}

function receiptOf(name: string, answer: string | null = null): Receipt {
  return {
    bodyHash: createHash('sha256').update(name).digest('hex').slice(0, 32) as Hex16,
    answer,
  };
}

const send = (writer: CopyWriter, name: string, arrivedAtMs = NOON_MS) =>
  writer.offer(named(name, arrivedAtMs), receiptOf(name));

const find = (writer: CopyWriter, name: string, arrivedAtMs = NOON_MS, workspaceId = WORKSPACE) =>
  writer.find({ workspaceId, arrivedAtMs }, receiptOf(name).bodyHash);

async function spanNames(): Promise<unknown[]> {
  return (await storedSpans(scratch.database)).map(({ record }) => record.name).sort();
}

const FIRST = { isResend: false };
const RESEND = { isResend: true };

test('a request that was stored is not stored again, in this process or another', async () => {
  const writer = createWriter();
  expect(await send(writer, 'a')).toMatchObject(FIRST);
  expect(await send(writer, 'a')).toMatchObject(RESEND);
  expect(await send(createWriter(elsewhere), 'a')).toMatchObject(RESEND);
  expect(await spanNames()).toEqual(['a']);
  expect(await scratch.rows('SELECT spans FROM runs')).toEqual([{ spans: 1 }]);
  expect([resends, failed]).toEqual([2, []]);
  expect(writer.inflightBytes).toBe(0);
});

test('a request is found before it is decoded: while it is being stored, and in another process', async () => {
  const writer = createWriter();
  const answer = '{"partialSuccess":{"rejectedSpans":"1"}}';
  expect(await find(writer, 'a')).toBeNull();
  const first = writer.offer(named('a'), receiptOf('a', answer));
  expect(await find(writer, 'a')).toEqual(receiptOf('a', answer));
  await first;
  expect(await find(createWriter(elsewhere), 'a')).toEqual(receiptOf('a', answer));
  expect(resends).toBe(2);
  expect(await find(writer, 'b')).toBeNull();
  expect(await find(writer, 'a', NOON_MS, WORKSPACE + 1)).toBeNull();
  expect(await find(writer, 'a', LAST_MS)).toEqual(receiptOf('a', answer));
  expect(await find(writer, 'a', LAST_MS + HOUR_MS + 1)).toBeNull();
  expect(resends).toBe(3);
});

test('it is answered as the first was, whatever it would be answered itself', async () => {
  const partial =
    '{"partialSuccess":{"rejectedSpans":"1","errorMessage":"bad_kind (1): “why”, \\"é\\""}}';
  const writer = createWriter();
  await writer.offer(named('a'), receiptOf('a', partial));
  expect(await writer.offer(named('a'), receiptOf('a', 'another version'))).toEqual({
    isResend: true,
    receipt: receiptOf('a', partial),
  });
});

test('resends in a batch cost the others nothing', async () => {
  const first = createWriter(elsewhere);
  await Promise.all(['a', 'c', 'e'].map((name) => send(first, name)));
  const outcomes = await Promise.all(
    ['a', 'b', 'c', 'd', 'e'].map((name) => send(createWriter(), name)),
  );
  expect(outcomes.map(({ isResend }) => isResend)).toEqual([true, false, true, false, true]);
  expect(await spanNames()).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect([resends, failed]).toEqual([3, []]);
});

test('many at once, over two processes, each sent four times in any order', async () => {
  const writers = [
    createWriter(),
    createWriter(elsewhere),
    createWriter(),
    createWriter(elsewhere),
  ];
  const names = Array.from({ length: 100 }, (_, index) => String(index + 100));
  const outcomes = await Promise.all(
    writers.flatMap((writer, at) =>
      names.map((_, index) => send(writer, names[(index * 7 + at * 31) % names.length] ?? '')),
    ),
  );
  expect(outcomes.filter(({ isResend }) => !isResend)).toHaveLength(names.length);
  expect(await spanNames()).toEqual(names);
  expect(failed).toEqual([]);
});

test('the same body of another workspace, and requests without a receipt, are others', async () => {
  const writer = createWriter();
  await send(writer, 'a');
  const other = named('a', NOON_MS, WORKSPACE + 1);
  expect(await writer.offer(other, receiptOf('a'))).toMatchObject(FIRST);
  await writer.offer(named('a'));
  await writer.offer(named('a'));
  expect(await spanNames()).toEqual(['a', 'a', 'a', 'a']);
});

test.each([
  ['at the beginning of a period', NOON_MS, 3 * HOUR_MS - 1, RESEND],
  ['in its second hour', NOON_MS + HOUR_MS, 3 * HOUR_MS - 1, RESEND],
  ['at its end, an hour later', LAST_MS, HOUR_MS, RESEND],
  ['at its end, more than an hour later', LAST_MS, HOUR_MS + 1, FIRST],
  ['at its beginning, five hours later', NOON_MS, 5 * HOUR_MS, FIRST],
])('kept for an hour at least: stored %s', async (_when, atMs, laterMs, expected) => {
  await send(createWriter(), 'a', atMs);
  expect(await send(createWriter(), 'a', atMs + laterMs)).toMatchObject(expected);
});

test('across the end of a period, also if the later one is stored first', async () => {
  await send(createWriter(), 'a', LAST_MS + HOUR_MS);
  expect(await send(createWriter(), 'a', LAST_MS)).toMatchObject(RESEND);
});

test('a request that PostgreSQL refuses leaves no receipt', async () => {
  const writer = createWriter();
  const request = named('bad');
  const bad = { ...request, runs: request.runs.map((run) => ({ ...run, name: 'a\0b' })) };
  await expect(writer.offer(bad, receiptOf('a'))).rejects.toMatchObject({
    code: 'unstorable_rows',
  });
  expect(await send(writer, 'a')).toMatchObject(FIRST);
});

describe('while the first is being stored', () => {
  let endHold: () => Promise<void>;
  beforeEach(() => {
    endHold = async () => {};
  });
  afterEach(() => endHold());

  /** Keeps every COPY of blocks waiting, with the receipts of its batch not yet committed. */
  async function holdSpans() {
    const holder = await scratch.database.connect();
    await holder.query('BEGIN; LOCK TABLE hot_blocks IN EXCLUSIVE MODE');
    endHold = async () => {
      await holder.query('COMMIT');
      holder.release();
      endHold = async () => {};
    };
    return {
      waiters: (count: number) =>
        waitFor(
          async () => {
            const rows = await scratch.rows(
              `SELECT pid FROM pg_locks WHERE NOT granted AND relation = 'hot_blocks'::regclass`,
            );
            return rows.length === count && rows.map(({ pid }) => Number(pid));
          },
          { withinMs: 20_000, what: `${count} transactions waiting for the table` },
        ),
      release: () => endHold(),
    };
  }

  test('in the same process the resend waits for it', async () => {
    const writer = createWriter();
    const hold = await holdSpans();
    const first = send(writer, 'a');
    await hold.waiters(1);
    const second = send(writer, 'a');
    await hold.release();
    expect(await first).toMatchObject(FIRST);
    expect(await second).toMatchObject(RESEND);
    expect(await spanNames()).toEqual(['a']);
  });

  test('in the same process a request is found that came during its look-up', async () => {
    const writer = createWriter();
    const hold = await holdSpans();
    const found = find(writer, 'a');
    const first = send(writer, 'a');
    await hold.waiters(1);
    // Ends after the look-up that began before it.
    expect(await find(createWriter(elsewhere), 'b')).toBeNull();
    await hold.release();
    expect(await found).toEqual(receiptOf('a'));
    expect(await first).toMatchObject(FIRST);
  });

  test('equal requests of two workspaces that wait for one batch are two', async () => {
    const writer = createWriter();
    const sendAll = () =>
      [WORKSPACE, WORKSPACE + 1].map((workspaceId) =>
        writer.offer(named('a', NOON_MS, workspaceId), receiptOf('a', `"of ${workspaceId}"`)),
      );
    const hold = await holdSpans();
    const before = send(writer, 'before');
    await hold.waiters(1);
    const both = sendAll();
    await hold.release();
    await before;
    expect(await Promise.all(both)).toMatchObject([FIRST, FIRST]);
    expect(await spanNames()).toEqual(['a', 'a', 'before']);
    expect(await Promise.all(sendAll())).toEqual(
      [WORKSPACE, WORKSPACE + 1].map((workspaceId) => ({
        ...RESEND,
        receipt: receiptOf('a', `"of ${workspaceId}"`),
      })),
    );
  });

  test('in another process it is answered after it, by the same answer', async () => {
    await send(createWriter(), 'before');
    const hold = await holdSpans();
    const first = send(createWriter(), 'a');
    await hold.waiters(1);
    const second = send(createWriter(elsewhere), 'a');
    await waitFor(
      async () =>
        (
          await scratch.rows(
            `SELECT FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'`,
          )
        ).length > 0,
      { withinMs: 20_000, what: 'the resend waits for the receipt' },
    );
    await hold.release();
    expect(await first).toMatchObject(FIRST);
    expect(await second).toMatchObject(RESEND);
    expect(await spanNames()).toEqual(['a', 'before']);
    expect(failed).toEqual([]);
  });

  test('that hangs elsewhere, only the resend is refused, not the rest of its batch', async () => {
    const writer = createWriter(scratch.database, 100);
    await send(writer, 'before');
    const hanging = await elsewhere.connect();
    await hanging.query('BEGIN');
    const hash = receiptOf('c').bodyHash;
    const period = Math.floor(NOON_MS / (4 * HOUR_MS));
    await hanging.query(`INSERT INTO receipts VALUES (${WORKSPACE}, ${period}, '${hash}')`);
    const outcomes = await Promise.allSettled(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => send(writer, name)),
    );
    expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual([
      true,
      true,
      false,
      true,
      true,
      true,
    ]);
    expect(outcomes[2]).toMatchObject({
      reason: { code: 'store_unavailable', retryAfterSeconds: 1 },
    });
    await hanging.query('ROLLBACK');
    hanging.release();
    expect(await send(writer, 'c')).toMatchObject(FIRST);
    expect(await spanNames()).toEqual(['a', 'b', 'before', 'c', 'd', 'e', 'f']);
  });

  test('and its process dies, the resend is stored instead of it', async () => {
    const hold = await holdSpans();
    const lost = send(createWriter(elsewhere), 'a').catch((error: unknown) => error);
    const [pid] = await hold.waiters(1);
    await scratch.database.query('SELECT pg_terminate_backend($1::int)', [pid]);
    expect(await lost).toMatchObject({ code: 'store_unavailable' });
    await hold.release();
    expect(await send(createWriter(), 'a')).toMatchObject(FIRST);
    expect(await spanNames()).toEqual(['a']);
  });
});

describe('a connection that is lost at the COMMIT', () => {
  async function withProxy(
    work: (writer: CopyWriter, cutNext: (cut: 'answer' | 'commit') => void) => Promise<void>,
  ): Promise<void> {
    const proxy = await openCutProxy(scratch.url);
    const database = createDatabase(proxy.url, 4, { connectionLost: () => undefined });
    try {
      await work(createWriter(database), proxy.cutNext);
    } finally {
      await database.end();
      await proxy.close();
    }
  }

  test('after it: looked up, and acknowledged', async () => {
    await withProxy(async (writer, cutNext) => {
      await send(writer, 'before');
      cutNext('answer');
      expect(await send(writer, 'a')).toMatchObject(FIRST);
      expect(await send(writer, 'a')).toMatchObject(RESEND);
      expect(await spanNames()).toEqual(['a', 'before']);
      expect(failed).toEqual([]);
    });
  });

  test('before it: looked up, refused, and stored when it comes again', async () => {
    await withProxy(async (writer, cutNext) => {
      await send(writer, 'before');
      cutNext('commit');
      await expect(send(writer, 'a')).rejects.toMatchObject({ code: 'store_unavailable' });
      expect(await send(writer, 'a')).toMatchObject(FIRST);
      expect(await spanNames()).toEqual(['a', 'before']);
    });
  });

  test('and a request without a receipt: nobody can know, so it is refused', async () => {
    await withProxy(async (writer, cutNext) => {
      await send(writer, 'before');
      cutNext('answer');
      await expect(writer.offer(named('a'))).rejects.toMatchObject({ code: 'store_unavailable' });
      expect(failed).toHaveLength(1);
    });
  });
});
