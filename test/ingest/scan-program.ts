/** Scans bodies of spans and log records as a thread that takes requests; writes how many as JSON. */

import { traceBody } from '../../bench/bodies.ts';
import { logBody } from '../../bench/signal-bodies.ts';
import { RequestChecker } from '../../src/ingest/request-checker.ts';
import { toEnd } from '../../src/otlp/pieces.ts';

const failures: string[] = [];
const checker = new RequestChecker((error) => failures.push(String(error)));
const scan = (signal: 'traces' | 'logs', body: Buffer): number | null =>
  toEnd(checker.scan(signal, body, 1, 0))?.encoded.records ?? null;
const records = [
  scan('traces', traceBody(1, 5)),
  scan('traces', traceBody(2, 5)),
  scan('logs', logBody(1, 5)),
];
process.stdout.write(JSON.stringify({ records, failures }));
