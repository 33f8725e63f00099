/**
 * How fast is ingest beside raw COPY? Sluice end to end (100-span bodies over 16 connections,
 * answered after the commit) against COPY of the very same rows into the very same table, one
 * connection, no server.
 */
import pg from 'pg';

import { traceBody } from './bodies.ts';
import { compare, median, type Result, VoidRun } from './harness.ts';
import { sendAll } from './load.ts';
import { type CopyForm, copyIn, copyOut } from './raw-copy.ts';
import { type ServerUnderTest, startServer } from './server-under-test.ts';

const SPANS_PER_BODY = 100;
const BODIES = 300;
const CONNECTIONS = 16;
const ROUNDS = 5;
const SPANS = BODIES * SPANS_PER_BODY;

async function countSpans(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ count: string }>('SELECT count(*) FROM spans');
  return Number(rows[0]?.count);
}

async function clear(client: pg.Client): Promise<void> {
  await client.query('TRUNCATE spans, runs');
  await client.query('CHECKPOINT');
}

async function measureServer(
  server: ServerUnderTest,
  client: pg.Client,
  bodies: readonly Buffer[],
  latencies: number[],
): Promise<number> {
  const url = new URL('/v1/traces', server.observeUrl);
  const { acknowledged, seconds, latenciesMs } = await sendAll(
    url,
    server.agentKey,
    bodies,
    CONNECTIONS,
  );
  const stored = await countSpans(client);
  if (stored !== acknowledged * SPANS_PER_BODY) {
    throw new VoidRun(`${stored} spans stored, ${acknowledged * SPANS_PER_BODY} acknowledged`);
  }
  latencies.push(...latenciesMs);
  return stored / seconds;
}

async function measureCopy(
  client: pg.Client,
  chunks: readonly Buffer[],
  form: CopyForm,
): Promise<number> {
  const seconds = await copyIn(client, 'spans', chunks, form);
  const stored = await countSpans(client);
  if (stored !== SPANS) throw new VoidRun(`${stored} spans stored, ${SPANS} copied`);
  return SPANS / seconds;
}

function percentiles(latenciesMs: readonly number[]): string {
  const sorted = [...latenciesMs].sort((a, b) => a - b);
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(0);
  return `p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms`;
}

async function compareAll(server: ServerUnderTest, client: pg.Client): Promise<Result> {
  const bodies = Array.from({ length: BODIES }, (_, index) => traceBody(index + 1, SPANS_PER_BODY));
  const kilobytes = Math.round(median(bodies.map(({ length }) => length)) / 1000);
  process.stderr.write(`${BODIES} bodies of ${SPANS_PER_BODY} spans, ${kilobytes} KB each\n`);
  // Warm-up, and the rows that raw COPY then sends.
  await sendAll(new URL('/v1/traces', server.observeUrl), server.agentKey, bodies, CONNECTIONS);
  const text = await copyOut(client, 'SELECT * FROM spans', 'text');
  const binary = await copyOut(client, 'SELECT * FROM spans', 'binary');
  const latencies: number[] = [];
  const fresh = (measure: () => Promise<number>) => async () => {
    await clear(client);
    return await measure();
  };
  const result = await compare(
    {
      name: 'ingest',
      question: 'Spans stored per second: Sluice end to end beside raw COPY of the same rows',
      unit: 'spans/s',
      yardstick: 'raw COPY, text',
      rounds: ROUNDS,
    },
    [
      {
        name: 'Sluice, 16 connections',
        measure: fresh(() => measureServer(server, client, bodies, latencies)),
      },
      { name: 'raw COPY, text', measure: fresh(() => measureCopy(client, text, 'text')) },
      { name: 'raw COPY, binary', measure: fresh(() => measureCopy(client, binary, 'binary')) },
    ],
  );
  process.stderr.write(`time to acknowledgement: ${percentiles(latencies)}\n`);
  return result;
}

/** Runs the benchmark. */
export async function ingest(): Promise<Result> {
  const server = await startServer();
  const client = new pg.Client({ connectionString: server.databaseUrl });
  try {
    await client.connect();
    return await compareAll(server, client);
  } finally {
    await client.end();
    await server.close();
  }
}
