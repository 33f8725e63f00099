/**
 * How long does a small run of a quiet workspace wait for its evaluation, alone and while another
 * workspace has many or long runs? A real server with one match thread. All runs are stored first,
 * with a settle time of an hour; a run becomes due when its arrival is set back by that hour. Waits
 * are measured by PostgreSQL's clock.
 *
 *   fill ──► noisy runs due, and begun ──► quiet runs due, one after the other ──► what each waited
 */
import { createHash } from 'node:crypto';
import pg from 'pg';

import { loadManifest, verifyCorpus } from '../../src/engine/corpus/corpus.ts';
import { corpusPackageDir, MANIFEST_PATH } from '../../src/main/corpus-location.ts';
import { emptyTables } from '../empty-tables.ts';
import { log, median, pause, VoidRun } from '../harness.ts';
import { sendAll } from '../load.ts';
import { type MachineFacts, machineFacts } from '../machine.ts';
import { textKinds } from '../match/texts.ts';
import { startServer } from '../server-under-test.ts';
import { analyzeRecords } from '../stored-records.ts';
import { addWorkspace } from './workspaces.ts';

const SETTLE_MS = 3_600_000;
const LOOK_EVERY_MS = 50;
/** A quiet run that waits longer than this is given up. */
const WAIT_MAX_MS = 15 * 60_000;
const CONNECTIONS = 4;
const SPANS_PER_BODY = 100;
/** Below the cap per surface and step, so all of it is matched. */
const TEXT_CHARS = 60_000;
const START_UNIX_NANO = 1_795_000_000_000_000_000n;
const BACKLOG_RUNS = 100_000;
/** Runs of the backlog whose bodies are in memory at a time. */
const RUNS_PER_LOAD = 10_000;

export interface FairnessPassOptions {
  readonly runs: number;
}

/** How long the quiet runs of one scene waited. */
export interface FairnessScene {
  readonly name: string;
  /** time from due to evaluated, of each quiet run */
  readonly waitedMs: readonly number[];
  readonly medianMs: number;
  readonly mostMs: number;
  /** the noisy runs that took long */
  readonly noisy: readonly NoisyRun[];
}

export interface NoisyRun {
  readonly seconds: number | null;
  readonly attempts: number;
  readonly evaluation: string;
  readonly steps: number | null;
  readonly unreadSteps: number | null;
}

export interface FairnessPassResult extends FairnessPassOptions {
  readonly name: 'fairness-pass';
  readonly machine: MachineFacts;
  readonly scenes: readonly FairnessScene[];
}

type Send = (bodies: readonly Buffer[]) => Promise<void>;

interface Bench {
  readonly client: pg.Client;
  /** as the noisy workspace, and as the quiet one */
  readonly send: Send;
  readonly sendQuiet: Send;
  readonly textOf: (step: number) => string;
  readonly options: FairnessPassOptions;
}

const idOf = (what: string, digits: number): string =>
  createHash('sha256').update(what).digest('hex').slice(0, digits);

/** A tool call of a run; the first one has no parent. */
function spanOf(run: string, place: number, name: string, text: string) {
  const start = START_UNIX_NANO + BigInt(place) * 1000n;
  return {
    traceId: idOf(run, 32),
    spanId: idOf(`${run} ${place}`, 16),
    ...(place === 0 ? {} : { parentSpanId: idOf(`${run} 0`, 16) }),
    name,
    kind: 1,
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(start + 500n),
    attributes: Object.entries({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'lookup',
      'gen_ai.tool.call.result': text,
    }).map(([key, value]) => ({ key, value: { stringValue: value } })),
  };
}

function bodyOf(spans: readonly ReturnType<typeof spanOf>[]): Buffer {
  const scopeSpans = [{ scope: { name: 'bench' }, spans }];
  return Buffer.from(JSON.stringify({ resourceSpans: [{ resource: {}, scopeSpans }] }));
}

/** A run whose text has many matches and near misses, and is slow to match. */
function* largeRun(name: string, bytes: number, textOf: Bench['textOf']): Generator<Buffer> {
  const steps = Math.ceil(bytes / TEXT_CHARS);
  for (let first = 0; first < steps; first += SPANS_PER_BODY) {
    const spans = Array.from({ length: Math.min(SPANS_PER_BODY, steps - first) }, (_, index) =>
      spanOf(name, first + index, `execute_tool ${first + index}`, textOf(first + index)),
    );
    yield bodyOf(spans);
  }
}

const smallRun = (name: string) =>
  spanOf(
    name,
    0,
    'execute_tool lookup',
    'Your parcel 4471 arrives on Tuesday between nine and eleven.',
  );

async function fillQuiet({ client, sendQuiet, options }: Bench): Promise<string[]> {
  await emptyTables(client);
  const names = Array.from({ length: options.runs }, (_, index) => `quiet ${index}`);
  await sendQuiet(names.map((name) => bodyOf([smallRun(name)])));
  return names.map((name) => idOf(name, 32));
}

async function fillBacklog({ send }: Bench, count: number): Promise<void> {
  for (let first = 0; first < count; first += RUNS_PER_LOAD) {
    const bodies = Array.from({ length: RUNS_PER_LOAD / SPANS_PER_BODY }, (_, body) =>
      bodyOf(
        Array.from({ length: SPANS_PER_BODY }, (__, run) =>
          smallRun(`backlog ${first + body * SPANS_PER_BODY + run}`),
        ),
      ),
    );
    await send(bodies);
  }
}

async function makeDue({ client }: Bench, condition: string, values: unknown[]): Promise<void> {
  await client.query(
    `UPDATE runs SET last_arrival_at = clock_timestamp() - interval '${SETTLE_MS} milliseconds'
      WHERE ${condition}`,
    values,
  );
}

