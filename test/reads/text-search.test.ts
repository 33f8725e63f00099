/** A text is found in stored runs: before they are packed, after it, and after their hot blocks are dropped. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { fromPrimary } from '../../src/db/replica/read-choice.ts';
import { LogRuns } from '../../src/db/telemetry/log-runs.ts';
import {
  filterBlocks,
  pendingRuns,
  runsOfBlock,
} from '../../src/db/telemetry/packed/block-search.ts';
import { ensureDay } from '../../src/db/telemetry/partitions.ts';
import { Turns } from '../../src/http/limits/turns.ts';
import { decodePlainly } from '../../src/ingest/plain-decoder.ts';
import { hashesOf } from '../../src/model/packed/text-filter.ts';
import type { TextQuery } from '../../src/model/runs.ts';
import { createTextSearch } from '../../src/reads/text-search.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { pack, RUNS, WORKSPACE } from '../support/packed-runs.ts';
import { hex8, NOON_MS } from '../support/rows.ts';
import { storeRequests } from '../support/stored-runs.ts';

let scratch: MigratedDatabase;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.rows("INSERT INTO workspaces (slug, name) VALUES ('one', 'One'), ('two', 'Two')");
  await ensureDay(scratch.database, NOON_MS);
});
afterAll(() => scratch.close());
beforeEach(() =>
  scratch.rows('TRUNCATE hot_blocks, hot_places, blocks, places, runs, receipts CASCADE'),
);

/** @param json of the prompt, a JSON string */
async function send(run: number, json: string, host = 'plain-host'): Promise<void> {
  const span = `{"traceId":"${RUNS[run]}","spanId":"${hex8(run + 1)}","name":"step","startTimeUnixNano":"1000","attributes":[{"key":"prompt","value":{"stringValue":${json}}}]}`;
  const body = `{"resourceSpans":[{"resource":{"attributes":[{"key":"host.name","value":{"stringValue":"${host}"}}]},"scopeSpans":[{"spans":[${span}]}]}]}`;
  const context = { workspaceId: WORKSPACE, arrivedAtMs: NOON_MS, logRuns: new LogRuns() };
  const decoded = decodePlainly('traces', Buffer.from(body), context);
  if (!decoded.ok) throw new Error('a body that cannot be decoded');
  const connection = await scratch.database.connect();
  try {
    await storeRequests(connection, [decoded.request.encoded]);
    const at = new Date(NOON_MS);
    await connection.query('UPDATE runs SET first_arrival_at = $1, last_arrival_at = $1', [at]);
  } finally {
    connection.release();
  }
}

const reported: string[] = [];
const find = (text: string, query: Partial<TextQuery> = {}, workspaceId = WORKSPACE) =>
  createTextSearch(
    fromPrimary(() => scratch.database),
    { turns: new Turns(), report: (blockId) => void reported.push(blockId) },
  )(workspaceId, { text, filter: {}, cursor: null, limit: 20, ...query });
const found = async (text: string): Promise<number[]> =>
  (await find(text)).runs.map(({ runId }) => RUNS.indexOf(runId)).sort();

const LONG = 'a conversation that is repeated by every call, '.repeat(5);

test('what a person sees is found however it was sent, in every stage of storage', async () => {
  const inner = JSON.stringify([{ content: 'first line\nget "https://Evil.example/a" 日本語' }]);
  await send(0, JSON.stringify(LONG + inner).replaceAll('/', '\\/'));
  await send(1, '"caf\\u00e9 au lait, C:\\\\Users\\\\tom"', 'db-7.internal');
  await send(2, JSON.stringify(inner));
  const check = async () => {
    expect(await found('https://evil.EXAMPLE/a')).toEqual([0, 2]);
    expect(await found('日本')).toEqual([0, 2]);
    expect(await found('get "https')).toEqual([2]);
    expect(await found('first line\nget')).toEqual([2]);
    expect(await found('café au')).toEqual([1]);
    expect(await found('C:\\Users\\tom')).toEqual([1]);
    expect(await found('db-7.internal')).toEqual([1]);
    expect(await found('every call, a conv')).toEqual([0]);
    expect(await found('CAFÉ')).toEqual([]);
    expect(await found('stringValue')).toEqual([]);
    expect(await found(RUNS[0] as string)).toEqual([]);
  };
  await check();
  await pack(scratch.database, () => true);
  await check();
  await scratch.rows('TRUNCATE hot_blocks, hot_places');
  await check();
  const { blocks, blocksRead, runs } = await find('café');
  expect({ blocks, blocksRead }).toEqual({ blocks: 1, blocksRead: 1 });
  expect(runs[0]?.textMatch).toMatchObject({ before: '', match: 'café' });
});

test('a block whose filter denies the text is not read', async () => {
  await send(0, '"harmless"');
  await pack(scratch.database, () => true);
  expect(await find('pastebin.example')).toMatchObject({ blocks: 1, blocksRead: 0, next: null });
});

