/**
 * All that takes part: Sluice on a database of its own, two of the servers one would build instead
 * on the same database, the load generator; each a process of its own. And how one load is
 * measured:
 *
 *   clear ──► prepare ──► processes' CPU ──► go … done ──► processes' CPU ──► rows counted, compared
 *
 * Rows that differ from what was acknowledged, in number or content, make the run void.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

import type { Signal } from '../../src/model/telemetry.ts';
import { emptyTables } from '../empty-tables.ts';
import { VoidRun } from '../harness.ts';
import { LoadProcess } from '../load-process.ts';
import { createRowTables, emptyRowTables, ROW_TABLES, rowContents } from '../row-tables/tables.ts';
import { type ServerUnderTest, startServer } from '../server-under-test.ts';
import { type Contents, countRecords, storedContents, tablesOf } from '../stored-records.ts';
import { cpuSeconds, familyCpuSeconds, parentOf, residentMb, stolenSeconds } from './cpu.ts';
import type { LoadPlan, LoadResult } from './load-plan.ts';
import type { Measured } from './measured.ts';
import type { BodyKind } from './requests.ts';
import { diskBytes, walBytes } from './stored-bytes.ts';

const INSERT_SERVER = fileURLToPath(new URL('insert-server.ts', import.meta.url));
const GENERATOR = new URL('generator-process.ts', import.meta.url);
const RESIDENT_EVERY_MS = 100;

/** Of Sluice's listener for agents; the other servers have the first of them. */
const PATHS: Readonly<Record<Signal, string>> = {
  traces: '/v1/traces',
  logs: '/v1/logs',
  metrics: '/v1/metrics',
};

/** A server that loads can be sent to. */
export interface Target {
  readonly pid: number;
  readonly url: string;
}

export interface Stage {
  readonly sluice: Target;
  /**
   * Fastify and one INSERT per request, and per ten milliseconds; null where they are not needed
   */
  readonly insert: { readonly perRequest: Target; readonly batched: Target } | null;
  readonly server: ServerUnderTest;
  readonly generator: LoadProcess<LoadPlan, LoadResult>;
  readonly client: pg.Client;
  /** PostgreSQL's first process, the parent of all others */
  readonly postmasterPid: number;
}

export async function startInsertServer(
  databaseUrl: string,
  batchMs: number,
  children: ChildProcess[],
): Promise<Target> {
  const child = fork(INSERT_SERVER, {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, DATABASE_URL: databaseUrl, INSERT_BATCH_MS: String(batchMs) },
  });
  children.push(child);
  const [url] = (await once(child, 'message')) as [string];
  return { pid: child.pid ?? 0, url };
}

/** The server that is started, if it is not this checkout's with the benchmarks' settings. */
interface OtherServer {
  readonly root?: string;
  readonly node?: string;
  readonly settings?: Readonly<Record<string, string>>;
}

/**
 * Starts all servers, runs `work` with them, and stops them in any case.
 *
 * @param hasInsertServers whether the servers for comparison are needed
 */
export async function onStage<T>(
  hasInsertServers: boolean,
  work: (stage: Stage) => Promise<T>,
  { root, node, settings = {} }: OtherServer = {},
): Promise<T> {
  const server = await startServer(settings, { root, node });
  const client = new pg.Client({ connectionString: server.databaseUrl });
  const generator = new LoadProcess<LoadPlan, LoadResult>(GENERATOR);
  const children: ChildProcess[] = [];
  try {
    await client.connect();
    await createRowTables(client);
    const start = (batchMs: number) => startInsertServer(server.databaseUrl, batchMs, children);
    const insert = hasInsertServers
      ? { perRequest: await start(0), batched: await start(10) }
      : null;
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return await work({
      sluice: { pid: server.pid, url: server.observeUrl },
      insert,
      server,
      generator,
      client,
      postmasterPid: parentOf(rows[0]?.pid ?? 0),
    });
  } finally {
    await generator.close();
    for (const child of children) {
      if (child.exitCode !== null) continue;
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    }
    await client.end();
    await server.close();
  }
}

/** Empties all tables, and leaves no work that would run during the next measurement. */
export async function clear({ client }: Stage): Promise<void> {
  await emptyTables(client);
  await emptyRowTables(client);
  await client.query('CHECKPOINT');
}

/** The records or rows that a target has stored; null where only their number is known. */
async function contentsAt(stage: Stage, target: Target, signal: Signal): Promise<Contents | null> {
  const isSluice = target === stage.sluice;
  return isSluice
    ? await storedContents(stage.client, signal)
    : await rowContents(stage.client, ROW_TABLES[signal]);
}

