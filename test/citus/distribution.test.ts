/**
 * On the Citus cluster that CITUS_DATABASE_URL names (docs/citus.md): what is distributed and how, that a
 * run's places are read from one shard, and upkeep of partitions beside ingest.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createDatabase, type Database } from '../../src/db/database.ts';
import {
  distribute,
  readCitusFacts,
  requireCoordinator,
  SHARDS_PER_WORKER,
} from '../../src/db/distribute.ts';
import { migrate } from '../../src/db/migrate.ts';
import { beat, leave } from '../../src/db/runs/processes.ts';
import type { RunToRead } from '../../src/db/runs/run-to-read.ts';
import { dropOutdated, ensureDay, ensureDays } from '../../src/db/telemetry/partitions.ts';
import { readTree } from '../../src/reads/run-tree.ts';
import { readStepsOfRuns } from '../../src/reads/steps-of-runs.ts';
import {
  createTestDatabase,
  type MigratedDatabase,
  openMigratedDatabase,
} from '../support/database.ts';
import {
  DAY_MS,
  decodedRequest,
  hex8,
  hex16,
  logRow,
  NOON_MS,
  type RowsRequest,
  spanRow,
} from '../support/rows.ts';
import { storedLogs, storedSpans } from '../support/stored-blocks.ts';
import { dayOf, encodeRequests, storeRequests } from '../support/stored-runs.ts';

const LIMITS = { stepsMax: 100, bytesMax: 1_000_000 };
let scratch: MigratedDatabase;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await ensureDay(scratch.database, NOON_MS);
});
afterAll(() => scratch.close());

const runOf = (number: number): RunToRead => ({
  workspaceId: 1,
  runId: hex16(number),
  firstArrivalOn: dayOf(NOON_MS),
  lastArrivalOn: dayOf(NOON_MS),
});

async function store(
  database: Database,
  fields: Partial<RowsRequest>,
  arrivedAtMs = NOON_MS,
): Promise<void> {
  const connection = await database.connect();
  try {
    await storeRequests(connection, encodeRequests(decodedRequest(fields), 1, arrivedAtMs));
  } finally {
    connection.release();
  }
}

const spanOf = (run: number, span: number, fields: Parameters<typeof spanRow>[0] = {}) =>
  spanRow({ traceId: hex16(run), spanId: hex8(span), ...fields });

test('blocks are distributed by block, places by run, and nothing else', async () => {
  const rows = await scratch.rows(
    `SELECT table_name::text AS name, citus_table_type AS type, distribution_column AS by
       FROM citus_tables WHERE table_name::text !~ '\\d$' ORDER BY 1`,
  );
  expect(rows).toEqual([
    { name: 'blocks', type: 'distributed', by: 'block_id' },
    { name: 'hot_blocks', type: 'distributed', by: 'block_id' },
    { name: 'hot_places', type: 'distributed', by: 'run_id' },
    { name: 'places', type: 'distributed', by: 'run_id' },
  ]);
});

test('sluice doctor finds workers that answer, and the shards of telemetry', async () => {
  const facts = await readCitusFacts(scratch.database);
  expect(facts).toMatchObject({ isCoordinator: true, shards: 8 });
  expect(facts?.workers.length).toBeGreaterThanOrEqual(1);
  expect(facts?.workers.every(({ answers }) => answers)).toBe(true);
});

test('the places and blocks of one workspace are on all workers', async () => {
  for (let run = 1000; run < 1100; run += 1) {
    await store(scratch.database, { spans: [spanOf(run, run)] });
  }
  for (const [table, column] of [
    ['hot_places', 'run_id'],
    ['hot_blocks', 'block_id'],
  ]) {
    const ids = await scratch.rows(`SELECT DISTINCT ${column} AS id FROM ${table}`);
    const [counted] = await scratch.rows(
      `SELECT count(DISTINCT nodename || nodeport)::int AS used,
              (SELECT count(*)::int FROM pg_dist_node
                WHERE groupid <> 0 AND shouldhaveshards AND isactive) AS workers
         FROM unnest($1::uuid[]) AS id JOIN citus_shards
           ON shardid = get_shard_id_for_distribution_column('${table}', id)`,
      [ids.map(({ id }) => id)],
    );
    expect(ids.length).toBeGreaterThanOrEqual(100);
    expect(counted?.used).toBe(counted?.workers);
  }
});

describe('reading a run', () => {
  /** As the database, and keeps the plans of statements on places. */
  function explaining(plans: string[]): Database {
    const query = async (text: string, values: unknown[]) => {
      if (/FROM hot_places\b/.test(text)) {
        const { rows } = await scratch.database.query(`EXPLAIN ${text}`, values);
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
      }
      return await scratch.database.query(text, values);
    };
    return { query } as unknown as Database;
  }

  const BIG = JSON.stringify({ text: 'é'.repeat(600_000) });

  beforeAll(async () => {
    const log = logRow({ traceId: hex16(1), spanId: hex8(2), eventName: 'said' });
    await store(scratch.database, {
      spans: [
        spanOf(1, 1, { name: 'first' }),
        spanOf(1, 2, { name: 'second', parentSpanId: hex8(1) }),
        spanOf(2, 3, { name: 'third', attributes: BIG }),
      ],
      logs: [log],
    });
  });

  test.each<[what: string, read: (database: Database) => Promise<unknown>, tasks: number]>([
    ['for the pass', (database) => readStepsOfRuns(database, [runOf(1)], LIMITS), 1],
    ['with others', (database) => readStepsOfRuns(database, [runOf(1), runOf(2)], LIMITS), 2],
    ['as a tree', (database) => readTree(database, runOf(1), 100), 1],
  ])('%s takes one task on one shard for each statement', async (_what, read, statements) => {
    const plans: string[] = [];
    await read(explaining(plans));
    expect(plans).toHaveLength(statements);
    for (const plan of plans) {
      expect(plan).toMatch(/^Custom Scan \(Citus Adaptive\)/);
      expect(plan).toContain('Task Count: 1');
      expect(plan).not.toContain('Distributed Subplan');
    }
  });

  test('gives its steps in the order of time, with their resource', async () => {
    const [read] = await readStepsOfRuns(scratch.database, [runOf(1)], LIMITS);
    expect(read?.steps.map(({ name }) => name)).toEqual(['first', 'second', 'said']);
    expect(read?.steps.map(({ serviceName }) => serviceName)).toEqual(['agent', 'agent', 'agent']);
    expect(read?.unread).toBe(0);
  });
});

