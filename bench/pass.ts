/**
 * How fast is a pass, and how much does it slow down ingest? A real server on its own database.
 * Runs are sent over OTLP/HTTP and are not due, because they must settle for an hour; they become
 * due when their arrival is set back by that hour, so the pass begins together with the
 * measurement.
 *
 *   fill ──► make due ──► watch until nothing is due ──► compare findings
 *   fill ──► ingest alone, or: make due, wait for the first result, ingest beside the pass
 */
import pg from 'pg';

import { RUN_DATA, type RunData } from './agent-runs/data.ts';
import { traceBody } from './bodies.ts';
import { emptyTables } from './empty-tables.ts';
import { inTurn, log, median, pause, VoidRun } from './harness.ts';
import { sendAll } from './load.ts';
import { type MachineFacts, machineFacts } from './machine.ts';
import { agentRuns } from './pass/agent-runs.ts';
import { type BenchRuns, benchRuns, createJudge } from './pass/runs.ts';
import { type ServerUnderTest, startServer } from './server-under-test.ts';
import { analyzeRecords, countRecords } from './stored-records.ts';

const SETTLE_MS = 3_600_000;
const WATCH_EVERY_MS = 100;
/** The pass has stalled when the number of due runs has not changed for this long. */
const STALLED_MS = 60_000;
const CONNECTIONS = 16;
const SPANS_PER_BODY = 100;
/** Runs with which as many agent runs are evaluated as usual. */
export const USUAL_RUNS = 3000;

export interface PassOptions {
  readonly runs: number;
  readonly rounds: number;
  /** trace exports of a hundred spans, sent alone and beside the pass */
  readonly bodies: number;
}

/** What was due at a moment of a pass. */
export interface Sample {
  readonly seconds: number;
  readonly due: number;
  /** how long the oldest due run has been due */
  readonly oldestSeconds: number;
}

export interface PassRound {
  readonly seconds: number;
  readonly runsPerSecond: number;
  readonly megabytesPerSecond: number;
  readonly samples: readonly Sample[];
}

/** Passes over agent runs of one kind. */
export interface AgentRunsPass {
  readonly name: RunData;
  readonly runs: number;
  readonly spans: number;
  readonly findings: number;
  /** of all requests, as JSON */
  readonly bodyMegabytes: number;
  /** of the distinct texts, run by run */
  readonly textMegabytes: number;
  /** of every round */
  readonly seconds: readonly number[];
}

export interface PassResult extends PassOptions {
  readonly name: 'pass';
  readonly machine: MachineFacts;
  readonly matchThreads: string;
  readonly planted: number;
  readonly hit: number;
  readonly findings: number;
  readonly textMegabytes: number;
  readonly pass: readonly PassRound[];
  /** spans per second */
  readonly ingestAlone: readonly number[];
  readonly ingestBeside: readonly number[];
  /** runs per second during ingest */
  readonly passBeside: readonly number[];
  readonly ingestRatio: number;
  /** absent in results from before 2026-11-27 */
  readonly agentRuns?: readonly AgentRunsPass[];
}

/** A server whose pass is measured. */
export interface PassBench {
  readonly server: ServerUnderTest;
  readonly client: pg.Client;
  readonly load: BenchRuns;
}

async function send({ server }: PassBench, bodies: readonly Buffer[]) {
  return await sendAll(
    new URL('/v1/traces', server.observeUrl),
    server.agentKey,
    bodies,
    CONNECTIONS,
  );
}

/** Only the runs to be evaluated are there, all of them, and none is due. */
export async function fill(bench: PassBench): Promise<void> {
  const { client, load } = bench;
  await emptyTables(client);
  await send(bench, load.bodies);
  await client.query('VACUUM (ANALYZE) runs');
  await analyzeRecords(client);
  await client.query('CHECKPOINT');
  const { rows } = await client.query<{ runs: number }>('SELECT count(*)::int AS runs FROM runs');
  const spans = await countRecords(client, 'traces');
  if (rows[0]?.runs !== load.runs || spans !== load.spans) {
    throw new VoidRun(
      `stored ${rows[0]?.runs} runs of ${spans} spans, sent ${load.runs} and ${load.spans}`,
    );
  }
}

/** Everything that is there is due from this moment on. */
export async function makeDue({ client }: PassBench): Promise<void> {
  await client.query(
    `UPDATE runs SET last_arrival_at = now() - make_interval(secs => $1::float8 / 1000)`,
    [SETTLE_MS],
  );
}

