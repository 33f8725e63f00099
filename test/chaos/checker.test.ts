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
import { decodePlainly } from '../../src/ingest/plain-decoder.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { decodeRequest } from '../support/decoding.ts';
import { LISTS } from '../support/otlp-requests.ts';
import { ATTACK_RULE, DIGESTED, NOON_MS } from '../support/rows.ts';
import { linesOf, storedBlocks } from '../support/stored-blocks.ts';
import { silentEvents } from '../support/stored-runs.ts';
import { bodyOf, ROW_NUMBERS, ROWS_PER_BODY, TIME_BASE } from './bodies.ts';
import { check, faultsOf, NOTHING } from './checker.ts';
import type { Delivery } from './load.ts';
import { digestOf, WORKSPACE } from './sent-records.ts';
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

/** Changes the lines of the only block of a signal. */
async function changeLines(signal: Signal, replace: (lines: string) => string): Promise<void> {
  const [block, ...others] = await storedBlocks(scratch.database, signal);
  if (block === undefined || others.length > 0) throw new Error('not one block');
  const lines = (await linesOf(block)).map(({ text }) => `${text}\n`).join('');
  const text = Buffer.from(replace(lines));
  const { codec, data } = await new BlockCompressor().compress(WORKSPACE, [text]);
  await scratch.rows(
    `UPDATE ${signal === 'metrics' ? 'blocks' : 'hot_blocks'}
        SET codec = $1, data = $2, bytes = $3, checksum = $4 WHERE block_id = $5`,
    [codec, data, text.length, checksumOf(data), block.id],
  );
}

type Records = Record<string, unknown>[];