describe('partitions', () => {
  const DAY = Date.UTC(2027, 0, 10, 12);

  test('are made by several servers at once, beside ingest, and outdated ones are dropped', async () => {
    const url = new URL(inject('databaseUrl'));
    const [named] = await scratch.rows('SELECT current_database() AS name');
    url.pathname = `/${String(named?.name)}`;
    const servers = [1, 2, 3].map(() => createDatabase(url.href, 2, { connectionLost: () => {} }));
    const changes: string[] = [];
    const dropped: string[] = [];
    const events = {
      partitionsChanged: (made: readonly string[], gone: readonly string[]) => {
        changes.push(...made);
        dropped.push(...gone);
      },
    };
    await ensureDay(scratch.database, DAY);
    let isDone = false;
    const ingest = async (): Promise<number> => {
      let batches = 0;
      for (; !isDone; batches += 1) {
        const spans = [1, 2, 3, 4].map((run) => spanOf(5000 + run, batches));
        await store(scratch.database, { spans }, DAY);
      }
      return batches;
    };
    const storing = [ingest(), ingest()];
    try {
      await Promise.all(servers.map((server) => ensureDays(server, DAY, events)));
      await dropOutdated(scratch.database, DAY + DAY_MS, 1, events);
    } finally {
      isDone = true;
      await Promise.all(servers.map((server) => server.end()));
    }
    expect(Math.min(...(await Promise.all(storing)))).toBeGreaterThan(0);
    const of = (...days: string[]) =>
      ['blocks', 'hot_blocks', 'hot_places', 'places'].flatMap((table) =>
        days.map((day) => `${table}_${day}`),
      );
    expect(changes.sort()).toEqual(of('2027_01_11', '2027_01_12'));
    expect(dropped.sort()).toEqual(of('2026_11_20'));
    await ensureDay(scratch.database, NOON_MS);
  });

  test('one that is being read is dropped by a later turn', async () => {
    const quiet = { partitionsChanged: () => {} };
    await ensureDays(scratch.database, DAY, quiet);
    const reader = await scratch.database.connect();
    await reader.query('BEGIN');
    await reader.query('SELECT count(*) FROM hot_blocks_2027_01_10');
    const later = DAY + 2 * DAY_MS;
    await expect(dropOutdated(scratch.database, later, 1, quiet)).rejects.toMatchObject({
      code: '55P03',
    });
    await reader.query('COMMIT');
    reader.release();
    await dropOutdated(scratch.database, later, 1, quiet);
    const left = await scratch.rows(`SELECT to_regclass('hot_blocks_2027_01_10') AS name`);
    expect(left).toEqual([{ name: null }]);
  });
});

describe('distributing', () => {
  test('moves what is stored already', async () => {
    const { url, drop } = await createTestDatabase();
    const database = createDatabase(url, 2, { connectionLost: () => {} });
    try {
      await migrate(database);
      await ensureDay(database, NOON_MS);
      const without = logRow({ traceId: null, eventName: 'alone' });
      await store(database, { spans: [spanOf(1, 1, { name: 'kept' })], logs: [without] });
      const first = await distribute(database);
      expect(first).toMatchObject({ isNew: true, shards: SHARDS_PER_WORKER * first.workers });
      expect(await distribute(database)).toEqual({ ...first, isNew: false });
      const stored = [...(await storedSpans(database)), ...(await storedLogs(database))];
      expect(stored.map(({ record, runId }) => [record.name ?? record.eventName, runId])).toEqual([
        ['kept', hex16(1)],
        ['alone', null],
      ]);
      const left = await database.query('SELECT FROM ONLY hot_blocks_2026_11_20');
      expect(left.rowCount).toBe(2);
    } finally {
      await database.end();
      await drop();
    }
  });

  test('is refused while a server runs, which remembers where telemetry is', async () => {
    const { url, drop } = await createTestDatabase();
    const database = createDatabase(url, 2, { connectionLost: () => {} });
    try {
      await migrate(database);
      await beat(database, hex16(9));
      await expect(distribute(database)).rejects.toThrow(/stop all of them/);
      await leave(database, hex16(9));
      expect((await distribute(database, 4)).shards).toBe(4);
    } finally {
      await database.end();
      await drop();
    }
  });

  test('a worker is not taken for the coordinator', async () => {
    const [worker] = await scratch.rows(
      `SELECT nodename AS host, nodeport AS port, current_database() AS name
         FROM pg_dist_node WHERE groupid <> 0 LIMIT 1`,
    );
    const url = new URL(inject('databaseUrl'));
    url.hostname = String(worker?.host);
    url.port = String(worker?.port);
    url.pathname = `/${String(worker?.name)}`;
    const database = createDatabase(url.href, 1, { connectionLost: () => {} });
    try {
      await expect(requireCoordinator(database)).rejects.toThrow(/must name the coordinator/);
    } finally {
      await database.end();
    }
  });
});
