/** Random runs of one workspace on two days, and everything that readers see of them. */
import fc from 'fast-check';

import { type Database, inTransaction } from '../../src/db/database.ts';
import { FIRST_ID, findDay, readSlice } from '../../src/db/telemetry/day-blocks.ts';
import { LogRuns } from '../../src/db/telemetry/log-runs.ts';
import { keyOf, storePacked } from '../../src/db/telemetry/packed/store-packed.ts';
import { decodePlainly } from '../../src/ingest/plain-decoder.ts';
import { packRuns } from '../../src/reads/pack-runs.ts';
import { readTree } from '../../src/reads/run-tree.ts';
import { readStepPage } from '../../src/reads/step-page.ts';
import { readStepsOfRuns } from '../../src/reads/steps-of-runs.ts';
import { recordsIn } from './exact-records.ts';
import { DAY_MS, hex8, hex16, NOON_MS } from './rows.ts';
import { exportRun, storeRequests } from './stored-runs.ts';

export const WORKSPACE = 1;
export const RUNS = [1, 2, 3].map(hex16);
const DAYS = ['2026-11-20', '2026-11-21'];

export const toRead = (runId: string) => ({
  workspaceId: WORKSPACE,
  runId,
  firstArrivalOn: DAYS[0] as string,
  lastArrivalOn: DAYS[1] as string,
});

/** Everything that readers see of the runs. */
export async function views(database: Database) {
  const seen = [];
  const read = await readStepsOfRuns(database, RUNS.map(toRead));
  for (const [index, runId] of RUNS.entries()) {
    const tree = await readTree(database, toRead(runId), 1000);
    const limits = {
      bytesMax: 1e9,
      pageSteps: 1000,
      cutBytes: 1e6,
      ordinaryBytes: 1e6,
      wholeBytes: 1e6,
      structuresMax: 1e6,
    };
    const page = await readStepPage(database, tree, limits);
    const one = await readStepPage(database, tree, { ...limits, pageSteps: 1 }, { from: 2 });
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
      one,
      records,
    });
  }
  return seen;
}

/** Packs some of the places of each run that are hot. */
export async function pack(
  database: Database,
  isPacked: (index: number) => boolean,
): Promise<void> {
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
  /** 3: a log record without a run */
  readonly run: number;
  readonly at: number;
  readonly text: number;
}
export interface SentBody {
  readonly signal: 'traces' | 'logs';
  readonly day: number;
  readonly service: string;
  readonly records: readonly SentRecord[];
}

function bodyOf({ signal, service, records }: SentBody): string {
  const text = (length: number): string => 'all of the conversation so far, '.repeat(length);
  const items = records.map(({ run, at, text: length }) =>
    signal === 'traces'
      ? `{"traceId":"${RUNS[run] ?? RUNS[0]}" , "spanId":"${hex8(at)}","name":"step ${at}","startTimeUnixNano":"${1000 + at}","attributes":[{"key":"gen_ai.prompt","value":{"stringValue":"${text(length)}${at}"}}],"stranger":1e3}`
      : `{${run in RUNS ? `"traceId":"${RUNS[run]}",` : ''}"timeUnixNano":"${1000 + at}","eventName":"e${at}","body":{"stringValue":"${text(length)}"}}`,
  );
  const [resources, scopes, list] =
    signal === 'traces'
      ? ['resourceSpans', 'scopeSpans', 'spans']
      : ['resourceLogs', 'scopeLogs', 'logRecords'];
  return `{"${resources}":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"${service}"}}]},"${scopes}":[{"${list}":[${items.join(', ')}]}]}]}`;
}

export async function send(database: Database, bodies: readonly SentBody[]): Promise<void> {
  const connection = await database.connect();
  try {
    for (const body of bodies) {
      const arrivedAtMs = NOON_MS + body.day * DAY_MS;
      const context = { workspaceId: WORKSPACE, arrivedAtMs, logRuns: new LogRuns() };
      const decoded = decodePlainly(body.signal, Buffer.from(bodyOf(body)), context);
      if (!decoded.ok) throw new Error('a body that cannot be decoded');
      await storeRequests(connection, [decoded.request.encoded]);
    }
    // As on their days: a reader of days looks through the time between a day and its last packed block.
    await connection.query(
      `UPDATE hot_places SET arrived_at = arrived_at + (arrived_on - arrived_at::date) * interval '1 day'`,
    );
    await connection.query('UPDATE runs SET first_arrival_at = $1, last_arrival_at = $2', [
      new Date(NOON_MS),
      new Date(NOON_MS + DAY_MS),
    ]);
  } finally {
    connection.release();
  }
}

const record = fc.record({
  run: fc.integer({ min: 0, max: 3 }),
  at: fc.integer({ min: 1, max: 12 }),
  text: fc.integer({ min: 0, max: 5 }),
});
export const body: fc.Arbitrary<SentBody> = fc.record({
  signal: fc.constantFrom('traces', 'logs'),
  day: fc.integer({ min: 0, max: 1 }),
  service: fc.constantFrom('agent', 'tools'),
  records: fc.array(record, { minLength: 1, maxLength: 6 }),
});

/**
 * Returns an id just before the first block of a day. Ids of blocks never go back within a process, whatever other test files have
 * stored in it: read from its start, the day is looked through for every ten minutes until its newest id.
 */
async function beforeFirst(database: Database, day: string): Promise<string> {
  const { rows } = await database.query<{ id: string }>(
    `SELECT block_id AS id FROM (SELECT block_id, arrived_on FROM blocks
                                  UNION ALL SELECT block_id, arrived_on FROM hot_blocks) AS b
      WHERE arrived_on = $1::date ORDER BY block_id LIMIT 1`,
    [day],
  );
  const id = rows[0]?.id;
  if (id === undefined) return FIRST_ID;
  return (Number.parseInt(id.slice(0, 12), 16) - 1).toString(16).padStart(12, '0').padEnd(32, '0');
}

/** All records of spans and logs, with their days, as an export of days reads them. */
async function recordsOfDays(database: Database): Promise<string[]> {
  const records: string[] = [];
  for (const day of DAYS) {
    const { last } = await findDay(database, day);
    if (last === null) continue;
    const of = { workspaceId: WORKSPACE, signals: ['traces', 'logs'] as const, day, last };
    for (let after: string | null = await beforeFirst(database, day); after !== null; ) {
      const slice = await readSlice(database, of, after, DAY_MS);
      for (const block of slice.blocks) {
        if (!('text' in block) || block.signal === 'metrics') continue;
        const { signal, text } = block;
        const lines = text.toString().split('\n').slice(0, -1);
        records.push(
          ...lines.flatMap((line) => recordsIn(signal, line)).map((one) => `${day} ${one}`),
        );
      }
      after = slice.next;
    }
  }
  return records.sort();
}

/** Everything that readers see of the runs and of the days. */
export const everythingOf = async (database: Database) => ({
  runs: await views(database),
  days: await recordsOfDays(database),
});
