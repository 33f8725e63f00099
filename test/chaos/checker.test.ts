/**
 * The checker must notice what it is for: bodies are stored as servers store them, and each kind of
 * loss, doubling and change is planted and counted.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';

import { BlockCompressor, checksumOf } from '../../src/db/telemetry/block-codec.ts';
import { CopyWriter } from '../../src/db/telemetry/copy-writer.ts';
import { LogRuns } from '../../src/db/telemetry/log-runs.ts';
import { ensureDay } from '../../src/db/telemetry/partitions.ts';
import { ByteBudget } from '../../src/http/ingest/byte-budget.ts';
import { ATTACK_RULE } from '../support/attack-text.ts';
import { decodePlainly, decodeRequest } from '../support/decoding.ts';
import { DIGESTED } from '../support/finding-columns.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/migrated-database.ts';
import { NOON_MS } from '../support/rows.ts';
import { silentEvents } from '../support/silent-events.ts';
import { linesOf, storedBlocks } from '../support/stored-blocks.ts';
import { bodyOf, ROW_NUMBERS, ROWS_PER_BODY, TIME_BASE } from './bodies.ts';
import { check, faultsOf, NOTHING } from './checker.ts';
import type { Delivery } from './load.ts';
import { digestOf, RESOURCE_COLUMNS, SENT_COLUMNS, TABLES, WORKSPACE } from './sent-records.ts';
import { readRecords } from './stored-records.ts';

const HARMLESS = 0;
const ATTACK = 1;
const LOGS = 4;
const METRICS = 7;
/** Every kind of body, with and without escapes. */
const EVERY_KIND = Array.from({ length: 30 }, (_, number) => number);
const NONE: ReadonlySet<number> = new Set();

let scratch: MigratedDatabase;
let writer: CopyWriter;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await ensureDay(scratch.database, NOON_MS);
  writer = new CopyWriter(scratch.database, { budget: new ByteBudget(1 << 28) }, silentEvents);
});
afterAll(async () => {
  await writer.close();
  await scratch.close();
});

/** Stores bodies as a server does; their runs are evaluated. */
async function store(bodies: readonly number[], decode = decodeRequest): Promise<void> {
  const context = { workspaceId: WORKSPACE, arrivedAtMs: NOON_MS, logRuns: new LogRuns() };
  const stored = bodies.map((number) => {
    const { signal, bytes } = bodyOf(number);
    const result = decode(signal, bytes, context);
    if (!result.ok) throw new Error(result.message);
    return writer.offer(result.request.encoded);
  });
  await Promise.all(stored);
  await scratch.rows("UPDATE runs SET state = 'completed', evaluation = 'evaluated'");
}

const timeOf = (body: number, row: number): string =>
  String(TIME_BASE + BigInt(body) * BigInt(ROW_NUMBERS) + BigInt(row));

/** Changes a column of a row. */
async function change(body: number, row: number, assignment: string): Promise<void> {
  const [table, time] =
    body === LOGS ? ['log_records', 'time_unix_nano'] : ['spans', 'start_unix_nano'];
  await scratch.rows(`UPDATE ${table} SET ${assignment} WHERE ${time} = $1`, [timeOf(body, row)]);
}

/** Changes the lines of the only block. */
async function changeLines(replace: (lines: string) => string): Promise<void> {
  const [block] = await storedBlocks(scratch.database, 'metrics');
  if (block === undefined) throw new Error('no block');
  const lines = (await linesOf(block)).map(({ text }) => `${text}\n`).join('');
  const text = Buffer.from(replace(lines));
  const { codec, data } = await new BlockCompressor().compress(WORKSPACE, [text]);
  await scratch.rows('UPDATE blocks SET codec = $1, data = $2, bytes = $3, checksum = $4', [
    codec,
    data,
    text.length,
    checksumOf(data),
  ]);
}

async function storeFinding(body: number): Promise<void> {
  await scratch.rows(
    `INSERT INTO findings (workspace_id, run_id, rule_id, rule_version, rule_status, severity,
       category, corpus_version, description, condition_index, condition_description, field,
       surface, step_name, excerpt, recommended_actions,
       ${DIGESTED.columns})
     VALUES (1, $1, $2, '1', 'stable', 'high', 'c', '1', '', 0, '', '', '', '', '', '[]', ${DIGESTED.values})`,
    [bodyOf(body).runId, ATTACK_RULE],
  );
}

const delivery = (body: number, outcome: Delivery['outcome']): Delivery => {
  const sent = bodyOf(body);
  const { bytes: _bytes, ...kept } = sent;
  return { body: kept, digest: digestOf(sent), outcome, attempts: 1 };
};