/** @throws {VoidRun} when more, fewer or other records are stored than were acknowledged */
async function verify(
  stage: Stage,
  target: Target,
  { signal }: BodyKind,
  acknowledged: number,
  expected: Contents | null,
): Promise<void> {
  const stored = expected === null ? null : await contentsAt(stage, target, signal);
  if (expected === null || stored === null) {
    const rows = await countRecords(stage.client, signal);
    if (rows === acknowledged) return;
    throw new VoidRun(`${rows} records stored, ${acknowledged} acknowledged`);
  }
  if (stored.rows !== acknowledged || stored.rows !== expected.rows) {
    throw new VoidRun(
      `${stored.rows} records stored, ${acknowledged} acknowledged, ${expected.rows} expected`,
    );
  }
  if (stored.sum !== expected.sum) throw new VoidRun('records of another content are stored');
}

function costsSoFar(
  { postmasterPid }: Stage,
  serverPid: number | null,
  clientPid: number,
): readonly [server: number, postgres: number, client: number] {
  return [
    serverPid === null ? 0 : cpuSeconds(serverPid),
    familyCpuSeconds(postmasterPid),
    cpuSeconds(clientPid),
  ];
}

const rounded = (value: number, decimals: number): number => Number(value.toFixed(decimals));

interface Processes {
  /** null where no server takes part */
  readonly serverPid: number | null;
  readonly clientPid: number;
}

/**
 * Runs some work that stores rows in empty tables; measures CPU time, memory and bytes written.
 *
 * @param tables of the rows
 */
export async function measureWork(
  stage: Stage,
  tables: readonly string[],
  { serverPid, clientPid }: Processes,
  work: () => Promise<Pick<LoadResult, 'rows' | 'bytes' | 'seconds'> & Partial<LoadResult>>,
): Promise<Measured> {
  let resident = 0;
  const watch = setInterval(() => {
    if (serverPid !== null) resident = Math.max(resident, residentMb(serverPid));
  }, RESIDENT_EVERY_MS);
  try {
    const walBefore = await walBytes(stage.client);
    const before = costsSoFar(stage, serverPid, clientPid);
    const stolen = stolenSeconds();
    const { rows, bytes, seconds, latency } = await work();
    const after = costsSoFar(stage, serverPid, clientPid);
    const stolenAfter = stolenSeconds();
    // Not later: counting the rows afterwards writes each page to the WAL once more (hint bits).
    const wal = (await walBytes(stage.client)) - walBefore;
    // Of tables that only grew: a VACUUM would free nothing.
    const disk = await diskBytes(stage.client, tables);
    const perMillion = (place: 0 | 1 | 2): number =>
      rounded(((after[place] - before[place]) / rows) * 1e6, 2);
    return {
      rows,
      seconds: rounded(seconds, 3),
      rowsPerSecond: Math.round(rows / seconds),
      megabytesPerSecond: rounded(bytes / seconds / 1e6, 1),
      cpu: { server: perMillion(0), postgres: perMillion(1), client: perMillion(2) },
      latency: latency ?? null,
      residentMb: resident,
      stolenCores: rounded((stolenAfter - stolen) / seconds, 3),
      stored: { wal: Math.round(wal / rows), disk: Math.round(disk / rows) },
    };
  } finally {
    clearInterval(watch);
  }
}

export interface Load extends Pick<LoadPlan, 'kind' | 'connections' | 'pace'> {
  /** what must be stored afterwards; null where only the number of rows is known */
  readonly expected: Contents | null;
}

/**
 * Sends a load to a server whose tables are empty, and checks what is stored.
 *
 * @param beside runs meanwhile, and is waited for
 */
export async function measureLoad(
  stage: Stage,
  target: Target,
  { kind, connections, pace, expected }: Load,
  beside: (ended: Promise<unknown>) => Promise<void> = async () => {},
): Promise<Measured> {
  await clear(stage);
  const url = new URL(PATHS[kind.signal], target.url).href;
  const { generator, server } = stage;
  await generator.prepare({ kind, connections, pace, url, key: server.agentKey });
  const pids = { serverPid: target.pid, clientPid: generator.pid };
  const tables =
    target === stage.sluice
      ? await tablesOf(stage.client, kind.signal)
      : [ROW_TABLES[kind.signal].name];
  const measured = await measureWork(stage, tables, pids, async () => {
    const load = generator.send();
    const [result] = await Promise.all([load, beside(load.catch(() => {}))]);
    return result;
  });
  await verify(stage, target, kind, measured.rows, expected);
  return measured;
}
