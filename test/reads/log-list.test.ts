/** Log records are listed from hot blocks, and the same after they are packed; filters, paging and damage. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fromPrimary } from '../../src/db/replica/read-choice.ts';
import { LogRuns } from '../../src/db/telemetry/log-runs.ts';
import { ensureDay } from '../../src/db/telemetry/partitions.ts';
import { Turns } from '../../src/http/limits/turns.ts';
import { decodePlainly } from '../../src/ingest/plain-decoder.ts';
import type { BlockCursor, LogFilter, LogList } from '../../src/model/shown/logs.ts';
import { endHotDays } from '../../src/reads/end-hot-days.ts';
import { createLogList } from '../../src/reads/log-list.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { DAY_MS, hex16, NOON_MS } from '../support/rows.ts';
import { storeRequests } from '../support/stored-runs.ts';

const WORKSPACE = 1;
const DAY = '2026-11-20';
let scratch: MigratedDatabase;
beforeEach(async () => {
  scratch = await openMigratedDatabase();
  await scratch.rows("INSERT INTO workspaces (slug, name) VALUES ('one', 'One'), ('two', 'Two')");
  await ensureDay(scratch.database, NOON_MS);
  reported.length = 0;
});
afterEach(() => scratch.close());

const EVENTS = {
  runsPacked: () => {},
  hotDayPacked: () => {},
  hotDaysWait: () => {},
  partitionsChanged: () => {},
};
/** Packs the day, and drops its hot blocks. */
async function endHotDay(): Promise<void> {
  const { signal } = new AbortController();
  for (const days of [3, 4]) {
    const nowMs = NOON_MS + days * DAY_MS;
    await endHotDays(scratch.database, { hotDays: 2, nowMs, signal }, EVENTS);
    await scratch.rows(
      "UPDATE hot_days SET places_dropped_at = places_dropped_at - interval '2 hours'",
    );
  }
}

const reported: string[] = [];
const logs = () =>
  createLogList(
    fromPrimary(() => scratch.database),
    { turns: new Turns(), report: (blockId) => void reported.push(blockId) },
  );
const list = async (
  filter: LogFilter = {},
  cursor: BlockCursor | null = null,
  limit = 100,
  workspaceId = WORKSPACE,
): Promise<LogList> => await logs()(workspaceId, filter, cursor, limit);
const texts = async (filter: LogFilter = {}) =>
  (await list(filter)).records.map(({ text }) => text);

interface Sent {
  readonly second: number;
  readonly text: string;
  readonly severity?: number | string;
  readonly traceId?: string;
  readonly attributes?: object[];
}

let requests = 0;
/** Sends records as one request, a minute after the one before. */
async function send(records: readonly Sent[], service = 'shop'): Promise<void> {
  requests += 1;
  const arrivedAtMs = NOON_MS + requests * 60_000;
  const logRecords = records.map(({ second, text, severity, traceId, attributes = [] }) => ({
    timeUnixNano: String(BigInt(NOON_MS + second * 1000) * 1_000_000n),
    ...(typeof severity === 'number' && { severityNumber: severity }),
    ...(typeof severity === 'string' && { severityText: severity }),
    ...(traceId && { traceId }),
    body: { stringValue: text },
    attributes,
  }));
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: service } }] };
  const body = { resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] };
  const context = { workspaceId: WORKSPACE, arrivedAtMs, logRuns: new LogRuns() };
  const decoded = decodePlainly('logs', Buffer.from(JSON.stringify(body)), context);
  if (!decoded.ok) throw new Error('a body that cannot be decoded');
  const connection = await scratch.database.connect();
  try {
    await storeRequests(connection, [decoded.request.encoded]);
    const at = new Date(NOON_MS);
    await connection.query('UPDATE runs SET first_arrival_at = $1, last_arrival_at = $1', [at]);
    await connection.query('UPDATE hot_places SET arrived_at = $1', [at]);
  } finally {
    connection.release();
  }
}

const RUN = hex16(77);

