/**
 * What does an evaluated run cost in the table of runs: bytes on the disk, and WAL by stage? Runs of four
 * spans are stored, claimed and completed by the statements of the product, without telemetry and matching,
 * cycle after cycle; between cycles tables are vacuumed when autovacuum would. Only prints.
 *
 *   arrive ──► claim ──► complete ──► (vacuum) ──► arrive …      the first half of the cycles warms up
 */
import { randomBytes } from 'node:crypto';
import pg from 'pg';

import { createDatabase, type DatabasePool } from '../src/db/database.ts';
import { DeletionTurn } from '../src/db/retention/deletion.ts';
import { OutdatedRuns } from '../src/db/retention/outdated-runs.ts';
import { completeRuns } from '../src/db/runs/complete-runs.ts';
import { type ClaimedRun, claimRuns } from '../src/db/runs/evaluation-queue.ts';
import { storeBatch } from '../src/db/telemetry/copy-transaction.ts';
import type { RunDelta } from '../src/db/telemetry/run-delta.ts';
import { NO_USAGE } from '../src/model/usage.ts';
import { log, VoidRun } from './harness.ts';
import { familyCpuSeconds, parentOf } from './ingest/cpu.ts';
import { diskBytes, walBytes } from './ingest/stored-bytes.ts';
import { startServer } from './server-under-test.ts';
import { presentTables } from './stored-records.ts';

const SPANS_PER_RUN = 4;
const RUNS_PER_BATCH = 250;
const RUNS_PER_TASK = 256;
const TASKS_AT_A_TIME = 2;
const RUNS_PER_CYCLE = 2000;
const TABLES = ['runs', 'run_facts', 'leases'];
const HOUR_MS = 3_600_000;
/** Any times take as many bytes. */
const ALLOWANCE = { openMs: HOUR_MS, finishedMs: HOUR_MS };
const CORPUS = { version: '4.0.0', identity: 'c0'.repeat(20) };
const STAGES = ['arrival', 'claim', 'completion', 'upkeep'] as const;
type Stage = (typeof STAGES)[number];

export interface RunRowsOptions {
  readonly cycles: number;
  readonly sessions: boolean;
  readonly titles: boolean;
}

interface Bench extends RunRowsOptions {
  readonly client: pg.Client;
  readonly database: DatabasePool;
  readonly postmaster: number;
}

/** WAL bytes and CPU seconds of PostgreSQL. */
interface Cost {
  wal: number;
  cpu: number;
}

function newRun(number: number): RunDelta {
  const start = 1_795_000_000_000_000_000n + BigInt(number) * 1_000_000n;
  return {
    workspaceId: 1,
    runId: randomBytes(16).toString('hex'),
    spans: SPANS_PER_RUN,
    logRecords: 0,
    startUnixNano: String(start),
    endUnixNano: String(start + 500_000n),
    finished: true,
    failed: false,
    name: 'invoke_agent helpdesk',
    serviceName: 'helpdesk-agent',
    sessionKey: null,
    records: [],
  };
}

async function arrive({ database }: Bench, cycle: number): Promise<void> {
  for (let from = 0; from < RUNS_PER_CYCLE; from += RUNS_PER_BATCH) {
    const runs = Array.from({ length: RUNS_PER_BATCH }, (_, index) =>
      newRun(cycle * RUNS_PER_CYCLE + from + index),
    );
    const request = {
      workspaceId: 1,
      signal: 'traces',
      arrivedAtMs: Date.now(),
      lines: [],
      runs,
      sessionMarks: [],
      records: runs.length * SPANS_PER_RUN,
      bytes: 0,
    } as const;
    const connection = await database.connect();
    try {
      await storeBatch(connection, [request], { allowance: ALLOWANCE, blocks: [] });
    } finally {
      connection.release();
    }
  }
}

