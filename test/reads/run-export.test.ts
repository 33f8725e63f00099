/** A run is exported as it was sent, or the export fails. */
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { SIGNAL_NUMBERS } from '../../src/db/telemetry/blocks.ts';
import { LogRuns } from '../../src/db/telemetry/log-runs.ts';
import { ensureDay } from '../../src/db/telemetry/partitions.ts';
import { decodePlainly } from '../../src/ingest/plain-decoder.ts';
import type { ExportedSignal } from '../../src/reads/run-export.ts';
import { dice, exportTree } from '../otlp/export-trees.ts';
import { type Habits, writeJson } from '../otlp/json-writer.ts';
import { casesOf } from '../support/cases.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { recordsIn } from '../support/exact-records.ts';
import { DAY_MS, hex8, hex16, NOON_MS } from '../support/rows.ts';
import { storedLines, storedLogs, storedSpans } from '../support/stored-blocks.ts';
import { beginExport, exportRun, storeRequests } from '../support/stored-runs.ts';

const WORKSPACE = 1;
const RUN = hex16(7);

let scratch: MigratedDatabase;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.rows("INSERT INTO workspaces (slug, name) VALUES ('one', 'One')");
  for (const days of [0, 1]) await ensureDay(scratch.database, NOON_MS + days * DAY_MS);
});
afterAll(() => scratch.close());
beforeEach(() =>
  scratch.rows('TRUNCATE hot_blocks, blocks, hot_places, places, runs, leases CASCADE'),
);

/** Stores a body as a server does; false when it is not decodable. */
async function store(
  signal: ExportedSignal,
  body: string,
  arrivedAtMs = NOON_MS,
): Promise<boolean> {
  const context = { workspaceId: WORKSPACE, arrivedAtMs, logRuns: new LogRuns() };
  const decoded = decodePlainly(signal, Buffer.from(body), context);
  if (!decoded.ok) return false;
  const connection = await scratch.database.connect();
  try {
    await storeRequests(connection, [decoded.request.encoded]);
    await connection.query('UPDATE runs SET first_arrival_at = $1, last_arrival_at = $2', [
      new Date(NOON_MS),
      new Date(NOON_MS + DAY_MS),
    ]);
    return true;
  } finally {
    connection.release();
  }
}

const begin = (signal: ExportedSignal, runId = RUN) =>
  beginExport(scratch.database, WORKSPACE, runId, signal);
const exported = (signal: ExportedSignal, runId = RUN) =>
  exportRun(scratch.database, WORKSPACE, runId, signal);

const span = (at: number, members = ''): string =>
  `{"traceId":"${RUN}","spanId":"${hex8(at)}","name":"step ${at}"${members}}`;
const traces = (spans: readonly string[], name = 'agent'): string =>
  `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"${name}"}}]},"scopeSpans":[{"spans":[${spans.join()}]}]}]}`;
