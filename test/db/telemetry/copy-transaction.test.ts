/** What one batch's transaction leaves beside the telemetry: runs joined so that the order of arrival does not matter. */
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { EncodedRequest } from '../../../src/db/telemetry/encoded-request.ts';
import { ensureDay } from '../../../src/db/telemetry/partitions.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { encodeRequest } from '../../support/decoding.ts';
import {
  decodedRequest,
  hex8,
  hex16,
  logRow,
  NOON_MS,
  type RowsRequest,
  resourceRow,
  spanRow,
  TRACE_ID,
} from '../../support/rows.ts';
import { storedRecords, storedSpans } from '../../support/stored-blocks.ts';
import { storeRequests } from '../../support/stored-runs.ts';

const WORKSPACE = 1;

let scratch: MigratedDatabase;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await ensureDay(scratch.database, NOON_MS);
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.database.query('TRUNCATE hot_blocks, blocks, hot_places, places, runs, leases');
});

function encode(fields: Partial<RowsRequest>, workspaceId = WORKSPACE): EncodedRequest {
  return encodeRequest(decodedRequest(fields), workspaceId, NOON_MS);
}

async function store(requests: readonly EncodedRequest[]): Promise<void> {
  const connection = await scratch.database.connect();
  try {
    await storeRequests(connection, requests);
  } finally {
    connection.release();
  }
}

test.each([
  ['of one record', [1]],
  ['of several requests', [100, 0, 300, 1, 399, 400, 1, 0, 399]],
  ['of one request', [1500]],
  ['that is large', [900, 100, 601]],
])('a batch %s is stored whole, each record once', async (_what, sizes) => {
  let rows = 0;
  const request = (size: number): EncodedRequest => {
    const spans = Array.from({ length: size }, () => spanRow({ name: `span ${++rows}` }));
    return encode(size === 0 ? { logs: [logRow()] } : { spans });
  };
  await store(sizes.map(request));
  const spans = await storedSpans(scratch.database);
  expect(spans).toHaveLength(rows);
  expect(new Set(spans.map(({ record }) => record.name)).size).toBe(rows);
  const logs = sizes.filter((size) => size === 0).length;
  expect(await storedRecords(scratch.database, 'logs')).toBe(logs);
});

test('thousands of runs are sent a thousand rows at a time', async () => {
  const numbers = Array.from({ length: 4500 }, (_, index) => index + 1);
  const request = encode({
    spans: numbers.map((at) => spanRow({ traceId: hex16(at), spanId: hex8(at) })),
  });
  const connection = await scratch.database.connect();
  const bound: number[] = [];
  try {
    const wire = (connection as unknown as { connection: { bind: (...all: unknown[]) => void } })
      .connection;
    const bind = wire.bind.bind(wire);
    vi.spyOn(wire, 'bind').mockImplementation((...all) => {
      const [{ values = [] }] = all as [{ values?: string[] }];
      if (values.length > 0) bound.push((values[1]?.match(/,/g)?.length ?? 0) + 1);
      bind(...all);
    });
    await storeRequests(connection, [request]);
  } finally {
    vi.restoreAllMocks();
    connection.release();
  }
  const groups = [1000, 1000, 1000, 1000, 500];
  // Runs, then their leases.
  expect(bound).toEqual([...groups, ...groups]);
  expect(await scratch.rows('SELECT count(*)::int AS n FROM runs')).toEqual([{ n: 4500 }]);
});