test('records with and without a run are listed, the newest first, before and after they are packed', async () => {
  await send([
    { second: 1, text: 'starts', severity: 9 },
    { second: 2, text: 'in a run', severity: 'WARNING', traceId: RUN },
  ]);
  await send(
    [
      {
        second: 3,
        text: 'fails',
        severity: 17,
        attributes: [{ key: 'code', value: { intValue: '7' } }],
      },
    ],
    'api',
  );
  const check = async () => {
    const { records, next, unreadable } = await list();
    expect(records).toMatchObject([
      { text: 'fails', level: 'error', service: 'api', attributes: 'code=7', runId: null },
      { text: 'in a run', level: 'warn', service: 'shop', runId: RUN },
      { text: 'starts', level: 'info', isCut: false, eventName: null },
    ]);
    expect({ next, unreadable }).toEqual({ next: null, unreadable: [] });
    expect(await texts({ level: 'warn' })).toEqual(['fails', 'in a run']);
    expect(await texts({ service: 'AP' })).toEqual(['fails']);
    expect(await texts({ runId: RUN })).toEqual(['in a run']);
    expect(await texts({ runId: hex16(78) })).toEqual([]);
    expect(await texts({ text: 'A RUN' })).toEqual(['in a run']);
    expect(await texts({ text: 'code' })).toEqual(['fails']);
    expect(await texts({ text: 'nowhere' })).toEqual([]);
    expect(await texts({ since: new Date(NOON_MS + 2000) })).toEqual(['fails', 'in a run']);
    expect(await texts({ until: new Date(NOON_MS + 2000) })).toEqual(['starts']);
    expect((await list({}, null, 100, WORKSPACE + 1)).records).toEqual([]);
  };
  await check();
  await endHotDay();
  expect(await scratch.rows('SELECT FROM hot_blocks')).toEqual([]);
  await check();
});

test('pages end within blocks, and continue there', async () => {
  await send([1, 2, 3, 4, 5].map((second) => ({ second, text: `text ${second}` })));
  await send([6, 7].map((second) => ({ second, text: `text ${second}` })));
  const check = async () => {
    const seen: (string | null)[] = [];
    let cursor: BlockCursor | null = null;
    let pages = 0;
    do {
      const page: LogList = await list({}, cursor, 3);
      expect(page.records.length).toBeLessThanOrEqual(3);
      seen.push(...page.records.map(({ text }) => text));
      cursor = page.next;
      pages += 1;
    } while (cursor !== null && pages < 10);
    expect(seen).toEqual([7, 6, 5, 4, 3, 2, 1].map((second) => `text ${second}`));
  };
  await check();
  await endHotDay();
  await check();
});

test('a damaged block is shown with its day and its records, and the others are read', async () => {
  await send([
    { second: 1, text: 'lost' },
    { second: 2, text: 'lost' },
  ]);
  await send([{ second: 3, text: 'there' }]);
  await scratch.rows("UPDATE hot_blocks SET data = '\\x00' WHERE records = 2");
  const { records, unreadable } = await list();
  expect(records.map(({ text }) => text)).toEqual(['there']);
  expect(unreadable).toEqual([{ day: DAY, records: 2 }]);
  expect(reported).toHaveLength(1);
});

test('a workspace that redacts has times, levels and services, and is not searched', async () => {
  await send([
    {
      second: 1,
      text: 'secret',
      severity: 9,
      attributes: [{ key: 'k', value: { stringValue: 'secret' } }],
    },
  ]);
  await scratch.rows('UPDATE workspaces SET redact_excerpts = true');
  const { records } = await list();
  expect(JSON.stringify(records)).not.toContain('secret');
  expect(records).toMatchObject([{ level: 'info', service: 'shop', text: null, attributes: null }]);
  await expect(list({ text: 'secret' })).rejects.toMatchObject({ code: 'conflict' });
});

test('a long text is cut', async () => {
  await send([
    { second: 1, text: 'x'.repeat(100_000) },
    { second: 2, text: 'y'.repeat(3000) },
  ]);
  const { records } = await list();
  expect(records.map(({ text, isCut }) => [text?.length, isCut])).toEqual([
    [2000, true],
    [2000, true],
  ]);
  expect(records[1]?.text).toBe('x'.repeat(2000));
});
