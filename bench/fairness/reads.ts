/**
 * What do one tenant's exports and searches cost the reads of another? A quiet workspace lists and
 * searches its findings, one request after the other, alone and beside a workspace with four exports
 * whose filter matches nothing and thirty parallel searches. All requests come from this process.
 *
 *   fill both ──► each round:  quiet alone ──► exports and searches begin, quiet beside them
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { connectEmbedded } from '../../src/db/embedded/connect.ts';
import { createKey } from '../../src/db/people/keys.ts';
import { createWorkspace } from '../../src/db/people/workspaces.ts';
import { RATE_LIMIT_MAX } from '../../src/model/people.ts';
import { startServer } from '../../test/support/server.ts';
import { fill } from '../dashboard/fill.ts';
import { log, pause, VoidRun } from '../harness.ts';
import { type Latency, latencyOf } from '../ingest/latency.ts';
import { type MachineFacts, machineFacts } from '../machine.ts';

const RUNS = 100_000;
const FINDINGS = 200_000;
const QUIET_FINDINGS = 20_000;
const EXPORTS = 4;
const SEARCHES = 30;
/** Time between the start of the noise and of the measurement beside it. */
const NOISE_FIRST_MS = 3000;
const WARM_UP_SECONDS = 2;

const LIST = '/platform/v1/risk-findings';
const NO_MATCH = 'q=matches%20nothing';
const QUIET_PATHS = [LIST, `${LIST}?severity=critical`, `${LIST}?q=planner-7`, '/platform/v1/runs'];

export interface FairnessReadsOptions {
  readonly rounds: number;
  /** duration of each measurement of the quiet tenant */
  readonly seconds: number;
}

export interface ReadLoad {
  /** milliseconds to a 200, its body read */
  readonly latency: Latency;
  /** answered 503 */
  readonly refused: number;
}

export interface FairnessReadsRound {
  readonly alone: ReadLoad;
  readonly beside: ReadLoad;
  /** beside which the quiet one was measured */
  readonly searches: ReadLoad;
  readonly exports: ReadLoad;
}

export interface FairnessReadsResult extends FairnessReadsOptions {
  readonly name: 'fairness-reads';
  readonly machine: MachineFacts;
  readonly findings: number;
  readonly quietFindings: number;
  readonly exportsAtOnce: number;
  readonly searchesAtOnce: number;
  readonly measured: readonly FairnessReadsRound[];
}

interface Stage {
  readonly baseUrl: string;
  readonly quiet: string;
  readonly noisy: string;
}

/** Sends the paths in turn, one request after the other, until `isOver`. */
async function readInTurn(
  baseUrl: string,
  key: string,
  paths: readonly string[],
  isOver: () => boolean,
): Promise<{ times: number[]; refused: number }> {
  const times: number[] = [];
  let refused = 0;
  for (let sent = 0; !isOver(); sent += 1) {
    const path = paths[sent % paths.length] ?? '';
    const begun = performance.now();
    const response = await fetch(`${baseUrl}${path}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    await response.arrayBuffer();
    if (response.status === 200) times.push(performance.now() - begun);
    else if (response.status === 503) refused += 1;
    else throw new VoidRun(`${path} was answered ${response.status}`);
  }
  return { times, refused };
}

/** So many readers side by side. */
async function readBeside(
  count: number,
  ...args: Parameters<typeof readInTurn>
): Promise<ReadLoad> {
  const all = await Promise.all(Array.from({ length: count }, () => readInTurn(...args)));
  return {
    latency: latencyOf(all.flatMap(({ times }) => times)),
    refused: all.reduce((sum, { refused }) => sum + refused, 0),
  };
}

function forSeconds(seconds: number): () => boolean {
  const endsAt = performance.now() + seconds * 1000;
  return () => performance.now() >= endsAt;
}

async function measureRound(
  { baseUrl, quiet, noisy }: Stage,
  seconds: number,
): Promise<FairnessReadsRound> {
  const alone = await readBeside(1, baseUrl, quiet, QUIET_PATHS, forSeconds(seconds));
  let isOver = false;
  const untilOver = (): boolean => isOver;
  const noise = Promise.all([
    readBeside(SEARCHES, baseUrl, noisy, [`${LIST}?${NO_MATCH}`], untilOver),
    readBeside(EXPORTS, baseUrl, noisy, [`${LIST}/ocsf?${NO_MATCH}`], untilOver),
  ]);
  noise.catch(() => {});
  await pause(NOISE_FIRST_MS);
  const beside = await readBeside(1, baseUrl, quiet, QUIET_PATHS, forSeconds(seconds));
  isOver = true;
  const [searches, exports] = await noise;
  log(
    `quiet p99 ${alone.latency.p99} ms alone, ${beside.latency.p99} beside, ` +
      `${beside.latency.count} answered, ${beside.refused} refused; ` +
      `searches ${searches.latency.count} in ${searches.latency.p50} ms, ${searches.refused} refused; ` +
      `exports ${exports.latency.count} in ${exports.latency.p50} ms, ${exports.refused} refused`,
  );
  return { alone, beside, searches, exports };
}

async function addQuiet(client: pg.Client): Promise<number> {
  const { id } = await createWorkspace(client, 'quiet', 'Quiet');
  for (const table of ['runs', 'findings']) {
    const { rows } = await client.query<{ list: string }>(
      `SELECT string_agg(quote_ident(column_name), ', ') AS list FROM information_schema.columns
        WHERE table_schema = current_schema() AND table_name = $1
          AND column_name <> 'workspace_id' AND is_generated = 'NEVER'`,
      [table],
    );
    const list = rows[0]?.list ?? '';
    await client.query(
      `INSERT INTO ${table} (workspace_id, ${list})
       SELECT $1, ${list} FROM ${table} WHERE workspace_id = 1 LIMIT ${QUIET_FINDINGS}`,
      [id],
    );
    await client.query(`VACUUM (ANALYZE) ${table}`);
  }
  return id;
}

export async function fairnessReads(options: FairnessReadsOptions): Promise<FairnessReadsResult> {
  const machine = machineFacts();
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const server = await startServer({ DATA_DIR: dataDir });
  try {
    const databaseUrl = await connectEmbedded(dataDir);
    if (databaseUrl === null) throw new Error('the embedded database is not running');
    const client = new pg.Client(databaseUrl);
    // Its connection ends with the server when something fails.
    client.on('error', () => undefined);
    await client.connect();
    await fill(client, 1, RUNS, FINDINGS);
    const quietId = await addQuiet(client);
    const keyOf = async (workspaceId: number): Promise<string> => {
      const settings = { kind: 'workspace', name: 'bench', brand: 'sluice' } as const;
      const limit = { rateLimitPerMinute: RATE_LIMIT_MAX };
      return (await createKey(client, { workspaceId, ...settings, ...limit })).key;
    };
    const keys = { noisy: await keyOf(1), quiet: await keyOf(quietId) };
    await client.end();
    const stage = { baseUrl: server.baseUrl, ...keys };
    await measureRound(stage, WARM_UP_SECONDS);
    const rounds: FairnessReadsRound[] = [];
    while (rounds.length < options.rounds) rounds.push(await measureRound(stage, options.seconds));
    return {
      name: 'fairness-reads',
      machine,
      ...options,
      findings: FINDINGS,
      quietFindings: QUIET_FINDINGS,
      exportsAtOnce: EXPORTS,
      searchesAtOnce: SEARCHES,
      measured: rounds,
    };
  } finally {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
