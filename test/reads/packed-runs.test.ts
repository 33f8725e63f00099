/** A run reads the same before it is packed, after it, and after its hot blocks are dropped. */
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { inTransaction } from '../../src/db/database.ts';
import { checkBlocks, checkPlaces } from '../../src/db/telemetry/block-check.ts';
import { LogRuns } from '../../src/db/telemetry/log-runs.ts';
import { keyOf, storePacked } from '../../src/db/telemetry/packed/store-packed.ts';
import { ensureDay } from '../../src/db/telemetry/partitions.ts';
import { findPlaces } from '../../src/db/telemetry/stored-places.ts';
import { decodePlainly } from '../../src/ingest/plain-decoder.ts';
import { packRuns } from '../../src/reads/pack-runs.ts';
import { readTree } from '../../src/reads/run-tree.ts';
import { readStepPage } from '../../src/reads/step-page.ts';
import { readStepsOfRuns } from '../../src/reads/steps-of-runs.ts';
import { recordsIn } from '../support/exact-records.ts';
import { casesOf } from '../support/exhaustive.ts';
import { exportRun } from '../support/export-run.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/migrated-database.ts';
import { DAY_MS, hex8, hex16, NOON_MS } from '../support/rows.ts';
import { storeRequests } from '../support/store-requests.ts';

const WORKSPACE = 1;
const RUNS = [1, 2, 3].map(hex16);
const DAYS = ['2026-11-20', '2026-11-21'];

let scratch: MigratedDatabase;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.rows("INSERT INTO workspaces (slug, name) VALUES ('one', 'One')");
  for (const days of [0, 1]) await ensureDay(scratch.database, NOON_MS + days * DAY_MS);
});
afterAll(() => scratch.close());
beforeEach(() =>
  scratch.rows('TRUNCATE hot_blocks, hot_places, blocks, places, runs, receipts CASCADE'),
);

const toRead = (runId: string) => ({
  workspaceId: WORKSPACE,
  runId,
  firstArrivalOn: DAYS[0] as string,
  lastArrivalOn: DAYS[1] as string,
});

/** Everything that readers see of the runs. */
async function views() {
  const { database } = scratch;
  const seen = [];
  const read = await readStepsOfRuns(database, RUNS.map(toRead));
  for (const [index, runId] of RUNS.entries()) {
    const tree = await readTree(database, toRead(runId), 1000);
    const page = await readStepPage(database, tree, {
      bytesMax: 1e9,
      pageSteps: 1000,
      cutBytes: 1e6,
      ordinaryBytes: 1e6,
      wholeBytes: 1e6,
      structuresMax: 1e6,
    });
    const records: Record<string, string[]> = {};
    for (const signal of ['traces', 'logs'] as const) {
      if (read[index]?.steps.length === 0) continue;
      const lines = await exportRun(database, WORKSPACE, runId, signal);
      records[signal] = lines.flatMap((line) => recordsIn(signal, line));
    }
    const { steps, unread, repeats, unreadable } = read[index] ?? {};
    seen.push({
      evaluated: { steps, unread, repeats, unreadable },
      tree: tree.steps.map(({ storedIn: _in, storedAs: _as, ...step }) => step),
      lost: tree.unreadable,
      page,
      records,
    });
  }
  return seen;
}

/** Packs some of the places of each run that are hot. */
async function pack(isPacked: (index: number) => boolean): Promise<void> {
  const { database } = scratch;
  const read = await readStepsOfRuns(database, RUNS.map(toRead), { keepsRecords: true });
  const runs = RUNS.map((runId, index) => ({
    workspaceId: WORKSPACE,
    runId,
    hot: (read[index]?.hot ?? []).filter((_, at) => isPacked(at)),
  }));
  const blocks = await packRuns(runs.filter(({ hot }) => hot.length > 0));
  const keys = new Set(runs.map(keyOf));
  await inTransaction(database, (connection) => storePacked(connection, blocks, keys));
}

interface SentRecord {
  readonly run: number;
  readonly at: number;
  readonly text: number;
}
interface SentBody {
  readonly signal: 'traces' | 'logs';
  readonly day: number;
  readonly service: string;
  readonly records: readonly SentRecord[];
}

function bodyOf({ signal, service, records }: SentBody): string {
  const text = (length: number): string => 'all of the conversation so far, '.repeat(length);
  const items = records.map(({ run, at, text: length }) =>
    signal === 'traces'
      ? `{"traceId":"${RUNS[run]}" , "spanId":"${hex8(at)}","name":"step ${at}","startTimeUnixNano":"${1000 + at}","attributes":[{"key":"gen_ai.prompt","value":{"stringValue":"${text(length)}${at}"}}],"stranger":1e3}`
      : `{"traceId":"${RUNS[run]}","timeUnixNano":"${1000 + at}","eventName":"e${at}","body":{"stringValue":"${text(length)}"}}`,
  );
  const [resources, scopes, list] =
    signal === 'traces'
      ? ['resourceSpans', 'scopeSpans', 'spans']
      : ['resourceLogs', 'scopeLogs', 'logRecords'];
  return `{"${resources}":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"${service}"}}]},"${scopes}":[{"${list}":[${items.join(', ')}]}]}]}`;
}

