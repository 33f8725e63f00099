/** Metrics are listed and shown by hour and attribute, from stored blocks. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { fromPrimary } from '../../src/db/replica/read-choice.ts';
import { FIRST_ID, LAST_ID, readNewest } from '../../src/db/telemetry/day-blocks.ts';
import { LogRuns } from '../../src/db/telemetry/log-runs.ts';
import { ensureDay } from '../../src/db/telemetry/partitions.ts';
import { Turns } from '../../src/http/limits/turns.ts';
import { decodePlainly } from '../../src/ingest/plain-decoder.ts';
import { HOUR_MS } from '../../src/model/shown/metrics.ts';
import { createMetricReader } from '../../src/reads/metric-list.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { NOON_MS } from '../support/rows.ts';
import { storeRequests } from '../support/stored-runs.ts';

let scratch: MigratedDatabase;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.rows("INSERT INTO workspaces (slug, name) VALUES ('one', 'One'), ('two', 'Two')");
  await ensureDay(scratch.database, NOON_MS);
});
afterAll(() => scratch.close());
beforeEach(() => scratch.rows('TRUNCATE blocks'));

const reported: string[] = [];
const reader = () =>
  createMetricReader(
    fromPrimary(() => scratch.database),
    { turns: new Turns(), report: (blockId) => void reported.push(blockId) },
  );
const RANGE = { until: new Date(NOON_MS + HOUR_MS), hours: 3 };

const nanos = (minutes: number): string => String(BigInt(NOON_MS + minutes * 60_000) * 1_000_000n);
const point = (minutes: number, value: object, attributes: Record<string, string> = {}) => ({
  timeUnixNano: nanos(minutes),
  startTimeUnixNano: nanos(-600),
  attributes: Object.entries(attributes).map(([key, stringValue]) => ({
    key,
    value: { stringValue },
  })),
  ...value,
});

async function send(metrics: object[], service = 'shop', atMs = NOON_MS): Promise<void> {
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: service } }] };
  const body = { resourceMetrics: [{ resource, scopeMetrics: [{ scope: {}, metrics }] }] };
  const context = { workspaceId: 1, arrivedAtMs: atMs, logRuns: new LogRuns() };
  const decoded = decodePlainly('metrics', Buffer.from(JSON.stringify(body)), context);
  if (!decoded.ok) throw new Error('a body that cannot be decoded');
  const connection = await scratch.database.connect();
  try {
    await storeRequests(connection, [decoded.request.encoded]);
  } finally {
    connection.release();
  }
}

const tokens = (points: object[]) => ({
  name: 'tokens',
  unit: '{token}',
  description: 'Used',
  sum: { aggregationTemporality: 1, isMonotonic: true, dataPoints: points },
});

test('the list has each metric with its kind, its last value and when it was seen', async () => {
  await send([
    tokens([point(1, { asInt: '5' }, { model: 'a' }), point(2, { asInt: '7' }, { model: 'b' })]),
    {
      name: 'latency',
      unit: 's',
      histogram: {
        aggregationTemporality: 2,
        dataPoints: [point(3, { count: '4', sum: 10, bucketCounts: ['4'], explicitBounds: [] })],
      },
    },
  ]);
  await send([{ name: 'heat', gauge: { dataPoints: [point(5, { asDouble: 0.5 })] } }], 'api');
  const { metrics, readTo, leftOut, unreadable } = await reader().list(1, RANGE);
  expect({ readTo, leftOut, unreadable }).toEqual({ readTo: null, leftOut: 0, unreadable: [] });
  expect(metrics).toMatchObject([
    { name: 'heat', kind: 'gauge', lastValue: 0.5, services: ['api'], points: 1 },
    { name: 'latency', kind: 'histogram', isCumulative: true, lastValue: 2.5, unit: 's' },
    {
      name: 'tokens',
      kind: 'sum',
      isMonotonic: true,
      isCumulative: false,
      lastValue: 7,
      lastSeen: new Date(NOON_MS + 120_000),
      attributes: ['model'],
      points: 2,
      description: 'Used',
    },
  ]);
  expect((await reader().list(2, RANGE)).metrics).toEqual([]);
});

test('a chart has the hours of one metric by an attribute of its points or of their sender', async () => {
  await send([
    tokens([point(-50, { asInt: '1' }, { model: 'a' }), point(2, { asInt: '7' }, { model: 'b' })]),
  ]);
  await send([tokens([point(3, { asInt: '3' }, { model: 'a' })])], 'api');
  const { chart } = reader();
  expect(await chart(1, { name: 'tokens', by: 'model' }, RANGE)).toMatchObject({
    statistic: 'sum',
    hours: [-HOUR_MS * 2, -HOUR_MS, 0].map((ms) => new Date(NOON_MS + ms)),
    series: [
      { value: 'b', values: [null, null, 7] },
      { value: 'a', values: [null, 1, 3] },
    ],
    leftOut: 0,
  });
  expect((await chart(1, { name: 'tokens', by: 'service.name' }, RANGE)).series).toEqual([
    { value: 'shop', values: [null, 1, 7] },
    { value: 'api', values: [null, null, 3] },
  ]);
  expect((await chart(1, { name: 'tokens', by: null }, RANGE)).series).toEqual([
    { value: null, values: [null, 1, 10] },
  ]);
  expect(await chart(1, { name: 'none', by: null }, RANGE)).toMatchObject({
    metric: null,
    statistic: null,
    series: [],
  });
});

test('a damaged block is shown, and the others are read', async () => {
  await send([tokens([point(1, { asInt: '5' }), point(2, { asInt: '5' })])]);
  await send([{ name: 'heat', gauge: { dataPoints: [point(5, { asDouble: 1 })] } }]);
  await scratch.rows("UPDATE blocks SET data = '\\x00' WHERE records = 2");
  const { metrics, unreadable } = await reader().list(1, RANGE);
  expect(metrics.map(({ name }) => name)).toEqual(['heat']);
  expect(unreadable).toEqual([{ day: '2026-11-20', records: 2 }]);
  expect(reported).toHaveLength(1);
});

test('the statements for the newest blocks use indexes', async () => {
  const day = new Date(NOON_MS).toISOString().slice(0, 10);
  await scratch.rows(
    `INSERT INTO blocks (block_id, workspace_id, arrived_on, bytes, records, checksum, signal, codec, data)
     SELECT md5('block' || n)::uuid, n % 50, $1, 1, 1, 1, 2, 1, '\\x00' FROM generate_series(1, 20000) n`,
    [day],
  );
  await scratch.rows(
    `INSERT INTO hot_blocks (block_id, workspace_id, arrived_on, bytes, records, checksum, signal, codec, data)
     SELECT md5('block' || n)::uuid, n % 50, $1, 1, 1, 1, 1 + 2 * (n % 2), 1, '\\x00' FROM generate_series(1, 20000) n`,
    [day],
  );
  await scratch.rows('ANALYZE blocks, hot_blocks');
  for (const [signal, table] of [
    ['metrics', 'blocks'],
    ['logs', 'hot_blocks'],
  ] as const) {
    const plan: string[] = [];
    const listening = new Proxy(scratch.database, {
      get: (target, name) =>
        name === 'query'
          ? async (text: string, values: unknown[]) => {
              const rows = await scratch.rows(`EXPLAIN ${text}`, values);
              plan.push(rows.map((row) => String(row['QUERY PLAN'])).join('\n'));
              return { rows: [] };
            }
          : Reflect.get(target, name, target),
    });
    const range = { from: FIRST_ID, to: LAST_ID, hashes: [], only: null };
    await readNewest(listening, { workspaceId: 1, signal, day, isHot: true, ...range });
    expect(plan[0]).toMatch(new RegExp(`Index Scan.* (?:using|on) ${table}_\\S*workspace_id`));
    expect(plan[0]).not.toContain('Seq Scan on');
  }
  await scratch.rows('TRUNCATE hot_blocks');
});
