/**
 * How long does a preview take, and how much does it slow down ingest? A real server on its own
 * database; runs are sent over OTLP/HTTP, marked as evaluated, and previewed by a row of the queue.
 * Only prints: the figures are in docs/performance.md with their day and machine.
 */
import pg from 'pg';

import { corpusIdentity, loadManifest } from '../src/engine/corpus/corpus.ts';
import { createRuleBook } from '../src/engine/rules/rule-book.ts';
import { MANIFEST_PATH, pinnedCorpus } from '../src/main/corpus-location.ts';
import { PREVIEW_RUNS_MAX, tierRules } from '../src/model/previews.ts';
import { loadKeptCatalog } from '../src/pool/kept-catalog.ts';
import { traceBody } from './bodies.ts';
import { log, median, pause, VoidRun } from './harness.ts';
import { sendAll } from './load.ts';
import { machineFacts } from './machine.ts';
import { benchRuns } from './pass/runs.ts';
import { startServer } from './server-under-test.ts';

const IDENTITY = corpusIdentity(loadManifest(MANIFEST_PATH));
const SETTLE_MS = 3_600_000;
const WATCH_EVERY_MS = 50;
const ENDS_WITHIN_MS = 240_000;
const CONNECTIONS = 16;
const SPANS_PER_BODY = 100;

export interface PreviewBenchOptions {
  readonly runs: number;
  readonly rounds: number;
  /** trace exports of a hundred spans */
  readonly bodies: number;
}

interface Bench {
  readonly client: pg.Client;
  readonly ruleIds: readonly string[];
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

async function untilDone(bench: Bench, runs: number) {
  const until = performance.now() + ENDS_WITHIN_MS;
  for (;;) {
    const seen = await look(bench);
    if (seen.state === 'done') {
      if (seen.read !== runs) throw new VoidRun(`${seen.read} runs read, ${runs} stored`);
      return seen;
    }
    if (performance.now() > until) throw new VoidRun(`not done, ${seen.read} runs read`);
    await pause(WATCH_EVERY_MS);
  }
}

/** The ids of all rules that can run and are experimental. */
function tierIds(): string[] {
  const book = createRuleBook(loadKeptCatalog(pinnedCorpus()));
  return tierRules(book, { experimental: true, overrides: new Map() }).map(({ id }) => id);
}

function lineOf(what: string, runs: number, seconds: number, cpuMs: number): string {
  const minutes = (PREVIEW_RUNS_MAX / (runs / seconds) / 60).toFixed(1);
  return (
    `${what}: ${Math.round(runs / seconds)} runs/s, ${PREVIEW_RUNS_MAX} runs in ${minutes} min; ` +
    `${(cpuMs / runs).toFixed(2)} ms of matching a run`
  );
}

/** Runs the benchmark. */
export async function previewBench({ runs, rounds, bodies }: PreviewBenchOptions): Promise<void> {
  const load = benchRuns(runs);
  const server = await startServer({ RUN_SETTLE_MS: String(SETTLE_MS) });
  const client = new pg.Client({ connectionString: server.databaseUrl });
  await client.connect();
  const url = new URL('/v1/traces', server.observeUrl);
  const send = (all: readonly Buffer[]) => sendAll(url, server.agentKey, all, CONNECTIONS);
  const bench = { client, ruleIds: tierIds() };
  const traces = Array.from({ length: bodies }, (_, seed) => traceBody(seed + 1, SPANS_PER_BODY));
  const fill = async (): Promise<void> => {
    await client.query('TRUNCATE spans, runs, receipts, rule_previews CASCADE');
    await send(load.bodies);
    await client.query(`UPDATE runs SET evaluation = 'evaluated'`);
    await client.query('VACUUM (ANALYZE) runs, spans');
  };
  const ingest = async (isBeside: boolean): Promise<number> => {
    await fill();
    if (isBeside) {
      await begin(bench, bench.ruleIds);
      while ((await look(bench)).state !== 'running') await pause(WATCH_EVERY_MS);
    }
    const { acknowledged, seconds } = await send(traces);
    if (isBeside && (await look(bench)).state === 'done') {
      throw new VoidRun('the preview ended before ingest: more --runs');
    }
    return (acknowledged * SPANS_PER_BODY) / seconds;
  };
  try {
    log(JSON.stringify(machineFacts()));
    await fill();
    for (let round = 0; round < rounds; round += 1) {
      await begin(bench, bench.ruleIds);
      const tier = await untilDone(bench, runs);
      log(lineOf('experimental tier', runs, tier.seconds, tier.cpuMs));
      await begin(bench, bench.ruleIds.slice(0, 1));
      const one = await untilDone(bench, runs);
      log(lineOf('one rule', runs, one.seconds, one.cpuMs));
    }
    const [alone, beside]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      for (const isBeside of round % 2 === 0 ? [false, true] : [true, false]) {
        const rate = await ingest(isBeside);
        (isBeside ? beside : alone).push(rate);
        log(`ingest ${isBeside ? 'beside a preview' : 'alone'}: ${Math.round(rate)} spans/s`);
      }
    }
    log(`ingest beside a preview, share of alone: ${(median(beside) / median(alone)).toFixed(3)}`);
  } finally {
    await client.end();
    await server.close();
  }
}