async function claim({ database }: Bench): Promise<ClaimedRun[][]> {
  const tasks: ClaimedRun[][] = [];
  while (tasks.length < TASKS_AT_A_TIME) {
    const runs = await claimRuns(database, { settleMs: 0, timeoutMs: 1e9, limit: RUNS_PER_TASK });
    if (runs.length === 0) break;
    tasks.push(runs);
  }
  return tasks;
}

async function complete(
  bench: Bench,
  tasks: readonly ClaimedRun[][],
  cycle: number,
): Promise<number> {
  let done = 0;
  for (const runs of tasks) {
    const evaluated = runs.map((run) => ({
      run,
      facts: {
        state: run.state,
        agentName: null,
        model: 'gpt-4.1-mini',
        sessionId: bench.sessions ? `session-${cycle}-${done % 100}` : null,
        userId: null,
        textGaps: [],
        captureHint: null,
        unreadTexts: 0,
        unreadKeys: [],
        unknownRoles: [],
      },
      findings: [],
      redactExcerpts: false,
      ruleSetSha256: 'ab'.repeat(32),
      steps: SPANS_PER_RUN,
      repeatedSpans: 0,
      unreadSteps: 0,
      texts: 9,
      surfaces: ['step_input', 'tool_args', 'tool_result', 'step_output', 'tool_name'] as const,
      truncatedTexts: 0,
      textCapBytes: 65_536,
      unparsedValues: 0,
      usage: { ...NO_USAGE, inputTokens: 1200, outputTokens: 340 },
      title: bench.titles
        ? `${run.runId.slice(0, 6)}. Where is the parcel that I ordered last week?`
        : null,
      tools: [],
    }));
    const stored = await completeRuns(bench.database, evaluated, CORPUS);
    done += stored.filter((severities) => severities !== null).length;
  }
  return done;
}

/** Vacuums the tables that autovacuum would, by its own condition. */
async function keepUp({ client }: Bench): Promise<void> {
  await client.query('SELECT pg_stat_force_next_flush()');
  const { rows } = await client.query<{ name: string }>(
    `SELECT pg_class.relname AS name
       FROM pg_class JOIN pg_stat_user_tables AS stat ON stat.relid = pg_class.oid, LATERAL (
         SELECT coalesce((SELECT option_value FROM pg_options_to_table(reloptions)
                           WHERE option_name = 'autovacuum_vacuum_threshold')::float8, 50)
              + coalesce((SELECT option_value FROM pg_options_to_table(reloptions)
                           WHERE option_name = 'autovacuum_vacuum_scale_factor')::float8, 0.2)
              * greatest(reltuples, 0) AS dead) AS most
      WHERE pg_class.relname = ANY ($1::text[]) AND n_dead_tup > most.dead`,
    [TABLES],
  );
  for (const { name } of rows) await client.query(`VACUUM (ANALYZE) ${name}`);
}

/** Bytes of every table and index, largest first. */
async function sizesOf(client: pg.Client): Promise<{ name: string; bytes: number }[]> {
  const { rows } = await client.query<{ name: string; bytes: number }>(
    `SELECT relname AS name, pg_relation_size(oid)::float8 AS bytes FROM pg_class
      WHERE oid IN (SELECT unnest($1::text[])::regclass
                    UNION SELECT indexrelid FROM pg_index
                           WHERE indrelid IN (SELECT unnest($1::text[])::regclass))
      ORDER BY 2 DESC`,
    [await presentTables(client, TABLES)],
  );
  return rows;
}

