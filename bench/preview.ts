/**
 * How much CPU time does a preview take, how long is that on one core, and how much of its rate does ingest
 * keep beside one? A real server on its own database; runs are sent over OTLP/HTTP, marked as evaluated,
 * and previewed by a row of the queue.
 *
 *   on all cores, and with server and database on one of them (the load comes from another):
 *     nothing beside it: the experimental tier, one rule ──► runs per second, CPU time
 *     ingest at its full rate for some seconds, in turn: alone, beside a preview
 */
import pg from 'pg';

import { corpusIdentity, loadManifest } from '../src/engine/corpus/corpus.ts';
import { createRuleBook } from '../src/engine/rules/rule-book.ts';
import { MANIFEST_PATH, pinnedCorpus } from '../src/main/corpus-location.ts';
import { tierRules } from '../src/model/previews.ts';
import { loadKeptCatalog } from '../src/pool/kept-catalog.ts';
import { emptyTables } from './empty-tables.ts';
import { log, pause, VoidRun } from './harness.ts';
import { cpuSeconds, familyCpuSeconds, parentOf } from './ingest/cpu.ts';
import type { LoadPlan, LoadResult } from './ingest/load-plan.ts';
import { sendAll } from './load.ts';
import { LoadProcess } from './load-process.ts';
import { type MachineFacts, machineFacts } from './machine.ts';
import { type BenchRuns, benchRuns } from './pass/runs.ts';
import { type ServerUnderTest, startServer } from './server-under-test.ts';

const IDENTITY = corpusIdentity(loadManifest(MANIFEST_PATH));
const SETTLE_MS = 3_600_000;
const WATCH_EVERY_MS = 50;
const ENDS_WITHIN_MS = 240_000;
const FILL_CONNECTIONS = 16;
const CONNECTIONS = 64;
const SPANS_PER_BODY = 100;
/** Where server and database run, when that is one core; the load generator has the others. */
const ONE_CORE = '0';
const GENERATOR = new URL('./ingest/generator-process.ts', import.meta.url);

export interface PreviewBenchOptions {
  readonly runs: number;
  readonly rounds: number;
  readonly seconds: number;
}

export interface PreviewRound {
  readonly runsPerSecond: number;
  /** milliseconds of CPU time a run: the server's process, PostgreSQL's, and matching, which is in the first */
  readonly serverMs: number;
  readonly postgresMs: number;
  readonly matchingMs: number;
}

/** Ingest alone and beside a preview, one after the other. */
export interface IngestPair {
  /** spans per second */
  readonly alone: number;
  readonly beside: number;
  /** runs per second of the preview meanwhile */
  readonly previewed: number;
}

export interface PreviewPlace {
  readonly cores: number;
  readonly tier: readonly PreviewRound[];
  readonly oneRule: readonly PreviewRound[];
  readonly ingest: readonly IngestPair[];
}

export interface PreviewResult extends PreviewBenchOptions {
  readonly name: 'preview';
  readonly machine: MachineFacts;
  readonly rules: number;
  readonly places: readonly PreviewPlace[];
}

interface Bench {
  readonly server: ServerUnderTest;
  readonly client: pg.Client;
  readonly postmaster: number;
  readonly load: BenchRuns;
  readonly tier: readonly string[];
}

async function begin({ client }: Bench, ruleIds: readonly string[]): Promise<void> {
  await client.query('TRUNCATE rule_previews');
  await client.query(
    `INSERT INTO rule_previews (workspace_id, kind, rule_ids, days, requested_by, corpus_version,
                                corpus_identity)
     SELECT workspace_id, 'experimental', $1, 1, 'bench', '-', decode($2, 'hex')
       FROM runs LIMIT 1`,
    [ruleIds, IDENTITY],
  );
}

async function look({ client }: Bench) {
  const { rows } = await client.query<{
    state: string;
    read: number;
    cpuMs: number;
    seconds: number;
    failure: string | null;
  }>(
    `SELECT state, runs_read AS read, cpu_ms AS "cpuMs", failure,
            extract(epoch FROM coalesce(finished_at, now()) - started_at)::float8 AS seconds
       FROM rule_previews`,
  );
  const [seen] = rows;
  if (seen === undefined) throw new VoidRun('the preview is gone');
  if (seen.state === 'failed') throw new VoidRun(`the preview failed: ${seen.failure}`);
  return seen;
}

const cpuOf = ({ server, postmaster }: Bench) =>
  [cpuSeconds(server.pid), familyCpuSeconds(postmaster)] as const;

async function measurePreview(bench: Bench, ruleIds: readonly string[]): Promise<PreviewRound> {
  const { runs } = bench.load;
  const [server, postgres] = cpuOf(bench);
  await begin(bench, ruleIds);
  const until = performance.now() + ENDS_WITHIN_MS;
  let seen = await look(bench);
  while (seen.state !== 'done') {
    if (performance.now() > until) throw new VoidRun(`not done, ${seen.read} runs read`);
    await pause(WATCH_EVERY_MS);
    seen = await look(bench);
  }
  if (seen.read !== runs) throw new VoidRun(`${seen.read} runs read, ${runs} stored`);
  const [serverAfter, postgresAfter] = cpuOf(bench);
  const ms = (seconds: number): number => Number(((seconds * 1000) / runs).toFixed(3));
  return {
    runsPerSecond: Math.round(runs / seen.seconds),
    serverMs: ms(serverAfter - server),
    postgresMs: ms(postgresAfter - postgres),
    matchingMs: ms(seen.cpuMs / 1000),
  };
}