/** Changes the spans or log records of the first line of a signal. */
async function changeRecords(
  signal: 'traces' | 'logs',
  change: (records: Records) => void,
): Promise<void> {
  const [resourceList, scopeList, itemList] = LISTS[signal];
  await changeLines(signal, (lines) => {
    const [first = '', ...others] = lines.split('\n');
    const request = JSON.parse(first);
    change(request[resourceList][0][scopeList][0][itemList]);
    return [JSON.stringify(request), ...others].join('\n');
  });
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

test('bodies of both decoders are as they were sent', async () => {
  await store(EVERY_KIND.slice(0, 10));
  await store(EVERY_KIND.slice(10), decodePlainly);
  const found = await readRecords({ ask: scratch.rows }, new Map());
  expect(found).toMatchObject({ changed: 0, misplaced: 0, differences: [] });
  await scratch.rows('TRUNCATE hot_blocks, blocks, hot_places, places, runs, leases CASCADE');
});

test('a record of an acknowledged body is missing: its run names one more than there are', async () => {
  await store([HARMLESS]);
  await changeRecords('traces', (spans) => spans.splice(3, 1));
  expect(faultsOf(await checked([delivery(HARMLESS, 'acknowledged')]))).toEqual([
    'rowsLost: 1',
    'recordsMisplaced: 1',
  ]);
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
  await changeRecords('traces', (spans) => spans.splice(3));
  const faults = faultsOf(await checked([delivery(HARMLESS, 'unknown')]));
  expect(faults).toEqual([`recordsMisplaced: ${ROWS_PER_BODY - 3}`, 'bodiesInParts: 1']);
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

test.each([
  [
    'one attribute of a span',
    HARMLESS,
    (text: string) => text.replace('server.address', 'server.addresses'),
  ],
  ['the body of a log record', LOGS, (text: string) => text.replace('"body":{"s', '"body":{ "S')],
  ['a number of a log record', LOGS, (text: string) => text.replace(':4.25}', ':4.250}')],
])('%s is changed', async (_name, body, replace) => {
  await store([body, body === LOGS ? LOGS + 10 : 2]);
  const { signal } = bodyOf(body);
  await changeLines(signal, (lines) => {
    expect(replace(lines)).not.toBe(lines);
    return replace(lines);
  });
  const { changed, differences } = await readRecords({ ask: scratch.rows }, new Map());
  expect(changed).toBe(1);
  expect(differences[0]).toMatch(/: record\.(attributes|body) is /);
  const deliveries = [body, body === LOGS ? LOGS + 10 : 2].map((number) =>
    delivery(number, 'acknowledged'),
  );
  expect(faultsOf(await checked(deliveries))).toEqual(['recordsChanged: 1']);
});

test('a log record got a run, which no place names', async () => {
  await store([LOGS]);
  await changeRecords('logs', ([first]) => Object.assign(first ?? {}, { traceId: 'a'.repeat(32) }));
  expect(faultsOf(await checked([delivery(LOGS, 'acknowledged')]))).toEqual([
    'recordsChanged: 1',
    'recordsMisplaced: 1',
  ]);
});

test('a block is in another workspace, and the places of its run are not', async () => {
  await store([HARMLESS]);
  await scratch.rows('UPDATE hot_blocks SET workspace_id = 2');
  expect(faultsOf(await checked([delivery(HARMLESS, 'acknowledged')]))).toEqual([
    `recordsChanged: ${ROWS_PER_BODY}`,
    `recordsMisplaced: ${2 * ROWS_PER_BODY}`,
  ]);
});

test('two spans have each other’s texts', async () => {
  await store([HARMLESS]);
  await changeRecords('traces', ([, , , one, other]) => {
    const attributes = one?.attributes;
    Object.assign(one ?? {}, { attributes: other?.attributes });
    Object.assign(other ?? {}, { attributes });
  });
  expect(faultsOf(await checked([delivery(HARMLESS, 'acknowledged')]))).toEqual([
    'recordsChanged: 2',
  ]);
});

test('a span has the time of a row that no body has: it is lost, and one more was never sent', async () => {
  await store([HARMLESS]);
  const never = String(TIME_BASE + BigInt(HARMLESS * ROW_NUMBERS + ROWS_PER_BODY));
  await changeRecords('traces', (spans) => {
    Object.assign(spans[3] ?? {}, { startTimeUnixNano: never });
  });
  expect(faultsOf(await checked([delivery(HARMLESS, 'acknowledged')]))).toEqual([
    'rowsLost: 1',
    'recordsChanged: 1',
  ]);
});

test.each([
  ['a text', METRICS, 'plain words 7/1"', 'plain words 7/9"', 'record.attributes is '],
  ['the text of a number', METRICS, ':1.50,', ':1.5,', 'record.sum is '],
  ['the unit of a metric', METRICS, '{request}', '{requesu}', 'identity is '],
  ['the scope', METRICS, '"name":"chaos","version"', '"name":"chaot","version"', 'scope is '],
  ['the resource', METRICS, 'service.name', 'service.namf', 'resource is '],
  ['the resource of spans', HARMLESS, 'service.name', 'service.namf', 'resource is '],
  ['the scope of log records', LOGS, 'chaos.scope', 'chaos.scop', 'scope is '],
] as const)('%s differs in a line of a block', async (_name, body, was, is, part) => {
  await store([body]);
  await changeLines(bodyOf(body).signal, (lines) => {
    expect(lines).toContain(was);
    return lines.replace(was, is);
  });
  const { changed, differences } = await readRecords({ ask: scratch.rows }, new Map());
  expect(changed).toBeGreaterThan(0);
  expect(differences[0]).toContain(part);
  const verdict = await checked([delivery(body, 'acknowledged')]);
  expect(faultsOf(verdict)).toEqual([`recordsChanged: ${changed}`]);
});

test.each([
  ['a place is missing', 'DELETE FROM hot_places', ROWS_PER_BODY],
  ['a place is there twice', 'INSERT INTO hot_places SELECT * FROM hot_places', ROWS_PER_BODY],
  [
    'a place is of another run',
    `UPDATE hot_places SET run_id = '${'a'.repeat(32)}'`,
    2 * ROWS_PER_BODY,
  ],
  ['a place is in another workspace', 'UPDATE hot_places SET workspace_id = 2', 2 * ROWS_PER_BODY],
  ['a place names a record too many', "UPDATE hot_places SET records = '\\x00c901'", 1],
  ['a place names two records too few', "UPDATE hot_places SET records = '\\x02c601'", 2],
])('%s', async (_name, sql, records) => {
  await store([HARMLESS]);
  await scratch.rows(sql);
  expect(faultsOf(await checked([delivery(HARMLESS, 'acknowledged')]))).toEqual([
    `recordsMisplaced: ${records}`,
  ]);
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
  await changeLines('metrics', (lines) => lines.replace('"asInt":', '"asInt",'));
  expect(faultsOf(await checked([delivery(METRICS, 'acknowledged')]))).toEqual([
    `rowsLost: ${ROWS_PER_BODY}`,
    'recordsChanged: 1',
  ]);
});