describe('runs', () => {
  const runs = (): Promise<Record<string, unknown>[]> =>
    scratch.rows(
      `SELECT workspace_id, state, evaluation, name, service_name, start_unix_nano,
              end_unix_nano, spans, log_records FROM runs ORDER BY workspace_id, run_id`,
    );
  const child = spanRow({
    parentSpanId: hex8(1),
    name: 'chat',
    startUnixNano: '50',
    endUnixNano: '60',
  });
  const RUN = {
    workspace_id: WORKSPACE,
    state: 'running',
    evaluation: 'pending',
    name: null,
    service_name: 'agent',
    start_unix_nano: '50',
    end_unix_nano: '60',
    spans: 1,
    log_records: 0,
  };

  test('run until their root comes, then are completed or failed', async () => {
    await store([encode({ spans: [child] })]);
    expect(await runs()).toEqual([RUN]);
    await store([
      encode({ spans: [spanRow({ startUnixNano: '9', endUnixNano: '100', statusCode: 1 })] }),
    ]);
    const completed = {
      ...RUN,
      state: 'completed',
      name: 'invoke_agent',
      start_unix_nano: '9',
      end_unix_nano: '100',
      spans: 2,
    };
    expect(await runs()).toEqual([completed]);
    await store([encode({ logs: [logRow({ traceId: TRACE_ID, timeUnixNano: '7' })] })]);
    expect(await runs()).toEqual([{ ...completed, start_unix_nano: '7', log_records: 1 }]);
    await store([encode({ spans: [spanRow({ traceId: hex16(0xc2), statusCode: 2 })] })]);
    expect((await runs()).map(({ state }) => state)).toEqual(['completed', 'failed']);
  });

  test('of two workspaces are two, though the trace is one', async () => {
    await store([encode({ spans: [child] }, 2), encode({ spans: [child] }, 1)]);
    expect(await runs()).toEqual([RUN, { ...RUN, workspace_id: 2 }]);
  });

  test('are timed out until a root comes after all', async () => {
    await store([encode({ spans: [child] })]);
    await scratch.database.query(`UPDATE runs SET state = 'timed_out'`);
    await store([encode({ spans: [child] })]);
    expect(await runs()).toEqual([{ ...RUN, state: 'timed_out', spans: 2 }]);
    await store([encode({ spans: [spanRow({ statusCode: 2 })] })]);
    expect((await runs()).map(({ state }) => state)).toEqual(['failed']);
  });

  test('a later arrival moves last_arrival_at and leaves first_arrival_at', async () => {
    await store([encode({ spans: [child] })]);
    await scratch.database.query(
      `UPDATE runs SET first_arrival_at = '2026-01-01', last_arrival_at = '2026-01-01'`,
    );
    await store([encode({ spans: [child] })]);
    const [row] = await scratch.rows(
      `SELECT first_arrival_at = '2026-01-01' AS first, last_arrival_at > '2026-01-01' AS moved
         FROM runs`,
    );
    expect(row).toEqual({ first: true, moved: true });
  });

  test('are the same in whatever order their requests are stored', async () => {
    const services = ['tool', 'agent', null].map((serviceName, index) =>
      resourceRow({ id: hex16(index), serviceName }),
    );
    const requests: Partial<RowsRequest>[] = [
      { spans: [{ ...child, resourceId: hex16(1) }] },
      { spans: [spanRow({ resourceId: hex16(0), name: '\uFFFD', statusCode: 1 })] },
      { spans: [spanRow({ resourceId: hex16(2), name: '\u{1F600}', statusCode: 2 })] },
      { logs: [logRow({ traceId: TRACE_ID, resourceId: hex16(1), timeUnixNano: '1' })] },
    ];
    for (const [workspace, order] of permutations(requests).entries()) {
      for (const fields of order) {
        await store([encode({ resources: services, ...fields }, workspace + 1)]);
      }
    }
    const all = await runs();
    expect(all).toHaveLength(24);
    expect(all).toEqual(
      all.map((_, index) => ({
        workspace_id: index + 1,
        state: 'failed',
        evaluation: 'pending',
        name: '\uFFFD',
        service_name: 'tool',
        start_unix_nano: '1',
        end_unix_nano: '1763640001000000002',
        spans: 3,
        log_records: 1,
      })),
    );
  });
});

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((item, index) =>
    permutations(items.filter((_, other) => other !== index)).map((rest) => [item, ...rest]),
  );
}
