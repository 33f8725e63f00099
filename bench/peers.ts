/**
 * The same spans into Sluice and into what one would build instead, in turn: CPU time, WAL, disk, and
 * what is lost when the server is killed.
 */
import type { ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

import { createDatabase } from '../src/db/database.ts';
import { startEmbedded } from '../src/db/embedded/connect.ts';
import { migrate } from '../src/db/migrate.ts';
import { storedSpans } from '../test/support/stored-blocks.ts';
import { traceBody } from './bodies.ts';
import { inTurn, log, pause } from './harness.ts';
import { lineOf, type Measured, type Series } from './ingest/measured.ts';
import { measureRaw } from './ingest/raw.ts';
import { NAMES } from './ingest/result.ts';
import { onStage, startInsertServer } from './ingest/stage.ts';
import {
  kindOf,
  loadOf,
  PEAK_CONNECTIONS,
  SPANS_PER_BODY,
  yardstickOf,
} from './ingest/throughput.ts';
import { post } from './load.ts';
import { type MachineFacts, machineFacts } from './machine.ts';
import { recordsIn } from './request-records.ts';
import { createRowTables, ROW_TABLES } from './row-tables/tables.ts';
import { startServer } from './server-under-test.ts';

/** A server is killed when it has acknowledged so many bodies of a load, and a few more each time. */
const KILL_AFTER_BODIES = 40;
const KILL_BODIES = 4 * KILL_AFTER_BODIES;
const POLL_MS = 20;

export interface PeersOptions {
  readonly rounds: number;
  readonly bodies: number;
  readonly kills: number;
}

/** How many acknowledged spans of killed servers are missing. */
export interface Killed {
  readonly name: string;
  readonly acknowledged: number;
  readonly lost: number;
}

export interface PeersResult extends PeersOptions {
  readonly name: 'peers';
  readonly machine: MachineFacts;
  readonly series: readonly Series[];
  readonly killed: readonly Killed[];
}

/** A server that may be killed, on a PostgreSQL that survives it. */
interface Victim {
  readonly name: string;
  readonly start: (
    databaseUrl: string,
  ) => Promise<{ pid: number; url: string; key: string; close: () => Promise<void> }>;
  /** the ids of stored spans */
  readonly storedIds: (client: pg.Client) => Promise<Iterable<string>>;
}

const ofSluice: Victim = {
  name: NAMES.sluice,
  start: async (databaseUrl) => {
    const { pid, observeUrl, agentKey, close } = await startServer({ DATABASE_URL: databaseUrl });
    return { pid, url: observeUrl, key: agentKey, close };
  },
  storedIds: async (client) => (await storedSpans(client)).map(({ record }) => record.spanId ?? ''),
};

const ofInsertServer = (name: string, batchMs: number): Victim => ({
  name,
  start: async (databaseUrl) => {
    const database = createDatabase(databaseUrl, 1, { connectionLost: () => {} });
    // The tables of runs are like Sluice's.
    await migrate(database);
    await database.end();
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    await createRowTables(client).finally(() => client.end());
    const children: ChildProcess[] = [];
    const target = await startInsertServer(databaseUrl, batchMs, children);
    return { ...target, key: '', close: async () => {} };
  },
  storedIds: async (client) => {
    const { rows } = await client.query<{ id: string }>(
      `SELECT encode(span_id, 'hex') AS id FROM ${ROW_TABLES.traces.name}`,
    );
    return rows.map(({ id }) => id);
  },
});

/** Sends bodies until the server is gone. @returns the bodies that were acknowledged */
async function sendUntilGone(
  url: string,
  key: string,
  bodies: readonly Buffer[],
  onAcknowledged: (count: number) => void,
): Promise<Buffer[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: PEAK_CONNECTIONS });
  const acknowledged: Buffer[] = [];
  const waiting = bodies.values();
  const sender = async (): Promise<void> => {
    for (const body of waiting) {
      const status = await post(new URL('/v1/traces', url), key, body, agent, 'application/json');
      if (status !== 200) throw new Error(`a request was answered ${status}`);
      acknowledged.push(body);
      onAcknowledged(acknowledged.length);
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: PEAK_CONNECTIONS }, sender));
  agent.destroy();
  if (ended.every(({ status }) => status === 'fulfilled')) {
    throw new Error('the server took all bodies before it was killed');
  }
  return acknowledged;
}

/** Waits until PostgreSQL has ended what the killed server had begun. */
async function untilAlone(client: pg.Client): Promise<void> {
  const isAlone = async (): Promise<boolean> => {
    const { rows } = await client.query(
      `SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
          AND backend_type = 'client backend'`,
    );
    return rows.length === 0;
  };
  while (!(await isAlone())) await pause(POLL_MS);
}

async function killOnce({ name, start, storedIds }: Victim, round: number): Promise<Killed> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  chmodSync(dataDir, 0o755);
  const postgres = await startEmbedded({
    dataDir,
    log: { info: () => {}, warn: log },
    connectionsMax: 100,
  });
  const client = new pg.Client({ connectionString: postgres.url });
  try {
    await client.connect();
    const server = await start(postgres.url);
    const bodies = Array.from({ length: KILL_BODIES }, (_, seed) =>
      traceBody(seed, SPANS_PER_BODY),
    );
    const killAt = KILL_AFTER_BODIES + round * 7;
    const acknowledged = await sendUntilGone(server.url, server.key, bodies, (count) => {
      if (count === killAt) process.kill(server.pid, 'SIGKILL');
    });
    await server.close();
    await untilAlone(client);
    const stored = new Set(await storedIds(client));
    const ids = acknowledged.flatMap((body) =>
      [...recordsIn('traces', JSON.parse(body.toString()))].map(({ record }) => record.spanId),
    );
    const lost = ids.filter((id) => !stored.has(String(id))).length;
    log(`${name} killed: ${ids.length} spans acknowledged, ${lost} lost`);
    return { name, acknowledged: ids.length, lost };
  } finally {
    await client.end();
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function killAll(kills: number): Promise<Killed[]> {
  const victims = [
    ofSluice,
    ofInsertServer(NAMES.perRequest, 0),
    ofInsertServer(NAMES.batched, 10),
  ];
  const killed: Killed[] = [];
  for (const victim of victims) {
    let [acknowledged, lost] = [0, 0];
    for (let round = 0; round < kills; round += 1) {
      const one = await killOnce(victim, round);
      acknowledged += one.acknowledged;
      lost += one.lost;
    }
    killed.push({ name: victim.name, acknowledged, lost });
  }
  return killed;
}

/** Runs the benchmark. */
export async function peersBench(options: PeersOptions): Promise<PeersResult> {
  const { rounds, bodies, kills } = options;
  const machine = machineFacts();
  return await onStage(true, async (stage) => {
    const { sluice, insert } = stage;
    if (insert === null) throw new Error('the other servers were not started');
    const kind = kindOf('traces');
    const { sent, raw } = await yardstickOf(stage, kind, bodies);
    const variants = [
      loadOf(stage, NAMES.sluice, sluice, kind, bodies, sent),
      loadOf(stage, NAMES.perRequest, insert.perRequest, kind, bodies, raw.contents),
      loadOf(stage, NAMES.batched, insert.batched, kind, bodies, raw.contents),
      { name: NAMES.rawOne, measure: (): Promise<Measured> => measureRaw(stage, raw) },
    ];
    // Code that V8 has not compiled yet is not measured.
    for (const { measure } of variants) await measure(0);
    const series = await inTurn(variants, rounds, lineOf);
    return { name: 'peers', machine, ...options, series, killed: await killAll(kills) };
  });
}
