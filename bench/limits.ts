/**
 * What do limits cost ingest? Three servers over one database: one that counts nothing (patched,
 * bench/limits/limiter-off.mjs), one that counts in its memory, one that counts in Redis.
 *
 * Twice: with exports of 100 spans, as exporters batch them; and of 10, where a request, and with it
 * its count, weighs most beside its rows. Beside exports per second stands what the server's main
 * thread worked for each: a neighbour on the same cores changes the first more than the second.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import pg from 'pg';

import { traceBody } from './bodies.ts';
import { compare, median, type Result, type Variant, VoidRun } from './harness.ts';
import { startRedis } from './limits/redis-under-test.ts';
import { sendAll } from './load.ts';
import { type ServerUnderTest, startServer } from './server-under-test.ts';

const CONNECTIONS = 16;
/** How often the servers are started; a multiple of three, so that each is first equally often. */
const SERVER_SETS = 6;
const YARDSTICK = 'no limiter';
const PRELOAD = new URL('limiter-off.mjs', import.meta.url).href;

interface Load {
  /** of the result's file */
  readonly name: string;
  readonly spansPerBody: number;
  readonly bodies: number;
}

/** Keys may send 100,000 requests a minute: no load here comes near. */
const LOADS: readonly Load[] = [
  { name: 'limits', spansPerBody: 100, bodies: 200 },
  { name: 'limits-small-exports', spansPerBody: 10, bodies: 600 },
];

async function clear(client: pg.Client): Promise<void> {
  await client.query('TRUNCATE spans, runs');
  await client.query('CHECKPOINT');
}

/** What a process's main thread has worked, milliseconds; Linux tells, others do not. */
function workedMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6;
}

/** Work of the main thread for one export, milliseconds, by variant. */
type Work = Map<string, number[]>;

/** Requests per second of one server, with every row checked. */
async function measure(
  server: ServerUnderTest,
  client: pg.Client,
  bodies: readonly Buffer[],
  spansPerBody: number,
  work: number[],
): Promise<number> {
  await clear(client);
  const workedBefore = workedMs(server.pid);
  const url = new URL('/v1/traces', server.observeUrl);
  const { acknowledged, seconds } = await sendAll(url, server.agentKey, bodies, CONNECTIONS);
  work.push((workedMs(server.pid) - workedBefore) / acknowledged);
  const { rows } = await client.query<{ count: string }>('SELECT count(*) FROM spans');
  const stored = Number(rows[0]?.count);
  if (stored !== acknowledged * spansPerBody) {
    throw new VoidRun(`${stored} spans stored, ${acknowledged * spansPerBody} acknowledged`);
  }
  return acknowledged / seconds;
}

/** Requests counted in the windows that are open, of all keys. */
async function countedIn(redis: Redis): Promise<number> {
  let counted = 0;
  for (const name of await redis.keys('sluice:rate:*')) counted += Number(await redis.get(name));
  return counted;
}

/** What was admitted without waiting is counted a moment later. */
async function settledCount(redis: Redis, expected: number): Promise<number> {
  const deadline = performance.now() + 2000;
  let counted = await countedIn(redis);
  while (counted < expected && performance.now() < deadline) counted = await countedIn(redis);
  return counted;
}

interface Bench {
  readonly off: ServerUnderTest;
  readonly memory: ServerUnderTest;
  readonly shared: ServerUnderTest;
  readonly client: pg.Client;
  readonly redis: Redis;
}

function variantsOf(
  { off, memory, shared, client, redis }: Bench,
  bodies: readonly Buffer[],
  spansPerBody: number,
  work: Work,
): Variant[] {
  const of = (name: string, server: ServerUnderTest): Variant => {
    const worked: number[] = [];
    work.set(name, worked);
    return { name, measure: () => measure(server, client, bodies, spansPerBody, worked) };
  };
  const inRedis = of('counted in Redis', shared);
  return [
    of(YARDSTICK, off),
    of('counted in memory', memory),
    {
      ...inRedis,
      measure: async (round) => {
        await redis.flushall();
        const figure = await inRedis.measure(round);
        const counted = await settledCount(redis, bodies.length);
        if (counted !== bodies.length) {
          throw new VoidRun(`${counted} requests counted in Redis, ${bodies.length} sent`);
        }
        return figure;
      },
    },
  ];
}

interface WorkFigures {
  readonly name: string;
  readonly medianMsPerExport: number;
  readonly ratio: number;
  readonly raw: readonly number[];
}

export interface LimitsResult extends Result {
  readonly work: readonly WorkFigures[];
}

const rounded = (value: number): number => Number(value.toFixed(3));

function summarise(work: Work): WorkFigures[] {
  const yardstick = median(work.get(YARDSTICK) ?? []);
  return [...work].map(([name, raw]) => ({
    name,
    medianMsPerExport: rounded(median(raw)),
    ratio: rounded(median(raw) / yardstick),
    raw: raw.map(rounded),
  }));
}