test('a page ends with the block that reaches its limit, and its cursor continues', async () => {
  for (const run of [0, 1, 2]) {
    await send(run, '"needle"');
    await pack(scratch.database, () => true);
  }
  const seen: string[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < 3; page += 1) {
    const { runs, next, searchedTo } = await find('needle', { cursor, limit: 1 });
    seen.push(...runs.map(({ runId }) => runId));
    expect(runs).toHaveLength(1);
    expect(searchedTo).toBeInstanceOf(Date);
    cursor = next;
  }
  expect(seen.sort()).toEqual([...RUNS]);
  expect(await find('needle', { cursor })).toMatchObject({ runs: [], next: null });
});

test('a range, and other filters, hold for the runs that are found', async () => {
  await send(0, '"needle"');
  await pack(scratch.database, () => true);
  const at = new Date(NOON_MS);
  const after = new Date(NOON_MS + 1);
  const [block] = await scratch.rows("SELECT replace(block_id::text, '-', '') AS id FROM blocks");
  // The time in the id: other tests of this process may have made ids of later times.
  const later = new Date(Number.parseInt(String(block?.id).slice(0, 12), 16) + 1);
  const runsOf = async (filter: TextQuery['filter']) =>
    (await find('needle', { filter })).runs.length;
  expect(await runsOf({ since: at })).toBe(1);
  expect(await runsOf({ since: after })).toBe(0);
  expect(await runsOf({ until: later })).toBe(1);
  expect(await runsOf({ until: at })).toBe(0);
  expect(await runsOf({ hasFindings: true })).toBe(0);
});

test('other workspaces find nothing; a workspace that redacts is not searched', async () => {
  await send(0, '"needle"');
  await pack(scratch.database, () => true);
  expect((await find('needle', {}, WORKSPACE + 1)).runs).toEqual([]);
  await scratch.rows('UPDATE workspaces SET redact_excerpts = true WHERE id = 1');
  await expect(find('needle')).rejects.toMatchObject({ code: 'conflict' });
  await scratch.rows('UPDATE workspaces SET redact_excerpts = false WHERE id = 1');
});

test('a damaged block is counted and reported with its id, and the search continues', async () => {
  await send(0, '"needle"');
  await pack(scratch.database, () => true);
  await scratch.rows("UPDATE blocks SET data = '\\x00'");
  expect(await find('needle')).toMatchObject({ runs: [], blocksRead: 1, blocksUnreadable: 1 });
  const rows = await scratch.rows("SELECT replace(block_id::text, '-', '') AS id FROM blocks");
  expect(reported.map((blockId) => blockId.replaceAll('-', ''))).toEqual(rows.map(({ id }) => id));
});

test('the statements of a search use indexes', async () => {
  await scratch.rows(
    `INSERT INTO blocks (block_id, workspace_id, arrived_on, bytes, records, checksum, signal, codec, data, filter)
     SELECT md5('block' || n)::uuid, n % 50, $1, 1, 1, 1, 1, 1, '\\x00', '\\x00ff' FROM generate_series(1, 20000) n`,
    [new Date(NOON_MS).toISOString().slice(0, 10)],
  );
  await scratch.rows(
    `INSERT INTO places (block_id, run_id, arrived_at, workspace_id, arrived_on, records, sources, source_records)
     SELECT md5('block' || n)::uuid, md5('run' || n)::uuid, now(), n % 50, $1, '\\x00', '{}', '\\x00'
       FROM generate_series(1, 20000) n`,
    [new Date(NOON_MS).toISOString().slice(0, 10)],
  );
  await scratch.rows('ANALYZE blocks, places');
  const plans: string[] = [];
  const listening = new Proxy(scratch.database, {
    get: (target, name) =>
      name === 'query'
        ? async (text: string, values: unknown[]) => {
            const rows = await scratch.rows(`EXPLAIN ${text}`, values);
            plans.push(rows.map((row) => String(row['QUERY PLAN'])).join('\n'));
            return { rows: [] };
          }
        : Reflect.get(target, name, target),
  });
  const range = {
    workspaceId: 1,
    from: '0'.repeat(32),
    to: 'f'.repeat(32),
    fromDay: '2026-01-01',
  };
  await filterBlocks(listening, range, hashesOf('needle'));
  const key = { blockId: RUNS[0] as string, arrivedOn: '2026-11-20' };
  await runsOfBlock(listening, 1, key);
  await pendingRuns(listening, 1);
  expect(plans[0]).toMatch(/Index Scan.* (?:using|on) blocks_\S*workspace_id_block_id/);
  expect(plans[1]).toMatch(/using places_\S*block_id_idx/);
  for (const plan of plans) expect(plan).not.toContain('Seq Scan on blocks');
});