async function look({ client }: PassBench) {
  const { rows } = await client.query<{ due: number; done: number; failed: number; old: number }>(
    `SELECT count(*) FILTER (WHERE is_due)::int AS due,
            count(*) FILTER (WHERE evaluation = 'evaluated')::int AS done,
            count(*) FILTER (WHERE attempts > 1 OR last_error IS NOT NULL)::int AS failed,
            coalesce(extract(epoch FROM now() - min(last_arrival_at) FILTER (WHERE is_due)), 0)
              ::float8 - $1::float8 / 1000 AS old
       FROM runs, LATERAL (SELECT evaluation = 'pending' AND last_arrival_at
              <= now() - make_interval(secs => $1::float8 / 1000) AS is_due) AS state`,
    [SETTLE_MS],
  );
  const [seen] = rows;
  if (seen === undefined) throw new Error('no answer');
  if (seen.failed > 0) throw new VoidRun(`${seen.failed} runs needed more than one attempt`);
  return { due: seen.due, done: seen.done, oldestSeconds: Math.max(0, seen.old) };
}

/** Waits until nothing is due. @returns what was due meanwhile */
export async function drain(bench: PassBench): Promise<Sample[]> {
  const startedAt = performance.now();
  const samples: Sample[] = [];
  let changedAt = startedAt;
  for (;;) {
    const { due, oldestSeconds } = await look(bench);
    const now = performance.now();
    if (due !== samples.at(-1)?.due) changedAt = now;
    if (now - changedAt > STALLED_MS) throw new VoidRun(`${due} runs stay due`);
    samples.push({
      seconds: Number(((now - startedAt) / 1000).toFixed(2)),
      due,
      oldestSeconds: due === 0 ? 0 : Number(oldestSeconds.toFixed(2)),
    });
    if (due === 0) return samples;
    await pause(WATCH_EVERY_MS);
  }
}

async function checkFindings({ client, load }: PassBench): Promise<void> {
  const { rows } = await client.query<{ found: string }>(
    `SELECT replace(run_id::text, '-', '') || ', ' || rule_id AS found FROM findings`,
  );
  const found = rows.map((row) => row.found).sort();
  if (JSON.stringify(found) !== JSON.stringify(load.findings)) {
    throw new VoidRun(`${found.length} findings, ${load.findings.length} expected, or others`);
  }
}

/** A pass over all runs, nothing beside it. */
async function measurePass(bench: PassBench): Promise<PassRound> {
  await fill(bench);
  await makeDue(bench);
  const samples = await drain(bench);
  await checkFindings(bench);
  const { rows } = await bench.client.query<{ seconds: number }>(
    `SELECT extract(epoch FROM max(evaluated_at) - min(last_arrival_at))::float8
            - $1::float8 / 1000 AS seconds FROM runs`,
    [SETTLE_MS],
  );
  const seconds = rows[0]?.seconds ?? Number.NaN;
  return {
    seconds: Number(seconds.toFixed(2)),
    runsPerSecond: Math.round(bench.load.runs / seconds),
    megabytesPerSecond: Number((bench.load.textBytes / 1e6 / seconds).toFixed(2)),
    samples,
  };
}

/** @returns spans per second, and runs evaluated per second meanwhile */
async function measureIngest(bench: PassBench, bodies: readonly Buffer[], hasPass: boolean) {
  await fill(bench);
  if (hasPass) {
    await makeDue(bench);
    while ((await look(bench)).done === 0) await pause(WATCH_EVERY_MS / 10);
  }
  const before = await look(bench);
  const { acknowledged, seconds } = await send(bench, bodies);
  const after = await look(bench);
  if (hasPass && after.due === 0) throw new VoidRun('the pass ended before ingest: more --runs');
  const stored = (await countRecords(bench.client, 'traces')) - bench.load.spans;
  const expected = acknowledged * SPANS_PER_BODY;
  if (stored !== expected) throw new VoidRun(`${stored} spans stored, ${expected} acknowledged`);
  if (hasPass) {
    await drain(bench);
    await checkFindings(bench);
  }
  return { spans: stored / seconds, runs: (after.done - before.done) / seconds };
}