async function send(bodies: readonly SentBody[]): Promise<void> {
  const connection = await scratch.database.connect();
  try {
    for (const body of bodies) {
      const arrivedAtMs = NOON_MS + body.day * DAY_MS;
      const context = { workspaceId: WORKSPACE, arrivedAtMs, logRuns: new LogRuns() };
      const decoded = decodePlainly(body.signal, Buffer.from(bodyOf(body)), context);
      if (!decoded.ok) throw new Error('a body that cannot be decoded');
      await storeRequests(connection, [decoded.request.encoded]);
    }
    await connection.query('UPDATE runs SET first_arrival_at = $1, last_arrival_at = $2', [
      new Date(NOON_MS),
      new Date(NOON_MS + DAY_MS),
    ]);
  } finally {
    connection.release();
  }
}

const record = fc.record({
  run: fc.integer({ min: 0, max: 2 }),
  at: fc.integer({ min: 1, max: 12 }),
  text: fc.integer({ min: 0, max: 5 }),
});
const body: fc.Arbitrary<SentBody> = fc.record({
  signal: fc.constantFrom('traces', 'logs'),
  day: fc.integer({ min: 0, max: 1 }),
  service: fc.constantFrom('agent', 'tools'),
  records: fc.array(record, { minLength: 1, maxLength: 6 }),
});

test('random runs read the same, packed once or twice, with hot blocks or without', async () => {
  const bodies = fc.array(body, { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(bodies, fc.integer({ min: 0, max: 3 }), async (sent, kept) => {
      await scratch.rows('TRUNCATE hot_blocks, hot_places, blocks, places, runs, receipts CASCADE');
      await send(sent);
      const before = await views();
      await pack((index) => index % 4 !== kept);
      expect(await views()).toEqual(before);
      await pack(() => true);
      expect(await views()).toEqual(before);
      expect((await checkPlaces(scratch.database)).faults).toEqual([]);
      expect((await checkBlocks(scratch.database)).faults).toEqual([]);
      await scratch.rows('TRUNCATE hot_blocks, hot_places');
      expect(await views()).toEqual(before);
      expect((await checkPlaces(scratch.database)).faults).toEqual([]);
    }),
    { numRuns: casesOf(50) },
  );
});

test('hot places that are packed take no room of others', async () => {
  await send(
    [1, 2, 3, 4].map((at) => ({
      signal: 'traces',
      day: 0,
      service: 'agent',
      records: [{ run: 0, at, text: 1 }],
    })),
  );
  await pack((index) => index < 3);
  const run = toRead(RUNS[0] as string);
  for (const [most, count] of [
    [1, 1],
    [3, 3],
    [4, 4],
    [5, 4],
  ] as const) {
    const [found] = await findPlaces(scratch.database, [run], most);
    expect(found?.places).toHaveLength(count);
  }
});

test('a packed place with damaged sources is not read, and its run is not whole', async () => {
  await send([{ signal: 'traces', day: 0, service: 'a', records: [{ run: 0, at: 1, text: 1 }] }]);
  await pack(() => true);
  await scratch.rows('TRUNCATE hot_blocks, hot_places');
  await scratch.rows("UPDATE places SET source_records = '\\x8080'");
  const [read] = await readStepsOfRuns(scratch.database, [toRead(RUNS[0] as string)]);
  expect(read).toMatchObject({ steps: [], unread: 1 });
  expect((await checkPlaces(scratch.database)).faults).toHaveLength(1);
});

test('a block with records of a run that is not packed now is not stored, nor another one of its runs', async () => {
  const { database } = scratch;
  await send(
    RUNS.map((_, run) => ({
      signal: 'traces',
      day: 0,
      service: 'a',
      records: [{ run, at: 1, text: 1 }],
    })),
  );
  const read = await readStepsOfRuns(database, RUNS.map(toRead), { keepsRecords: true });
  const [first, second, third] = RUNS.map((runId, index) => ({
    workspaceId: WORKSPACE,
    runId,
    hot: read[index]?.hot ?? [],
  }));
  if (first === undefined || second === undefined || third === undefined)
    throw new Error('no runs');
  const blocks = [...(await packRuns([first, second])), ...(await packRuns([third]))];
  const stored = async (keys: readonly { workspaceId: number; runId: string }[]) => {
    await inTransaction(database, (connection) =>
      storePacked(connection, blocks, new Set(keys.map(keyOf))),
    );
    return (await scratch.rows('SELECT run_id AS id FROM places')).map(({ id }) => id).sort();
  };
  expect(await stored([first, third])).toEqual([third.runId]);
  await scratch.rows('TRUNCATE blocks, places');
  // Two blocks that share a run.
  const shared = await packRuns([second, third]);
  blocks.push(...shared);
  expect(await stored([second, third])).toEqual([]);
});