/** Ingest for some seconds. @returns spans per second, and runs of the preview */
async function measureIngest(
  bench: Bench,
  generator: LoadProcess<LoadPlan, LoadResult>,
  plan: LoadPlan,
  isBeside: boolean,
) {
  await generator.prepare(plan);
  if (isBeside) await begin(bench, bench.tier);
  const { rows, seconds } = await generator.send();
  if (!isBeside) return { rate: rows / seconds, previewed: 0 };
  const seen = await look(bench);
  if (seen.state !== 'running') throw new VoidRun(`the preview is ${seen.state}: more --runs`);
  await bench.client.query(`UPDATE rule_previews SET state = 'cancelled', claim = NULL`);
  // Its last batch ends.
  await pause(1000);
  return { rate: rows / seconds, previewed: seen.read / seen.seconds };
}

async function measureIngestPairs(
  bench: Bench,
  { rounds, seconds }: PreviewBenchOptions,
): Promise<IngestPair[]> {
  const generator = new LoadProcess<LoadPlan, LoadResult>(GENERATOR);
  const { observeUrl, agentKey } = bench.server;
  const plan = (forSeconds: number): LoadPlan => ({
    kind: { signal: 'traces', rows: SPANS_PER_BODY, gzip: false },
    url: `${observeUrl}/v1/traces`,
    key: agentKey,
    connections: CONNECTIONS,
    pace: { type: 'while', seconds: forSeconds },
  });
  const pairs: IngestPair[] = [];
  try {
    await measureIngest(bench, generator, plan(2), false);
    for (let round = 0; round < rounds; round += 1) {
      const pair = { alone: 0, beside: 0, previewed: 0 };
      for (const isBeside of round % 2 === 0 ? [false, true] : [true, false]) {
        const { rate, previewed } = await measureIngest(bench, generator, plan(seconds), isBeside);
        pair[isBeside ? 'beside' : 'alone'] = Math.round(rate);
        if (isBeside) pair.previewed = Math.round(previewed);
      }
      log(`ingest: ${pair.alone} spans/s alone, ${pair.beside} beside ${pair.previewed} runs/s`);
      pairs.push(pair);
    }
  } finally {
    await generator.close();
  }
  return pairs;
}

async function fill({ client, server, load }: Bench): Promise<void> {
  await emptyTables(client);
  const url = new URL('/v1/traces', server.observeUrl);
  await sendAll(url, server.agentKey, load.bodies, FILL_CONNECTIONS);
  await client.query(`UPDATE runs SET evaluation = 'evaluated'`);
  await client.query('VACUUM (ANALYZE) runs, spans');
  await client.query('CHECKPOINT');
}

/** The ids of all rules that can run and are experimental. */
function tierIds(): string[] {
  const book = createRuleBook(loadKeptCatalog(pinnedCorpus()));
  return tierRules(book, { experimental: true, overrides: new Map() }).map(({ id }) => id);
}

async function measurePlace(
  load: BenchRuns,
  tier: readonly string[],
  options: PreviewBenchOptions,
  core: string | null,
): Promise<PreviewPlace> {
  const settings = { RUN_SETTLE_MS: String(SETTLE_MS) };
  const server = await startServer(settings, { core });
  const client = new pg.Client({ connectionString: server.databaseUrl });
  try {
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const postmaster = parentOf(rows[0]?.pid ?? 0);
    const bench: Bench = { server, client, postmaster, load, tier };
    await fill(bench);
    const measured = { tier: [] as PreviewRound[], oneRule: [] as PreviewRound[] };
    // Compiles the patterns that these texts need.
    await measurePreview(bench, tier);
    for (let round = 0; round < options.rounds; round += 1) {
      for (const name of ['tier', 'oneRule'] as const) {
        const one = await measurePreview(bench, name === 'tier' ? tier : tier.slice(0, 1));
        log(`${core === null ? 'all cores' : 'one core'}, ${name}: ${JSON.stringify(one)}`);
        measured[name].push(one);
      }
    }
    const ingest = await measureIngestPairs(bench, options);
    return { cores: core === null ? machineFacts().cores : 1, ...measured, ingest };
  } finally {
    await client.end();
    await server.close();
  }
}

export async function previewBench(options: PreviewBenchOptions): Promise<PreviewResult> {
  const machine = machineFacts();
  const load = benchRuns(options.runs);
  const tier = tierIds();
  const places: PreviewPlace[] = [];
  for (const core of [ONE_CORE, null]) {
    places.push(await measurePlace(load, tier, options, core));
  }
  return { name: 'preview', machine, ...options, rules: tier.length, places };
}
