/**
 * What do limits cost ingest? Three servers on one database: one counts nothing (patched,
 * limiter-off.mjs), one counts in its memory, one in Redis.
 *
 * Measured with exports of 100 spans, as exporters batch them, and of 10, where counting costs most
 * per row. The CPU time of the server's main thread is measured beside exports per second, because
 * other programs on the same cores change it less.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import pg from 'pg';

import { traceBody } from './bodies.ts';
import { emptyTables } from './empty-tables.ts';
import { inTurn, log, median, type Variant, VoidRun } from './harness.ts';
import { startRedis } from './limits/redis-under-test.ts';
import { sendAll } from './load.ts';
import { type MachineFacts, machineFacts } from './machine.ts';
import { type ServerUnderTest, startServer } from './server-under-test.ts';
import { countRecords } from './stored-records.ts';

const CONNECTIONS = 16;
/** How often the servers are started; a multiple of three, so that each is first equally often. */
const SERVER_SETS = 6;
const YARDSTICK = 'no limiter';
const PRELOAD = new URL('limits/limiter-off.mjs', import.meta.url).href;

interface Load {
  readonly name: LimitsResult['name'];
  readonly spansPerBody: number;
  readonly bodies: number;
}

/** Keys may send 100,000 requests a minute: no load here comes near. */
const LOADS: readonly Load[] = [
  { name: 'limits', spansPerBody: 100, bodies: 200 },
  { name: 'limits-small-exports', spansPerBody: 10, bodies: 600 },
];

async function clear(client: pg.Client): Promise<void> {
  await emptyTables(client);
  await client.query('CHECKPOINT');
}

/** CPU time of a process's main thread, milliseconds; on Linux only. */
function mainThreadMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6;
}

interface Measured {
  readonly exportsPerSecond: number;
  /** CPU time of the server's main thread for one export */
  readonly workMs: number;
}

/** Sends a load to one server, and checks that every row is stored. */
async function measure(
  server: ServerUnderTest,
  client: pg.Client,
  bodies: readonly Buffer[],
  spansPerBody: number,
): Promise<Measured> {
  await clear(client);
  const before = mainThreadMs(server.pid);
  const url = new URL('/v1/traces', server.observeUrl);
  const { acknowledged, seconds } = await sendAll(url, server.agentKey, bodies, CONNECTIONS);
  const workMs = (mainThreadMs(server.pid) - before) / acknowledged;
  const stored = await countRecords(client, 'traces');
  if (stored !== acknowledged * spansPerBody) {
    throw new VoidRun(`${stored} spans stored, ${acknowledged * spansPerBody} acknowledged`);
  }
  return { exportsPerSecond: acknowledged / seconds, workMs };
}

/** Requests counted in the windows that are open, of all keys. */
async function countedIn(redis: Redis): Promise<number> {
  let counted = 0;
  for (const name of await redis.keys('sluice:rate:*')) counted += Number(await redis.get(name));
  return counted;
}

/** Requests admitted without waiting are counted a moment later. */
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
): Variant<Measured>[] {
  const of = (server: ServerUnderTest) => () => measure(server, client, bodies, spansPerBody);
  const measureShared = async (): Promise<Measured> => {
    await redis.flushall();
    const measured = await of(shared)();
    const counted = await settledCount(redis, bodies.length);
    if (counted !== bodies.length) {
      throw new VoidRun(`${counted} requests counted in Redis, ${bodies.length} sent`);
    }
    return measured;
  };
  return [
    { name: YARDSTICK, measure: of(off) },
    { name: 'counted in memory', measure: of(memory) },
    { name: 'counted in Redis', measure: measureShared },
  ];
}

/** One figure of a variant over all rounds and sets of servers. */
export interface LimitsFigures {
  readonly name: string;
  readonly median: number;
  /** to the median of the server that counts nothing */
  readonly ratio: number;
  readonly raw: readonly number[];
}

export interface LimitsResult {
  readonly name: 'limits' | 'limits-small-exports';
  readonly question: string;
  readonly machine: MachineFacts;
  readonly rounds: number;
  readonly exportsPerSecond: readonly LimitsFigures[];
  /** CPU time of the main thread for one export, milliseconds */
  readonly workMs: readonly LimitsFigures[];
}

type Raw = ReadonlyMap<string, readonly Measured[]>;

function figuresOf(
  raw: Raw,
  pick: (measured: Measured) => number,
  decimals: number,
): LimitsFigures[] {
  const rounded = (value: number, places: number): number => Number(value.toFixed(places));
  const yardstick = median((raw.get(YARDSTICK) ?? []).map(pick));
  return [...raw].map(([name, all]) => {
    const values = all.map(pick);
    return {
      name,
      median: rounded(median(values), decimals),
      ratio: rounded(median(values) / yardstick, 3),
      raw: values.map((value) => rounded(value, decimals)),
    };
  });
}

/** @param set the number of the set of servers, from 0 */
async function measureSet(
  bench: Bench,
  { spansPerBody, bodies: count }: Load,
  rounds: number,
  set: number,
): Promise<Raw> {
  const bodies = Array.from({ length: count }, (_, index) => traceBody(index + 1, spansPerBody));
  const inOrder = variantsOf(bench, bodies, spansPerBody);
  // Each is in the middle equally often: the first and the last of a round change places.
  const variants = [...inOrder.slice(set % 3), ...inOrder.slice(0, set % 3)];
  log(`${count} exports of ${spansPerBody} spans; warm-up`);
  for (const variant of [...variants, ...variants]) await variant.measure(0);
  const measured = await inTurn(variants, rounds, (name, { exportsPerSecond, workMs }) => {
    return `${name}: ${Math.round(exportsPerSecond)} exports/s, ${workMs.toFixed(3)} ms of work each`;
  });
  const byName = new Map(measured.map(({ name, raw }) => [name, raw]));
  return new Map(inOrder.map(({ name }) => [name, byName.get(name) ?? []]));
}

type Settings = Readonly<Record<string, string>>;
type Stops = (() => Promise<unknown>)[];

/**
 * Starts a server for each of the settings, beginning at `first`; all use that server's database.
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
 * Starts all servers, runs `work` with them, and stops them in any case.
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
 * more than the cost of counting, so every server is started several times.
 *
 * @param rounds of each load with one set of servers, every variant once in each
 */
export async function limitsBench(rounds: number): Promise<LimitsResult[]> {
  const machine = machineFacts();
  const raw = LOADS.map(() => new Map<string, Measured[]>());
  for (let set = 0; set < SERVER_SETS; set += 1) {
    await withBench(set % 3, async (bench) => {
      for (const [index, load] of LOADS.entries()) {
        const all = raw[index];
        for (const [name, values] of await measureSet(bench, load, rounds, set)) {
          all?.set(name, [...(all.get(name) ?? []), ...values]);
        }
      }
    });
  }
  return LOADS.map(({ name, spansPerBody }, index) => ({
    name,
    question:
      `Exports of ${spansPerBody} spans acknowledged per second over ${CONNECTIONS} connections: ` +
      'what counting requests costs',
    machine,
    rounds: rounds * SERVER_SETS,
    exportsPerSecond: figuresOf(raw[index] ?? new Map(), (one) => one.exportsPerSecond, 0),
    workMs: figuresOf(raw[index] ?? new Map(), (one) => one.workMs, 3),
  }));
}