const checked = (deliveries: readonly Delivery[], earlier = NONE) =>
  check({ ask: scratch.rows }, deliveries, earlier);

test('all rows once, and the findings of attacks: nothing is wrong', async () => {
  await store(EVERY_KIND);
  const attacks = EVERY_KIND.filter((number) => bodyOf(number).isAttack);
  for (const attack of attacks) await storeFinding(attack);
  const given = EVERY_KIND.length;
  const verdict = await checked([
    ...EVERY_KIND.map((number) => delivery(number, 'acknowledged')),
    delivery(given, 'unknown'),
  ]);
  expect(verdict).toEqual({
    ...NOTHING,
    rowsAcknowledged: EVERY_KIND.length * ROWS_PER_BODY,
    findingsExpected: attacks.length,
  });
  expect(faultsOf(verdict)).toEqual([]);
});

test('bodies of both decoders are as they were sent, by the digests of their rows', async () => {
  await store(EVERY_KIND.slice(0, 10));
  await store(EVERY_KIND.slice(10), decodePlainly);
  const statements: string[] = [];
  const ask = (sql: string, values?: readonly unknown[]) => {
    statements.push(sql);
    return scratch.rows(sql, values);
  };
  expect(await readRecords({ ask }, new Map())).toMatchObject({ changed: 0, differences: [] });
  expect(statements.filter((sql) => sql.includes('ANY ($1)'))).toEqual([]);
  await scratch.rows('TRUNCATE spans, log_records, blocks, runs CASCADE');
});

test('all columns of a record’s tables are compared, except those that say when it came', async () => {
  const columnsOf = async (table: string) => {
    const found = await scratch.rows(
      `SELECT attname FROM pg_attribute
        WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`,
      [table],
    );
    return found.map(({ attname }) => String(attname)).toSorted();
  };
  const row = ['arrived_at', 'arrived_on', 'resource_id'];
  for (const signal of ['traces', 'logs'] as const) {
    const compared = [...SENT_COLUMNS[signal], ...row].toSorted();
    expect(await columnsOf(TABLES[signal])).toEqual(compared);
  }
  const resource = ['first_seen_at', 'last_used_on', 'workspace_id', 'id'];
  expect(await columnsOf('resources')).toEqual([...RESOURCE_COLUMNS, ...resource].toSorted());
});

test('a row of an acknowledged body is missing', async () => {
  await store([HARMLESS]);
  await scratch.rows('DELETE FROM spans WHERE start_unix_nano = $1', [timeOf(HARMLESS, 3)]);
  expect(faultsOf(await checked([delivery(HARMLESS, 'acknowledged')]))).toEqual(['rowsLost: 1']);
});

test('an acknowledged body is stored twice', async () => {
  await store([HARMLESS, METRICS]);
  await store([HARMLESS, METRICS]);
  const faults = faultsOf(
    await checked([delivery(HARMLESS, 'acknowledged'), delivery(METRICS, 'acknowledged')]),
  );
  expect(faults).toEqual([`rowsTwice: ${2 * ROWS_PER_BODY}`]);
});

test('a body that was given up is stored in parts', async () => {
  await store([HARMLESS]);
  await scratch.rows('DELETE FROM spans WHERE start_unix_nano >= $1', [timeOf(HARMLESS, 3)]);
  const faults = faultsOf(await checked([delivery(HARMLESS, 'unknown')]));
  expect(faults).toEqual(['bodiesInParts: 1']);
});

test('a body that was checked before is stored again; one that was given up may come later', async () => {
  await store([HARMLESS]);
  expect(faultsOf(await checked([]))).toEqual([`rowsTwice: ${ROWS_PER_BODY}`]);
  await store([HARMLESS]);
  expect(faultsOf(await checked([], new Set([HARMLESS])))).toEqual([]);
});

test('an attack has no finding, a harmless run has one, an evaluation has failed', async () => {
  await store([HARMLESS, ATTACK]);
  await scratch.rows("UPDATE runs SET evaluation = 'evaluation_failed' WHERE run_id = $1", [
    bodyOf(ATTACK).runId,
  ]);
  await storeFinding(HARMLESS);
  const verdict = await checked([
    delivery(HARMLESS, 'acknowledged'),
    delivery(ATTACK, 'acknowledged'),
  ]);
  expect(faultsOf(verdict)).toEqual(['findingsMissing: 1', 'findingsFalse: 1', 'runsFailed: 1']);
});

const swap = (column: string): string =>
  `${column} = (SELECT other.${column} FROM spans AS other
                 WHERE other.start_unix_nano IN (${timeOf(HARMLESS, 3)}, ${timeOf(HARMLESS, 4)})
                   AND other.start_unix_nano <> spans.start_unix_nano)`;