const namesIn = (lines: readonly string[]): string[] =>
  lines.flatMap((line) => [...line.matchAll(/"name":"([^"]*)"/g)].map(([, name]) => name ?? ''));

const habits: fc.Arbitrary<Habits> = fc.record({
  spaces: fc.constantFrom(0, 0.3),
  escapes: fc.constantFrom(0, 0.1),
  nameEscapes: fc.constantFrom(0, 0.1),
  shuffles: fc.constantFrom(0, 0.5),
  strangers: fc.constantFrom(0, 0.2),
  repeats: fc.constantFrom(0, 0.05),
  unstorable: fc.constantFrom(0, 0.1),
});

describe.each(['traces', 'logs'] as const)('%s', (signal) => {
  test('each run of random bodies has its records as they were sent, in order', async () => {
    const random = fc.array(fc.tuple(fc.integer(), habits), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(random, async (bodies) => {
        await scratch.rows('TRUNCATE hot_blocks, blocks, hot_places, places, runs, leases CASCADE');
        const sent: string[] = [];
        for (const [seed, how] of bodies) {
          const numbers = dice(seed, 0);
          const body = writeJson(exportTree(numbers, signal), how, numbers);
          if (await store(signal, body)) sent.push(...recordsIn(signal, body));
        }
        const lines = await storedLines(scratch.database, signal);
        const records = lines.flatMap(({ text }) => recordsIn(signal, text));
        const known = new Set(sent);
        expect(records.filter((record) => !known.has(record))).toEqual([]);
        const read = signal === 'traces' ? storedSpans : storedLogs;
        const ofRuns = new Map<string | null, (string | undefined)[]>();
        for (const [at, { runId }] of (await read(scratch.database)).entries()) {
          ofRuns.set(runId, [...(ofRuns.get(runId) ?? []), records[at]]);
        }
        for (const [runId, expected] of ofRuns) {
          if (runId === null) continue;
          const given = (await exported(signal, runId)).flatMap((line) => recordsIn(signal, line));
          expect(given).toEqual(signal === 'traces' ? [...new Set(expected)] : expected);
        }
      }),
      { numRuns: casesOf(400, 20) },
    );
  });
});

test('unknown members, number texts and characters that PostgreSQL cannot store are kept', async () => {
  const spans = `${span(1, ',"z":12345678901234567890')},${span(2, ',"w" : "\\u0000\\ud800"')}`;
  const scopes = `"scopeSpans":[{"spans":[${spans}]}]`;
  await store('traces', `{"x":[1e3],"resourceSpans":[\n{"y":1.0,${scopes}}\n], "v" : {}}`);
  expect(await exported('traces')).toEqual([
    `{"x":[1e3],"v" : {},"resourceSpans":[{"y":1.0,${scopes}}]}`,
  ]);
  expect(await exported('logs')).toEqual([]);
});

test('records of other runs are left out, with the heads that enclose none of the run', async () => {
  const other = span(2).replace(RUN, hex16(8));
  const body = `{"resourceSpans":[${[
    `{"schemaUrl":"a","scopeSpans":[{"spans":[${other}]},{"scope":{"name":"s"},"spans":[${other},${span(1)}]}]}`,
    `{"schemaUrl":"b","scopeSpans":[{"spans":[${other}]}]}`,
  ]}]}`;
  await store('traces', body);
  expect(await exported('traces')).toEqual([
    `{"resourceSpans":[{"schemaUrl":"a","scopeSpans":[{"scope":{"name":"s"},"spans":[${span(1)}]}]}]}`,
  ]);
});

test('many blocks come in the order of arrival, a few at a time', async () => {
  const long = `,"attributes":[{"key":"k","value":{"stringValue":"${'x'.repeat(200_000)}"}}]`;
  const numbers = Array.from({ length: 30 }, (_, at) => at + 1);
  await store('traces', traces(numbers.slice(20).map((at) => span(at, long))), NOON_MS + DAY_MS);
  await store('traces', traces(numbers.slice(0, 20).map((at) => span(at, long))));
  const statements: string[] = [];
  const { query } = scratch.database;
  const counting = (...args: Parameters<typeof query>) => {
    statements.push(String(args[0]));
    return Reflect.apply(query, scratch.database, args);
  };
  Object.assign(scratch.database, { query: counting });
  try {
    const chunks = await begin('traces');
    const first = await chunks.next();
    expect(namesIn([first.value?.toString() ?? ''])).toEqual(['step 1', 'step 2']);
    const read = statements.filter((text) => text.includes('FROM hot_blocks'));
    expect(read).toHaveLength(1);
    await chunks.return(undefined);
  } finally {
    Object.assign(scratch.database, { query });
  }
  expect(namesIn(await exported('traces'))).toEqual(numbers.map((at) => `step ${at}`));
});

test('a span that was sent again is exported once, unless it was changed', async () => {
  await store('traces', traces([span(1), span(2)]));
  await store('traces', traces([span(2), span(3), span(1, ',"kind":2')]));
  await store('traces', traces([span(1)], 'other'));
  const names = ['step 1', 'step 2', 'step 3', 'step 1', 'step 1'];
  expect(namesIn(await exported('traces'))).toEqual(names);
});

test('an equal log record is exported again', async () => {
  const body = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"${RUN}","timeUnixNano":"5"}]}]}]}`;
  await store('logs', body);
  await store('logs', body);
  expect(await exported('logs')).toEqual([body, body]);
});

test('the first 20,000 steps of a signal are exported', async () => {
  const count = 20_000;
  const record = `{"traceId":"${RUN}","timeUnixNano":"5"}`;
  const body = (records: number): string =>
    `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${Array(records).fill(record).join()}]}]}]}`;
  await store('logs', body(count - 1));
  await store('logs', body(3));
  await store('traces', traces([span(1)]));
  const given = (await exported('logs')).join('');
  expect(given.split(record).length - 1).toBe(count);
  expect(namesIn(await exported('traces'))).toEqual(['step 1']);
});

describe('a part of the run that cannot be read', () => {
  /** Stores three blocks, and plants a fault in the second one. */
  async function plant(fault: string): Promise<AsyncGenerator<Buffer>> {
    for (const at of [1, 2, 3]) await store('traces', traces([span(at)]));
    await scratch.rows(fault);
    return await begin('traces');
  }
  const SECOND = '(SELECT block_id FROM hot_blocks ORDER BY block_id OFFSET 1 LIMIT 1)';

  test.each([
    [
      'its checksum differs',
      `UPDATE hot_blocks SET checksum = checksum + 1 WHERE block_id = ${SECOND}`,
    ],
    ['its codec is not known', `UPDATE hot_blocks SET codec = 99 WHERE block_id = ${SECOND}`],
    ['it is missing', `DELETE FROM hot_blocks WHERE block_id = ${SECOND}`],
    ['its place is damaged', `UPDATE hot_places SET records = '\\x80' WHERE block_id = ${SECOND}`],
    [
      'it has fewer records',
      `UPDATE hot_places SET records = '\\x0002' WHERE block_id = ${SECOND}`,
    ],
  ])('%s: what comes before it is given, and then the export fails', async (_what, fault) => {
    const chunks = await plant(fault);
    expect(namesIn([(await chunks.next()).value?.toString() ?? ''])).toEqual(['step 1']);
    await expect(chunks.next()).rejects.toThrow(/^Block /);
  });

  test('a block of the other signal does not matter', async () => {
    await store('traces', traces([span(1)]));
    await store('logs', `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"${RUN}"}]}]}]}`);
    await scratch.rows('UPDATE hot_blocks SET checksum = checksum + 1 WHERE signal = $1', [
      SIGNAL_NUMBERS.logs,
    ]);
    expect(namesIn(await exported('traces'))).toEqual(['step 1']);
    await expect(exported('logs')).rejects.toThrow(/^Block /);
  });
});
