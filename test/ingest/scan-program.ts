/** Decodes bodies of spans and log records as a thread that takes requests; writes how many as JSON. */

import { traceBody } from '../../bench/bodies.ts';
import { logBody } from '../../bench/signal-bodies.ts';
import { RowEncoder } from '../../src/ingest/row-encoder.ts';
import { toEnd } from '../../src/otlp/pieces.ts';

const failures: string[] = [];
const encoder = new RowEncoder('local', (error) => failures.push(String(error)));
const rowsOf = (signal: 'traces' | 'logs', body: Buffer): number | undefined =>
  toEnd(encoder.scan(signal, body, 1, 0))?.encoded.rows;
const rows = [
  rowsOf('traces', traceBody(1, 5)),
  rowsOf('traces', traceBody(2, 5)),
  rowsOf('logs', logBody(1, 5)),
];
process.stdout.write(JSON.stringify({ rows, failures }));