test.each([
  [
    'one attribute of a span',
    HARMLESS,
    () =>
      change(HARMLESS, 3, `attributes = replace(attributes::text, 'server.a', 'server.b')::json`),
    ['attributes'],
  ],
  ['the body of a log record', LOGS, () => change(LOGS, 9, `body = '"other"'`), ['body']],
  [
    'a number of a log record, in its text only',
    LOGS,
    () => change(LOGS, 4, `attributes = replace(attributes::text, '4.25', '4.250')::json`),
    ['attributes'],
  ],
  [
    'the run of a log record',
    LOGS,
    () => change(LOGS, 0, `trace_id = '${'1'.repeat(32)}'`),
    ['trace_id'],
  ],
  [
    'the workspace of a span',
    HARMLESS,
    () => change(HARMLESS, 5, 'workspace_id = 2'),
    ['workspace_id', 'resources.scope_name'],
  ],
] as const)('%s is changed', async (_name, body, plant, columns) => {
  await store([body, 2]);
  await plant();
  const { changed, differences } = await readRecords({ ask: scratch.rows }, new Map());
  expect(changed).toBe(1);
  for (const column of columns) expect(differences[0]).toContain(`${column} is `);
  const verdict = await checked([delivery(body, 'acknowledged'), delivery(2, 'acknowledged')]);
  expect(faultsOf(verdict)).toEqual(['recordsChanged: 1']);
});

test('two spans have each other’s texts; two resources have, too', async () => {
  await store([HARMLESS]);
  const both = `start_unix_nano IN (${timeOf(HARMLESS, 3)}, ${timeOf(HARMLESS, 4)})`;
  await scratch.rows(`UPDATE spans SET ${swap('attributes')} WHERE ${both}`);
  const deliveries = [delivery(HARMLESS, 'acknowledged')];
  expect(faultsOf(await checked(deliveries))).toEqual(['recordsChanged: 2']);
  await store([HARMLESS, 2]);
  await scratch.rows(
    `UPDATE spans SET resource_id = (SELECT resource_id FROM spans WHERE start_unix_nano = $1)
      WHERE start_unix_nano = $2`,
    [timeOf(2, 0), timeOf(HARMLESS, 0)],
  );
  expect(faultsOf(await checked([...deliveries, delivery(2, 'acknowledged')]))).toEqual([
    'recordsChanged: 1',
  ]);
});

test('a span has the time of a row that no body has: it is lost, and one more was never sent', async () => {
  await store([HARMLESS]);
  await change(HARMLESS, 3, `start_unix_nano = ${timeOf(HARMLESS, ROWS_PER_BODY)}`);
  expect(faultsOf(await checked([delivery(HARMLESS, 'acknowledged')]))).toEqual([
    'rowsLost: 1',
    'recordsChanged: 1',
  ]);
});

test.each([
  ['a text', 'plain words 7/1"', 'plain words 7/9"', 'point is '],
  ['the text of a number', ':1.50,', ':1.5,', 'point is '],
  ['the unit of a metric', '{request}', '{requesu}', 'identity is '],
  ['the scope', '"name":"chaos","version"', '"name":"chaot","version"', 'scope is '],
  ['the resource', 'service.name', 'service.namf', 'resource is '],
])('%s differs in a line of a block', async (_name, was, is, part) => {
  await store([METRICS]);
  await changeLines((lines) => {
    expect(lines).toContain(was);
    return lines.replace(was, is);
  });
  const { changed, differences } = await readRecords({ ask: scratch.rows }, new Map());
  expect(changed).toBeGreaterThan(0);
  expect(differences[0]).toContain(part);
  const verdict = await checked([delivery(METRICS, 'acknowledged')]);
  expect(faultsOf(verdict)).toEqual([`recordsChanged: ${changed}`]);
});

test('a block that cannot be read: its records are changed and lost', async () => {
  await store([METRICS]);
  await scratch.rows('UPDATE blocks SET data = set_byte(data, 9, (get_byte(data, 9) + 1) % 256)');
  expect(faultsOf(await checked([delivery(METRICS, 'acknowledged')]))).toEqual([
    `rowsLost: ${ROWS_PER_BODY}`,
    `recordsChanged: ${ROWS_PER_BODY}`,
  ]);
});

test('a line that is no JSON is changed, and its data points are lost', async () => {
  await store([METRICS]);
  await changeLines((lines) => lines.replace('"asInt":', '"asInt",'));
  expect(faultsOf(await checked([delivery(METRICS, 'acknowledged')]))).toEqual([
    `rowsLost: ${ROWS_PER_BODY}`,
    'recordsChanged: 1',
  ]);
});
