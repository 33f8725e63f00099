/** Rows that are distributed by run: each names one, and both ways of decoding name the same. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { LogRuns } from '../../src/db/telemetry/log-runs.ts';
import { PlainEncoder } from '../../src/ingest/plain-encoder.ts';
import { RowEncoder } from '../../src/ingest/row-encoder.ts';
import { LOG_COLUMNS, SPAN_COLUMNS } from '../../src/model/columns.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { toEnd } from '../../src/otlp/pieces.ts';
import { NOON_MS } from '../support/rows.ts';

const TRACE = 'ab'.repeat(16);
const scanner = new RowEncoder('distributed');
const encoder = new PlainEncoder('distributed');

/** The chunk of the only table, by both ways. */
function bothWays(signal: Signal, body: Buffer): Buffer[] {
  const context = { workspaceId: 1, arrivedAtMs: NOON_MS, logRuns: new LogRuns() };
  const scanned = toEnd(scanner.scan(signal, body, 1, NOON_MS));
  const plain = encoder.decode(signal, body, context);
  const results = [scanned, plain.ok ? plain.request : null];
  return results.map((one) => Buffer.from([...(one?.encoded.chunks.values() ?? [])][0] ?? []));
}

/** The run of the first row of a chunk, in hexadecimal. */
function runIn(chunk: Buffer, columns: object): string | undefined {
  let at = 2;
  for (const name of Object.keys(columns)) {
    const length = chunk.readInt32BE(at);
    at += 4;
    if (name === 'run_id') return length === -1 ? 'null' : chunk.toString('hex', at, at + length);
    at += Math.max(0, length);
  }
  return undefined;
}

const spans = (traceId: string) =>
  Buffer.from(
    JSON.stringify({
      resourceSpans: [
        {
          scopeSpans: [
            {
              spans: [
                { traceId, spanId: 'cd'.repeat(8), startTimeUnixNano: '1', endTimeUnixNano: '2' },
              ],
            },
          ],
        },
      ],
    }),
  );
const logs = (record: object) =>
  Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }));

describe('the run of a row that is distributed', () => {
  test('of a span is its trace', () => {
    const [scanned = Buffer.of(), plain] = bothWays('traces', spans(TRACE));
    expect(runIn(scanned, SPAN_COLUMNS)).toBe(TRACE);
    expect(scanned).toEqual(plain);
  });

  test('of a log record is its trace', () => {
    const [scanned = Buffer.of(), plain] = bothWays('logs', logs({ traceId: TRACE }));
    expect(runIn(scanned, LOG_COLUMNS)).toBe(TRACE);
    expect(scanned).toEqual(plain);
  });

  test('of a log record without a trace is made of its times', () => {
    const nanos = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(nanos, nanos, (time, observed) => {
        const record = { timeUnixNano: `${time}`, observedTimeUnixNano: `${observed}` };
        const [scanned = Buffer.of(), plain] = bothWays('logs', logs(record));
        const expected = [time, observed].map((one) => one.toString(16).padStart(16, '0')).join('');
        expect(runIn(scanned, LOG_COLUMNS)).toBe(expected);
        expect(scanned).toEqual(plain);
      }),
    );
  });
});