/** Passes over agent runs, one kind after the other. */
async function measureAgentRuns(
  bench: PassBench,
  { runs, rounds }: PassOptions,
): Promise<AgentRunsPass[]> {
  const judge = createJudge();
  const measured: AgentRunsPass[] = [];
  for (const name of RUN_DATA) {
    const load = agentRuns(name, Math.min(1, runs / USUAL_RUNS), judge);
    const own = { ...bench, load };
    // Compiles the patterns that these texts need.
    await measurePass(own);
    const seconds: number[] = [];
    for (let round = 0; round < rounds; round += 1) seconds.push((await measurePass(own)).seconds);
    log(`${name}: ${load.runs} runs in ${seconds.join(', ')} s, ${load.findings.length} findings`);
    const bodyBytes = load.bodies.reduce((sum, { length }) => sum + length, 0);
    measured.push({
      name,
      runs: load.runs,
      spans: load.spans,
      findings: load.findings.length,
      bodyMegabytes: Number((bodyBytes / 1e6).toFixed(2)),
      textMegabytes: Number((load.textBytes / 1e6).toFixed(2)),
      seconds,
    });
  }
  return measured;
}

async function measureAll(bench: PassBench, options: PassOptions): Promise<PassResult> {
  const machine = machineFacts();
  const bodies = Array.from({ length: options.bodies }, (_, seed) =>
    traceBody(seed + 1, SPANS_PER_BODY),
  );
  const { planted, hit, findings, textBytes } = bench.load;
  // Compiles the patterns that these texts need, and warms up ingest.
  await measurePass(bench);
  await measureIngest(bench, bodies, false);
  const pass: PassRound[] = [];
  const [ingestAlone, ingestBeside, passBeside]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < options.rounds; round += 1) {
    const one = await measurePass(bench);
    pass.push(one);
    log(`pass: ${one.runsPerSecond} runs/s, ${one.megabytesPerSecond} MB/s`);
    for (const hasPass of round % 2 === 0 ? [false, true] : [true, false]) {
      const { spans, runs } = await measureIngest(bench, bodies, hasPass);
      (hasPass ? ingestBeside : ingestAlone).push(Math.round(spans));
      if (hasPass) passBeside.push(Math.round(runs));
      const beside = hasPass ? `beside a pass of ${Math.round(runs)} runs/s` : 'alone';
      log(`ingest ${beside}: ${Math.round(spans)} spans/s`);
    }
  }
  return {
    name: 'pass',
    machine,
    matchThreads: process.env.MATCH_THREADS ?? 'default',
    ...options,
    planted,
    hit,
    findings: findings.length,
    textMegabytes: Number((textBytes / 1e6).toFixed(2)),
    pass,
    ingestAlone,
    ingestBeside,
    passBeside,
    ingestRatio: Number((median(ingestBeside) / median(ingestAlone)).toFixed(3)),
    agentRuns: await measureAgentRuns(bench, options),
  };
}

/**
 * Starts a server and stops it after `work`.
 *
 * @param root the folder of its checkout, if not this one
 * @param node the Node.js that runs it, if not this one
 */
export async function onPassBench<T>(
  load: BenchRuns,
  work: (bench: PassBench) => Promise<T>,
  root?: string,
  node?: string,
): Promise<T> {
  const settings = { RUN_SETTLE_MS: String(SETTLE_MS), PASS_INTERVAL_MS: '250' };
  const server = await startServer(settings, { root, node });
  const client = new pg.Client({ connectionString: server.databaseUrl });
  try {
    await client.connect();
    return await work({ server, client, load });
  } finally {
    await client.end();
    await server.close();
  }
}

/** Runs the benchmark. */
export async function passBench(options: PassOptions): Promise<PassResult> {
  return await onPassBench(benchRuns(options.runs), (bench) => measureAll(bench, options));
}

/** Compares the pass of this checkout with that of another, in turn. Only prints. */
export async function passBeside(
  other: string,
  { runs, rounds, node }: Pick<PassOptions, 'runs' | 'rounds'> & { node: string | undefined },
): Promise<void> {
  const load = benchRuns(runs);
  const lineOf = (name: string, { runsPerSecond }: PassRound) => `${name}: ${runsPerSecond} runs/s`;
  await onPassBench(load, (here) =>
    onPassBench(
      load,
      async (there) => {
        const variants = [
          { name: 'here', measure: () => measurePass(here) },
          { name: 'there', measure: () => measurePass(there) },
        ];
        for (const { measure } of variants) await measure();
        for (const { name, raw } of await inTurn(variants, rounds, lineOf)) {
          const each = raw.map(({ runsPerSecond }) => runsPerSecond);
          process.stdout.write(`${name}: ${median(each)} runs/s   (${each.join(' ')})\n`);
        }
      },
      other,
      node,
    ),
  );
}
