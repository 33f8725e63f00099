/**
 * Measures what a Citus cluster costs: the same load, in turn, into plain databases and distributed ones of one
 * cluster, whose nodes run on this machine. CPU time is that of all nodes.
 */
import { citusUrl, createOnCluster, dropFromCluster, prepare, run } from '../test/support/citus.ts';
import { inTurn, median, VoidRun } from './harness.ts';
import { cpuSeconds, familyCpuSeconds } from './ingest/cpu.ts';
import type { LoadPlan, LoadResult } from './ingest/load-plan.ts';
import { LoadProcess } from './load-process.ts';
import { startServer } from './server-under-test.ts';
import { countRecords } from './stored-records.ts';

const CONNECTIONS = 32;
const GENERATOR = new URL('ingest/generator-process.ts', import.meta.url);

export interface CitusBenchOptions {
  readonly rounds: number;
  readonly seconds: number;
  /** spans in a body */
  readonly spans: number;
}

/** Microseconds of CPU time per span. */
interface Costs {
  readonly server: number;
  readonly coordinator: number;
  readonly workers: number;
}

/** The first processes of the nodes, the coordinator's first. */
async function postmasters(url: string): Promise<readonly number[]> {
  const readPid = "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)";
  return await run(url, async (client) => {
    const own = await client.query<{ pid: string }>(`${readPid} AS pid`);
    const others = await client.query<{ pid: string }>(
      'SELECT result AS pid FROM run_command_on_workers($1)',
      [readPid],
    );
    return [...own.rows, ...others.rows].map(({ pid }) => Number(pid));
  });
}

/**
 * Creates a database with the whole schema.
 *
 * @param shards of telemetry; null: a plain database, without the extension
 * @returns its URL
 */
async function create(url: string, name: string, shards: number | null): Promise<string> {
  if (shards !== null) await createOnCluster(url, name, false);
  else await run(url, (client) => client.query(`CREATE DATABASE ${name}`));
  const own = new URL(url);
  own.pathname = `/${name}`;
  await prepare(own.href, shards);
  return own.href;
}

/** Stores spans for so long in a new database. @throws {VoidRun} when others are stored than acknowledged */
async function measure(
  url: string,
  shards: number | null,
  { seconds, spans }: CitusBenchOptions,
): Promise<Costs> {
  const name = `bench_${process.pid}`;
  const generator = new LoadProcess<LoadPlan, LoadResult>(GENERATOR);
  try {
    const database = await create(url, name, shards);
    const server = await startServer({ DATABASE_URL: database });
    try {
      const nodes = await postmasters(url);
      const soFar = (): number[] => [cpuSeconds(server.pid), ...nodes.map(familyCpuSeconds)];
      await generator.prepare({
        kind: { signal: 'traces', rows: spans, gzip: false },
        url: `${server.observeUrl}/v1/traces`,
        key: server.agentKey,
        connections: CONNECTIONS,
        pace: { type: 'while', seconds },
      });
      const before = soFar();
      const { rows } = await generator.send();
      const after = soFar();
      const stored = await run(database, (client) => countRecords(client, 'traces'));
      if (stored !== rows) throw new VoidRun(`${stored} records stored, ${rows} acknowledged`);
      const [own = 0, coordinator = 0, ...workers] = after.map(
        (total, index) => ((total - (before[index] ?? 0)) / rows) * 1e6,
      );
      return { server: own, coordinator, workers: workers.reduce((sum, one) => sum + one, 0) };
    } finally {
      await server.close();
    }
  } finally {
    await generator.close();
    await dropFromCluster(url, name);
  }
}

const oneDecimal = (value: number): string => value.toFixed(1);

export async function citusBench(options: CitusBenchOptions): Promise<string> {
  const url = citusUrl;
  if (url === null) throw new Error('CITUS_DATABASE_URL names no database of a coordinator');
  const variants = [null, 2, 4, 16].map((shards) => ({
    name: shards === null ? 'plain PostgreSQL' : `${shards} shards`,
    measure: () => measure(url, shards, options),
  }));
  const results = await inTurn(variants, options.rounds, (name, costs) => {
    const { server, coordinator, workers } = costs;
    return `${name}: ${[server, coordinator, workers].map(oneDecimal).join(' + ')} µs per span`;
  });
  const rows = results.map(({ name, raw }) => {
    const of = (pick: (costs: Costs) => number): number => median(raw.map(pick));
    const [server, coordinator, workers] = [
      of((costs) => costs.server),
      of((costs) => costs.coordinator),
      of((costs) => costs.workers),
    ];
    return { name, server, coordinator, workers, postgres: coordinator + workers };
  });
  const plain = rows[0] ?? { postgres: Number.NaN, server: 0 };
  const lines = rows.map(({ name, server, coordinator, workers, postgres }) => {
    const figures = [server, coordinator, workers, postgres].map(oneDecimal);
    const ratios = [
      postgres / plain.postgres,
      (server + postgres) / (plain.server + plain.postgres),
    ];
    return `| ${[name, ...figures, ...ratios.map((one) => one.toFixed(2))].join(' | ')} |`;
  });
  return [
    '| | Sluice | coordinator | workers | PostgreSQL in all | against plain | with Sluice |',
    '|---|---:|---:|---:|---:|---:|---:|',
    ...lines,
  ].join('\n');
}