async function waitUntil(bench: Bench, question: string, values: unknown[]): Promise<boolean> {
  const until = performance.now() + WAIT_MAX_MS;
  while (performance.now() < until) {
    const { rows } = await bench.client.query<{ yes: boolean }>(
      `SELECT ${question} AS yes`,
      values,
    );
    if (rows[0]?.yes === true) return true;
    await pause(LOOK_EVERY_MS);
  }
  return false;
}

/** @returns milliseconds from being due to being evaluated */
async function waitedFor(bench: Bench, runId: string): Promise<number> {
  await makeDue(bench, 'run_id = $1', [runId]);
  const isOver = `EXISTS (SELECT FROM runs WHERE run_id = $1 AND evaluation <> 'pending')`;
  if (!(await waitUntil(bench, isOver, [runId]))) return Number.POSITIVE_INFINITY;
  const { rows } = await bench.client.query<{ ms: number; attempts: number; evaluation: string }>(
    `SELECT extract(epoch FROM evaluated_at - last_arrival_at)::float8 * 1000 - $2 AS ms, attempts,
            evaluation FROM runs WHERE run_id = $1`,
    [runId, SETTLE_MS],
  );
  const [row] = rows;
  if (row?.evaluation !== 'evaluated' || row.attempts !== 1) {
    throw new VoidRun(`a quiet run ended as ${JSON.stringify(row)}`);
  }
  return Math.round(row.ms);
}

/** @param noise stores the noisy runs and returns how to distinguish them from quiet ones */
async function measureScene(
  bench: Bench,
  name: string,
  noise: (() => Promise<void>) | null,
): Promise<FairnessScene> {
  const quiet = await fillQuiet(bench);
  await noise?.();
  await bench.client.query('VACUUM (ANALYZE) runs');
  await analyzeRecords(bench.client);
  if (noise !== null) {
    await makeDue(bench, 'workspace_id = 1', []);
    const begun = 'EXISTS (SELECT FROM leases WHERE workspace_id = 1)';
    await waitUntil(bench, begun, []);
  }
  const waitedMs: number[] = [];
  for (const runId of quiet) waitedMs.push(await waitedFor(bench, runId));
  log(`${name}: ${waitedMs.join(' ')} ms`);
  const noisy = await noisyRuns(bench);
  // Running evaluations are cancelled, so that the next scene starts with an idle pass.
  await emptyTables(bench.client);
  return { name, waitedMs, medianMs: median(waitedMs), mostMs: Math.max(...waitedMs), noisy };
}

async function noisyRuns(bench: Bench): Promise<NoisyRun[]> {
  const own = 'workspace_id = 1 AND spans > 1';
  await waitUntil(
    bench,
    `NOT EXISTS (SELECT FROM runs WHERE ${own} AND evaluation = 'pending')`,
    [],
  );
  const { rows } = await bench.client.query<NoisyRun>(
    `SELECT round((extract(epoch FROM evaluated_at - last_arrival_at) - $1::int / 1000)::numeric, 1)::float8
              AS seconds, attempts, evaluation, evaluated_steps AS steps,
            coalesce(unread_steps, 0) AS "unreadSteps" FROM runs WHERE ${own}`,
    [SETTLE_MS],
  );
  return rows;
}

export async function fairnessPass(options: FairnessPassOptions): Promise<FairnessPassResult> {
  const machine = machineFacts();
  const corpus = verifyCorpus(corpusPackageDir(), loadManifest(MANIFEST_PATH));
  const attacks = textKinds(corpus).filter(({ name }) => name === 'attack mixture, 20 KB');
  const all = attacks.flatMap(({ texts }) => texts).join('\n');
  const textOf = (step: number): string =>
    `${step} ${all.slice((step * 7919) % (all.length - TEXT_CHARS)).slice(0, TEXT_CHARS - 10)}`;
  const server = await startServer({
    RUN_SETTLE_MS: String(SETTLE_MS),
    PASS_INTERVAL_MS: '250',
    MATCH_THREADS: '1',
  });
  const client = new pg.Client({ connectionString: server.databaseUrl });
  const url = new URL('/v1/traces', server.observeUrl);
  try {
    await client.connect();
    const sendAs =
      (key: string): Send =>
      async (bodies) => {
        await sendAll(url, key, bodies, CONNECTIONS);
      };
    const { key } = await addWorkspace(client, 'quiet');
    const [send, sendQuiet] = [sendAs(server.agentKey), sendAs(key)];
    const bench: Bench = { client, send, sendQuiet, textOf, options };
    const large = (count: number, bytes: number) => async (): Promise<void> => {
      for (let number = 0; number < count; number += 1) {
        for (const body of largeRun(`large ${number}`, bytes, textOf)) await send([body]);
      }
    };
    const scenes = [
      // Warm-up: compiles the patterns for these texts.
      await measureScene(bench, 'warm-up', large(1, 1e6)),
      await measureScene(bench, 'alone', null),
      await measureScene(bench, 'beside a run of 6.5 MB', large(1, 6.5e6)),
      await measureScene(bench, 'beside five runs of 6.5 MB', large(5, 6.5e6)),
      await measureScene(bench, 'beside a run of 66 MB', large(1, 66e6)),
      await measureScene(bench, 'beside a backlog of 100,000 runs', () =>
        fillBacklog(bench, BACKLOG_RUNS),
      ),
    ];
    return { name: 'fairness-pass', machine, ...options, scenes: scenes.slice(1) };
  } finally {
    await client.end();
    await server.close();
  }
}