/** The same load measured with several sets of servers, as one result. */
function merge(results: readonly LimitsResult[]): LimitsResult {
  const [first] = results;
  if (first === undefined) throw new Error('nothing was measured');
  const raw = (name: string): number[] =>
    results.flatMap(({ variants }) => variants.find((one) => one.name === name)?.raw ?? []);
  const yardstick = median(raw(YARDSTICK));
  const work: Work = new Map();
  for (const figures of results.flatMap((result) => result.work)) {
    work.set(figures.name, [...(work.get(figures.name) ?? []), ...figures.raw]);
  }
  return {
    ...first,
    rounds: results.reduce((sum, { rounds }) => sum + rounds, 0),
    variants: first.variants.map(({ name }) => ({
      name,
      median: Math.round(median(raw(name))),
      ratio: rounded(median(raw(name)) / yardstick),
      raw: raw(name),
    })),
    work: summarise(work),
  };
}

function tellWork({ work }: LimitsResult): void {
  for (const { name, medianMsPerExport, ratio, raw } of work) {
    process.stderr.write(
      `${name}: ${medianMsPerExport} ms of the main thread per export, ratio ${ratio} ` +
        `(${raw.join(' ')})\n`,
    );
  }
}

async function compareLoad(
  bench: Bench,
  { name, spansPerBody, bodies: count }: Load,
  rounds: number,
  set: number,
): Promise<LimitsResult> {
  const bodies = Array.from({ length: count }, (_, index) => traceBody(index + 1, spansPerBody));
  const work: Work = new Map();
  const inOrder = variantsOf(bench, bodies, spansPerBody, work);
  // Each stands in the middle equally often: the first and the last of a round change places.
  const variants = [...inOrder.slice(set % 3), ...inOrder.slice(0, set % 3)];
  process.stderr.write(`${count} exports of ${spansPerBody} spans; warm-up\n`);
  for (const variant of [...variants, ...variants]) await variant.measure(0);
  for (const worked of work.values()) worked.length = 0;
  const result = await compare(
    {
      name,
      question:
        `Exports of ${spansPerBody} spans acknowledged per second over ${CONNECTIONS} ` +
        'connections: what counting requests costs',
      unit: 'exports/s',
      yardstick: YARDSTICK,
      rounds,
    },
    variants,
  );
  return { ...result, work: summarise(work) };
}

type Settings = Readonly<Record<string, string>>;
type Stops = (() => Promise<unknown>)[];

/**
 * Starts a server for each of the settings, the one at `first` first: its database is theirs all.
 *
 * @returns in the order of the settings
 */
async function startInTurn(
  settings: readonly Settings[],
  first: number,
  stops: Stops,
): Promise<ServerUnderTest[]> {
  const started: ServerUnderTest[] = [];
  let shared: Settings = {};
  for (let turn = 0; turn < settings.length; turn += 1) {
    const at = (first + turn) % settings.length;
    const server = await startServer({ ...settings[at], ...shared });
    stops.push(server.close);
    shared = { DATABASE_URL: server.databaseUrl };
    started[at] = server;
  }
  return started;
}

/**
 * Starts everything, hands it to `work`, and stops it again, whatever comes.
 *
 * @param first which of the servers is started first
 */
async function withBench<T>(first: number, work: (bench: Bench) => Promise<T>): Promise<T> {
  const stops: Stops = [];
  try {
    const server = await startRedis();
    stops.push(server.close);
    const redis = new Redis(server.url);
    stops.push(() => redis.quit());
    const settings: Settings[] = [
      { NODE_OPTIONS: `--import ${fileURLToPath(PRELOAD)}` },
      {},
      { REDIS_URL: server.url },
    ];
    const servers = await startInTurn(settings, first, stops);
    const [off, memory, shared] = servers;
    if (off === undefined || memory === undefined || shared === undefined) throw new Error('three');
    const client = new pg.Client({ connectionString: off.databaseUrl });
    await client.connect();
    stops.push(() => client.end());
    return await work({ off, memory, shared, client, redis });
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

/**
 * Runs the benchmark; needs redis-server on the PATH. Two processes of the same program differ by
 * more than what is looked for, so the servers are started anew several times.
 *
 * @param rounds of each load with one set of servers, every variant once in each
 */
export async function limitsBench(rounds: number): Promise<LimitsResult[]> {
  const results: LimitsResult[][] = LOADS.map(() => []);
  for (let set = 0; set < SERVER_SETS; set += 1) {
    await withBench(set % 3, async (bench) => {
      for (const [index, load] of LOADS.entries()) {
        results[index]?.push(await compareLoad(bench, load, rounds, set));
      }
    });
  }
  const merged = results.map(merge);
  for (const result of merged) tellWork(result);
  return merged;
}
