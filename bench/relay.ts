/**
 * What does the relay cost? The same exports in turn: in JSON to the server, and in protobuf through a
 * relay to the same server. CPU time is that of the whole process, of the relay and of the server.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

import type { JsonObject } from '../src/model/json.ts';
import { encodeProtobuf } from '../test/relay/otlp-protobuf.ts';
import { type RelayProcess, startRelay } from '../test/support/server.ts';
import { traceBody } from './bodies.ts';
import { emptyTables } from './empty-tables.ts';
import { inTurn, median, type Variant, VoidRun } from './harness.ts';
import { cpuSeconds } from './ingest/cpu.ts';
import { sendAll } from './load.ts';
import { type MachineFacts, machineFacts } from './machine.ts';
import { type ServerUnderTest, startServer } from './server-under-test.ts';
import { countRecords } from './stored-records.ts';

const SPANS_PER_BODY = 100;
/** Fewer than the relay sends at once, so that nothing is queued. */
const CONNECTIONS = 8;

export interface RelayBenchOptions {
  readonly rounds: number;
  readonly bodies: number;
}

interface Measured {
  readonly exportsPerSecond: number;
  readonly medianMs: number;
  /** CPU time per span, microseconds */
  readonly serverUs: number;
  /** 0 without the relay */
  readonly relayUs: number;
}

export interface RelayResult {
  readonly name: 'relay';
  readonly machine: MachineFacts;
  readonly rounds: number;
  readonly bodies: number;
  readonly bytesPerSpan: { readonly json: number; readonly protobuf: number };
  readonly variants: readonly { readonly name: string; readonly raw: readonly Measured[] }[];
}

interface Target {
  readonly url: URL;
  readonly bodies: readonly Buffer[];
  readonly contentType: string;
}

async function measure(
  server: ServerUnderTest,
  relay: RelayProcess,
  client: pg.Client,
  { url, bodies, contentType }: Target,
): Promise<Measured> {
  await emptyTables(client);
  await client.query('CHECKPOINT');
  const before = { server: cpuSeconds(server.pid), relay: cpuSeconds(relay.pid) };
  const sent = await sendAll(url, server.agentKey, bodies, CONNECTIONS, contentType);
  const spans = bodies.length * SPANS_PER_BODY;
  const perSpan = (pid: number, secondsBefore: number): number =>
    ((cpuSeconds(pid) - secondsBefore) * 1e6) / spans;
  const stored = await countRecords(client, 'traces');
  if (stored !== spans) throw new VoidRun(`${stored} spans stored, ${spans} acknowledged`);
  return {
    exportsPerSecond: sent.acknowledged / sent.seconds,
    medianMs: median(sent.latenciesMs),
    serverUs: perSpan(server.pid, before.server),
    relayUs: perSpan(relay.pid, before.relay),
  };
}

export async function relayBench({ rounds, bodies }: RelayBenchOptions): Promise<RelayResult> {
  const machine = machineFacts();
  const json = Array.from({ length: bodies }, (_, seed) => traceBody(seed, SPANS_PER_BODY));
  const protobuf = json.map((body) =>
    encodeProtobuf('traces', JSON.parse(body.toString()) as JsonObject),
  );
  const queue = mkdtempSync(join(tmpdir(), 'sluice-bench-relay-'));
  const server = await startServer();
  const settings = { SLUICE_URL: server.observeUrl, SLUICE_API_KEY: server.agentKey };
  const relay = await startRelay(['--queue-dir', queue], { ...settings, LOG_LEVEL: 'warn' });
  const client = new pg.Client({ connectionString: server.databaseUrl });
  try {
    await client.connect();
    const to = (target: Target) => () => measure(server, relay, client, target);
    const direct = { url: new URL('/v1/traces', server.observeUrl), bodies: json };
    const through = { url: new URL('/v1/traces', relay.url), bodies: protobuf };
    const variants: Variant<Measured>[] = [
      { name: 'JSON, directly', measure: to({ ...direct, contentType: 'application/json' }) },
      {
        name: 'protobuf, through the relay',
        measure: to({ ...through, contentType: 'application/x-protobuf' }),
      },
    ];
    // The first round includes code that V8 has not compiled yet.
    for (const variant of variants) await variant.measure(0);
    const lineOf = (name: string, { exportsPerSecond }: Measured): string =>
      `${name}: ${exportsPerSecond.toFixed(0)} exports/s`;
    const bytesOf = (all: readonly Buffer[]): number =>
      Math.round(all.reduce((sum, { length }) => sum + length, 0) / bodies / SPANS_PER_BODY);
    return {
      name: 'relay',
      machine,
      rounds,
      bodies,
      bytesPerSpan: { json: bytesOf(json), protobuf: bytesOf(protobuf) },
      variants: await inTurn(variants, rounds, lineOf),
    };
  } finally {
    await client.end();
    await relay.end('SIGTERM');
    await server.close();
    rmSync(queue, { recursive: true, force: true });
  }
}
