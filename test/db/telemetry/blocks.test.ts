/**
 * Telemetry of a batch is stored as blocks by workspace, signal, day and size, and read back as sent; places
 * name the records of each run.
 */
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';

import { blocksCheck } from '../../../src/cli/doctor/database-checks.ts';
import { checkBlocks } from '../../../src/db/telemetry/block-check.ts';
import { BLOCK_BYTES_MAX, BlockCompressor } from '../../../src/db/telemetry/block-codec.ts';
import { packBlocks } from '../../../src/db/telemetry/blocks.ts';
import { BROTLI, CODECS, USE_ZSTD_NODE, ZSTD } from '../../../src/db/telemetry/codecs.ts';
import { CopyWriter } from '../../../src/db/telemetry/copy-writer.ts';
import type { EncodedRequest } from '../../../src/db/telemetry/encoded-request.ts';
import { LogRuns } from '../../../src/db/telemetry/log-runs.ts';
import { ByteBudget } from '../../../src/http/ingest/byte-budget.ts';
import { decodeRanges } from '../../../src/model/record-ranges.ts';
import type { Signal } from '../../../src/model/telemetry.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { decodeRequest, encodeRequest } from '../../support/decoding.ts';
import { DAY_MS, decodedRequest, hex8, hex16, NOON_MS } from '../../support/rows.ts';
import { linesOf, storedBlocks, storedLines, storedRecords } from '../../support/stored-blocks.ts';
import { silentEvents } from '../../support/stored-runs.ts';

let scratch: MigratedDatabase;
let writer: CopyWriter;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
  writer = new CopyWriter(scratch.database, { budget: new ByteBudget(1 << 28) }, silentEvents);
});
afterAll(async () => {
  await writer.close();
  await scratch.close();
});
beforeEach(() => scratch.database.query('TRUNCATE hot_blocks, blocks, hot_places, places'));

const bodyOf = (name: string, points = 1): string => {
  const dataPoints = Array.from({ length: points }, () => ({ timeUnixNano: '1', asInt: '1' }));
  return JSON.stringify({
    resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name, gauge: { dataPoints } }] }] }],
  });
};

function encode(
  text: string,
  workspaceId = 1,
  arrivedAtMs = NOON_MS,
  signal: Signal = 'metrics',
): EncodedRequest {
  const context = { workspaceId, arrivedAtMs, logRuns: new LogRuns() };
  const result = decodeRequest(signal, Buffer.from(text), context);
  if (!result.ok) throw new Error(result.message);
  return result.request.encoded;
}

/** A request with one line of so many bytes. */
const lineOf = (bytes: number, signal: Signal = 'metrics'): EncodedRequest => ({
  ...encodeRequest(decodedRequest(), 1, NOON_MS),
  signal,
  lines: [{ parts: [Buffer.alloc(bytes, 'x')], bytes, records: 1 }],
});

/** Stores requests in one transaction. */
async function store(requests: readonly EncodedRequest[]): Promise<void> {
  await Promise.all(requests.map((request) => writer.offer(request)));
}

test('by workspace and day, with all lines of the same one in one block', async () => {
  const texts = ['a', 'b', 'c'].map((name) => bodyOf(name, 2));
  await store([
    ...texts.map((text) => encode(text)),
    encode(bodyOf('d', 3), 2),
    encode(bodyOf('e'), 1, NOON_MS - DAY_MS),
  ]);
  const blocks = await storedBlocks(scratch.database, 'metrics');
  expect(blocks.map(({ workspaceId, records }) => [workspaceId, records]).toSorted()).toEqual([
    [1, 1],
    [1, 6],
    [2, 3],
  ]);
  const lines = await storedLines(scratch.database, 'metrics');
  expect(lines.map(({ text }) => text)).toEqual(expect.arrayContaining(texts));
});

test.each([
  [BLOCK_BYTES_MAX, 1],
  [BLOCK_BYTES_MAX + 1, 2],
])('lines of %s bytes together are %s blocks', async (bytes, count) => {
  await store([lineOf(1000), lineOf(bytes - 1002)]);
  expect(await storedBlocks(scratch.database, 'metrics')).toHaveLength(count);
});

test('no line is read after a batch has failed, because the memory of lines is used again', async () => {
  const compressor = new BlockCompressor();
  let ended = 0;
  vi.spyOn(compressor, 'compress').mockImplementation(async (workspaceId, parts) => {
    if (workspaceId === 1) throw new Error('no memory');
    const compressed = await new BlockCompressor().compress(workspaceId, parts);
    ended += 1;
    return compressed;
  });
  const requests = [1, 2, 3].map((workspaceId) => encode(bodyOf('a', 1000), workspaceId));
  await expect(packBlocks(requests, compressor)).rejects.toThrow('no memory');
  expect(ended).toBe(2);
});

test('signals have blocks of their own', async () => {
  await store([lineOf(10), lineOf(10, 'logs'), lineOf(10, 'traces')]);
  for (const signal of ['traces', 'metrics', 'logs'] as const) {
    expect(await storedRecords(scratch.database, signal)).toBe(1);
  }
});