async function measure(bench: Bench): Promise<void> {
  const { client, cycles, postmaster } = bench;
  const costs: Record<Stage, Cost> = {
    arrival: { wal: 0, cpu: 0 },
    claim: { wal: 0, cpu: 0 },
    completion: { wal: 0, cpu: 0 },
    upkeep: { wal: 0, cpu: 0 },
  };
  const tables = await presentTables(client, TABLES);
  let before = 0;
  for (const table of tables) {
    await client.query(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`);
  }
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    const isMeasured = cycle >= cycles / 2;
    if (cycle === Math.ceil(cycles / 2)) before = await diskBytes(client, tables);
    const at = async <T>(stage: Stage, work: () => Promise<T>): Promise<T> => {
      const [wal, cpu] = [await walBytes(client), familyCpuSeconds(postmaster)];
      const result = await work();
      if (isMeasured) {
        costs[stage].wal += (await walBytes(client)) - wal;
        costs[stage].cpu += familyCpuSeconds(postmaster) - cpu;
      }
      return result;
    };
    await at('arrival', () => arrive(bench, cycle));
    let done = 0;
    for (;;) {
      const tasks = await at('claim', () => claim(bench));
      if (tasks.length === 0) break;
      done += await at('completion', () => complete(bench, tasks, cycle));
    }
    if (done !== RUNS_PER_CYCLE) throw new VoidRun(`${done} runs were completed`);
    await at('upkeep', () => keepUp(bench));
  }
  const runs = cycles * RUNS_PER_CYCLE;
  const measured = Math.floor(cycles / 2) * RUNS_PER_CYCLE;
  const sizes = await sizesOf(client);
  for (const { name, bytes } of sizes) log(`${name}: ${(bytes / runs).toFixed(1)} bytes a run`);
  const all = await diskBytes(client, tables);
  log(
    `disk: ${Math.round(all / runs)} bytes a run; the last ${measured}: ${Math.round((all - before) / measured)}`,
  );
  for (const stage of STAGES) {
    const { wal, cpu } = costs[stage];
    log(
      `${stage}: ${Math.round(wal / measured)} bytes of WAL, ${((cpu / measured) * 1e6).toFixed(1)} µs of PostgreSQL's CPU a run`,
    );
  }
  const sum = (stages: readonly Stage[]): number =>
    Math.round(stages.reduce((total, stage) => total + costs[stage].wal, 0) / measured);
  log(`WAL: ${sum(STAGES)} bytes a run, ${sum(['claim', 'completion'])} of them evaluation`);
  await measureDeletion(bench, runs);
}

/** Deletes all runs as retention does, and says how fast. */
async function measureDeletion({ client, database, postmaster }: Bench, runs: number) {
  await client.query('ANALYZE runs');
  const [wal, cpu] = [await walBytes(client), familyCpuSeconds(postmaster)];
  const startedAt = performance.now();
  const turn = new DeletionTurn(database, new AbortController().signal);
  const before = { runs: new Date(Date.now() + HOUR_MS), findings: null };
  const deleted = await new OutdatedRuns().delete(turn, before);
  const seconds = (performance.now() - startedAt) / 1000;
  if (deleted.runs !== runs) throw new VoidRun(`${deleted.runs} runs were deleted`);
  const deletionCpu = familyCpuSeconds(postmaster) - cpu;
  await client.query('VACUUM runs');
  const bytes = Math.round(((await walBytes(client)) - wal) / runs);
  const us = (amount: number): string => ((amount / runs) * 1e6).toFixed(1);
  log(
    `deletion: ${Math.round(runs / seconds)} runs a second, pauses included, ${bytes} bytes of WAL a run,`,
  );
  log(
    `  ${us(deletionCpu)} µs of PostgreSQL's CPU, ${us(familyCpuSeconds(postmaster) - cpu)} with VACUUM`,
  );
}

export async function runRowsBench(options: RunRowsOptions): Promise<void> {
  const server = await startServer({ PASS_INTERVAL_MS: '60000' });
  const client = new pg.Client({ connectionString: server.databaseUrl });
  const database = createDatabase(server.databaseUrl, 1, { connectionLost: () => undefined });
  try {
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await measure({ ...options, client, database, postmaster: parentOf(rows[0]?.pid ?? 0) });
  } finally {
    await database.end();
    await client.end();
    await server.close();
  }
}