test('a damaged block is found, with its id, and no other one suffers', async () => {
  await store([encode(bodyOf('a')), encode(bodyOf('b'), 2)]);
  expect(await checkBlocks(scratch.database)).toEqual({ checked: 2, faults: [], unsupported: 0 });
  const [damaged] = await storedBlocks(scratch.database, 'metrics');
  await scratch.database.query(
    'UPDATE blocks SET data = set_byte(data, 3, get_byte(data, 3) # 1) WHERE block_id = $1',
    [damaged?.id],
  );
  expect(await checkBlocks(scratch.database)).toEqual({
    checked: 2,
    faults: [`Block ${damaged?.id} cannot be read: its checksum differs.`],
    unsupported: 0,
  });
});

test('blocks are found whatever the statistics of their table say', async () => {
  await store([encode(bodyOf('a'))]);
  await scratch.database.query(
    `UPDATE pg_class SET reltuples = 1e12 WHERE relname ~ '^blocks_' AND relkind = 'r'`,
  );
  expect(await checkBlocks(scratch.database)).toMatchObject({ checked: 1, faults: [] });
});

test('blocks of a codec that this process does not have are counted, not called damaged', async () => {
  await store([encode(bodyOf('a')), encode(bodyOf('b'), 2)]);
  await scratch.database.query('UPDATE blocks SET codec = $1 WHERE workspace_id = 2', [ZSTD]);
  const brotli = CODECS.get(BROTLI);
  const codecs = vi.spyOn(CODECS, 'get');
  onTestFinished(() => codecs.mockRestore());
  codecs.mockImplementation((codec) => (codec === BROTLI ? brotli : undefined));
  const found = await checkBlocks(scratch.database);
  expect(found).toEqual({ checked: 2, faults: [], unsupported: 1 });
  expect(blocksCheck(found)).toMatchObject({
    state: 'warning',
    found: expect.stringContaining(`Node.js ${process.versions.node} cannot read`),
    change: expect.stringContaining(USE_ZSTD_NODE),
  });
});

/** The body of a request whose records have these trace ids, each with so many bytes of text. */
function tracesBody(signal: 'traces' | 'logs', traces: readonly (number | null)[], bytes: number) {
  const records = traces.map((trace, index) => ({
    ...(trace === null ? {} : { traceId: hex16(trace) }),
    spanId: hex8(index + 1),
    name: 'x'.repeat(bytes),
    eventName: 'x'.repeat(bytes),
  }));
  const lists =
    signal === 'traces'
      ? { resourceSpans: [{ scopeSpans: [{ spans: records }] }] }
      : { resourceLogs: [{ scopeLogs: [{ logRecords: records }] }] };
  return JSON.stringify(lists);
}

/** The span ids of the records of each run, by the places. */
async function placedRecords(signal: Signal): Promise<Map<string, string[]>> {
  const placed = new Map<string, string[]>();
  for (const block of await storedBlocks(scratch.database, signal)) {
    const records = (await linesOf(block)).flatMap(({ text }) => {
      const [list] = Object.values(JSON.parse(text)) as { [scopes: string]: object[] }[][];
      return (list ?? []).flatMap(({ scopeSpans, scopeLogs }) =>
        (scopeSpans ?? scopeLogs ?? []).flatMap((scope) => Object.values(scope)[0] as object[]),
      );
    });
    expect(records).toHaveLength(block.records);
    const { rows } = await scratch.database.query<{ run: string; records: Buffer }>(
      `SELECT replace(run_id::text, '-', '') AS run, records FROM hot_places WHERE block_id = $1`,
      [block.id],
    );
    for (const { run, records: ranges } of rows) {
      const bounds = decodeRanges(ranges);
      for (let at = 0; at < bounds.length; at += 2) {
        for (const record of records.slice(bounds[at], bounds[at + 1])) {
          const { traceId, spanId } = record as { traceId: string; spanId: string };
          expect(traceId).toBe(run);
          placed.set(run, [...(placed.get(run) ?? []), spanId]);
        }
      }
    }
  }
  return placed;
}

test.each(['traces', 'logs'] as const)(
  'places name the records of each run: %s',
  async (signal) => {
    const untraced = signal === 'logs' ? null : 7;
    // Interleaved, in several lines and blocks, from two requests; some records have no run.
    const first = [1, 1, 2, untraced, 2, 1, 3, untraced, untraced, ...Array(60).fill(2), 3, 1];
    const second = [2, 3, untraced, 3];
    await store([
      encode(tracesBody(signal, first, 10_000), 1, NOON_MS, signal),
      encode(tracesBody(signal, second, 10), 1, NOON_MS, signal),
    ]);
    expect((await storedBlocks(scratch.database, signal)).length).toBeGreaterThan(2);
    const placed = await placedRecords(signal);
    const idsOf = (trace: number): string[] =>
      [first, second].flatMap((traces) =>
        traces.flatMap((one, index) => (one === trace ? [hex8(index + 1)] : [])),
      );
    for (const trace of signal === 'logs' ? [1, 2, 3] : [1, 2, 3, 7]) {
      expect(placed.get(hex16(trace))).toEqual(idsOf(trace));
      placed.delete(hex16(trace));
    }
    expect(placed).toEqual(new Map());
  },
);
