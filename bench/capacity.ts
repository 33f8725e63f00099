/**
 * What does a row cost, and an evaluated run: CPU time, bytes on the disk, WAL, network? Rows are stored
 * by a real server and, in the same round, by raw COPY; runs are evaluated as in the benchmark of the pass.
 */
import { gzipSync } from 'node:zlib';

import { createDatabase } from '../src/db/database.ts';
import { Retention } from '../src/db/retention/retention.ts';
import type { Signal } from '../src/model/telemetry.ts';
import type {
  CapacityOptions,
  CapacityResult,
  DeletionCost,
  LaterWal,
  RowCost,
  RunCost,
  SpanCosts,
} from './capacity/result.ts';
import { inTurn, log, median, VoidRun } from './harness.ts';
import { cpuSeconds, familyCpuSeconds, movedBytes, parentOf } from './ingest/cpu.ts';
import { lineOf, type Measured } from './ingest/measured.ts';
import { encodeRows, measureRaw } from './ingest/raw.ts';
import { type BodyKind, bodyOf } from './ingest/requests.ts';
import { clear, measureLoad, onStage, type Stage } from './ingest/stage.ts';
import { diskBytes, sizeOf, walBytes } from './ingest/stored-bytes.ts';
import { machineFacts } from './machine.ts';
import { agentRuns } from './pass/agent-runs.ts';
import { type BenchRuns, benchRuns } from './pass/runs.ts';
import { drain, fill, makeDue, onPassBench, type PassBench, USUAL_RUNS } from './pass.ts';
import { countRecords, tablesOf } from './stored-records.ts';

const CONNECTIONS = 64;
const ROWS_PER_BODY = 100;
const SAMPLED_BODIES = 20;
const GZIP_LEVEL = 6;
/** At least so many runs are deleted, older than so many days. */
const DELETED_RUNS = 100_000;
const DELETION_DAYS = 30;
/** Spans of the day before a checkpoint, and after it, by seconds at full rate. */
const LATER = { fillSeconds: 12, seconds: 3 };
interface Load {
  readonly name: string;
  readonly kind: BodyKind;
  /** of the requests that the option names */
  readonly share: number;
}

const ownLoad = (name: string, signal: Signal): Load => ({
  name,
  kind: { signal, rows: ROWS_PER_BODY, gzip: false },
  share: 1,
});
const SPANS: Load = ownLoad('span', 'traces');
/** Spans of runs of ten model calls, which are eight times as large. */
const CONV10_SPANS: Load = {
  name: 'span of `conv10`',
  kind: { signal: 'traces', rows: 50, gzip: false, data: 'conv10' },
  share: 0.2,
};
const OTHERS = [ownLoad('log record', 'logs'), ownLoad('data point', 'metrics')];

interface Stored extends Measured {
  readonly wal: number;
  /** what the server wrote to its connections with PostgreSQL */
  readonly toPostgres: number;
  readonly table: number;
  readonly index: number;
  readonly runs: number;
  readonly receipts: number;
}

/** Stores a load and looks at what it left. */
async function measureStored(stage: Stage, kind: BodyKind, bodies: number): Promise<Stored> {
  const { client } = stage;
  let [wal, toPostgres] = [0, 0];
  const pace = { type: 'once', bodies } as const;
  const load = { kind, connections: CONNECTIONS, pace, expected: null };
  const measured = await measureLoad(stage, stage.sluice, load, async (ended) => {
    const before = await walBytes(client);
    const { written } = movedBytes(stage.sluice.pid);
    await ended;
    toPostgres = movedBytes(stage.sluice.pid).written - written;
    wal = (await walBytes(client)) - before;
  });
  const sizes = { table: 0, index: 0 };
  for (const table of await tablesOf(client, kind.signal)) {
    if (table === 'receipts') continue;
    const { rows, indexes } = await sizeOf(client, table);
    sizes.table += rows;
    sizes.index += indexes;
  }
  const runs = await diskBytes(client, ['runs']);
  const receipts = await diskBytes(client, ['receipts']);
  return { ...measured, ...sizes, wal, toPostgres, runs, receipts };
}

/** @returns bytes of a row in a request, as it is and compressed */
function requestBytes(kind: BodyKind): readonly [plain: number, gzip: number] {
  const bodies = Array.from({ length: SAMPLED_BODIES }, (_, seed) => bodyOf(kind, seed + 1));
  const perRow = (sizes: readonly number[]): number =>
    sizes.reduce((sum, size) => sum + size, 0) / SAMPLED_BODIES / kind.rows;
  return [
    perRow(bodies.map(({ length }) => length)),
    perRow(bodies.map((body) => gzipSync(body, { level: GZIP_LEVEL }).length)),
  ];
}

const rounded = (value: number, decimals = 0): number => Number(value.toFixed(decimals));

async function measureRows(
  stage: Stage,
  { name, kind, share }: Load,
  options: CapacityOptions,
): Promise<RowCost> {
  const { rounds } = options;
  const bodies = Math.ceil(options.bodies * share);
  log(`${name}: warm-up`);
  await measureStored(stage, kind, bodies);
  const raw = await encodeRows(stage, kind, bodies, 1);
  const stored: Stored[] = [];
  const series = await inTurn<Measured>(
    [
      {
        name,
        measure: async () => {
          const one = await measureStored(stage, kind, bodies);
          stored.push(one);
          return one;
        },
      },
      { name: `${name}, raw COPY`, measure: () => measureRaw(stage, raw) },
    ],
    rounds,
    lineOf,
  );
  const [ours, copied] = series;
  if (ours === undefined || copied === undefined) throw new Error('nothing was measured');
  const of = (pick: (one: Stored) => number): number =>
    median(stored.map((one) => pick(one) / one.rows));
  const ratios = ours.raw.map(
    ({ cpu }, round) =>
      (cpu.server + cpu.postgres) / (copied.raw[round]?.cpu.postgres ?? Number.NaN),
  );
  const [plain, gzip] = requestBytes(kind);
  return {
    name,
    rows: ours.raw[0]?.rows ?? 0,
    serverUs: median(ours.raw.map(({ cpu }) => cpu.server)),
    postgresUs: median(ours.raw.map(({ cpu }) => cpu.postgres)),
    rawCopyUs: median(copied.raw.map(({ cpu }) => cpu.postgres)),
    toRawCopy: rounded(median(ratios), 3),
    rawToRawCopy: ratios.map((ratio) => rounded(ratio, 3)),
    bodyBytes: rounded(plain),
    gzipBytes: rounded(gzip),
    copyBytes: rounded(of(({ toPostgres }) => toPostgres)),
    tableBytes: rounded(of(({ table }) => table)),
    indexBytes: rounded(
      of(({ index }) => index),
      1,
    ),
    runBytes: rounded(
      of(({ runs }) => runs),
      1,
    ),
    receiptBytes: rounded(
      of(({ receipts }) => receipts),
      1,
    ),
    walBytes: rounded(of(({ wal }) => wal)),
  };
}

/** Sends spans at full rate beside those that are there. @returns how many were acknowledged */
async function addSpans(
  { generator, sluice, server }: Stage,
  kind: BodyKind,
  seconds: number,
): Promise<number> {
  const url = new URL('/v1/traces', sluice.url).href;
  await generator.prepare({
    kind,
    connections: CONNECTIONS,
    pace: { type: 'while', seconds },
    url,
    key: server.agentKey,
  });
  return (await generator.send()).rows;
}

async function measureLater(stage: Stage, { kind }: Load): Promise<LaterWal> {
  const { client } = stage;
  await clear(stage);
  const rowsBefore = await addSpans(stage, kind, LATER.fillSeconds);
  await client.query('CHECKPOINT');
  const before = await walBytes(client);
  const rows = await addSpans(stage, kind, LATER.seconds);
  const wal = (await walBytes(client)) - before;
  const stored = await countRecords(client, 'traces');
  if (stored !== rowsBefore + rows) {
    throw new VoidRun(`${stored} spans stored, ${rowsBefore + rows} acknowledged`);
  }
  await clear(stage);
  return { rowsBefore, rows, walBytes: rounded(wal / rows) };
}

/** One pass over runs that are stored, and what it used and left. */
async function measureRuns(bench: PassBench): Promise<RunCost> {
  const { client, load, server } = bench;
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const postmaster = parentOf(rows[0]?.pid ?? 0);
  const sizes = async () => ({
    grown: await diskBytes(client, ['runs', 'findings']),
    packed: await diskBytes(client, ['blocks', 'places']),
  });
  await fill(bench);
  const sizesBefore = await sizes();
  await makeDue(bench);
  const used = async () => ({
    server: cpuSeconds(server.pid),
    postgres: familyCpuSeconds(postmaster),
    ...movedBytes(server.pid),
    wal: await walBytes(client),
  });
  const before = await used();
  await drain(bench);
  const after = await used();
  const perRun = (what: keyof typeof after): number => (after[what] - before[what]) / load.runs;
  const sizesAfter = await sizes();
  return {
    runs: load.runs,
    spansPerRun: load.spans / load.runs,
    textBytes: rounded(load.textBytes / load.runs),
    findings: load.findings.length,
    serverUs: rounded(perRun('server') * 1e6),
    postgresUs: rounded(perRun('postgres') * 1e6),
    walBytes: rounded(perRun('wal')),
    fromPostgresBytes: rounded(perRun('read')),
    toPostgresBytes: rounded(perRun('written')),
    grownBytes: rounded((sizesAfter.grown - sizesBefore.grown) / load.runs),
    packedBytes: rounded((sizesAfter.packed - sizesBefore.packed) / load.runs),
  };
}

/** Copies of the evaluated runs, without findings, past retention. */
const COPY_RUNS = `
  INSERT INTO runs (workspace_id, run_id, state, name, service_name, start_unix_nano, end_unix_nano,
                    spans, log_records, evaluation, first_arrival_at, last_arrival_at)
  SELECT workspace_id, gen_random_uuid(), state, name, service_name, start_unix_nano, end_unix_nano,
         spans, log_records, evaluation, at, at
    FROM (SELECT *, now() - make_interval(days => $2) + random() * interval '1 day' AS at
            FROM runs CROSS JOIN generate_series(1, $1)
           WHERE evaluation = 'evaluated') AS copied`;

/** What retention takes to delete runs, in this process and in PostgreSQL. */
async function measureDeletion({ client, load, server }: PassBench): Promise<DeletionCost> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const postmaster = parentOf(rows[0]?.pid ?? 0);
  const copies = Math.ceil(DELETED_RUNS / load.runs);
  await client.query(COPY_RUNS, [copies, 2 * DELETION_DAYS]);
  await client.query('VACUUM (ANALYZE) runs');
  await client.query('CHECKPOINT');
  const database = createDatabase(server.databaseUrl, 1, { connectionLost: () => undefined });
  try {
    await database.query('SELECT 1');
    const days = { telemetry: DELETION_DAYS, runs: DELETION_DAYS, findings: 0 };
    let deleted = 0;
    const events = {
      outdatedDeleted: (table: string, count: number) => {
        if (table === 'runs') deleted = count;
      },
    };
    const used = async () => ({
      server: cpuSeconds(process.pid),
      postgres: familyCpuSeconds(postmaster),
      wal: await walBytes(client),
    });
    const before = await used();
    const startedAt = performance.now();
    const { signal } = new AbortController();
    await new Retention(days).deleteOutdated(database, Date.now(), events, signal);
    const seconds = (performance.now() - startedAt) / 1000;
    await client.query('VACUUM runs');
    const after = await used();
    if (deleted !== copies * load.runs) throw new VoidRun(`${deleted} runs were deleted`);
    const perRun = (what: keyof typeof after): number => (after[what] - before[what]) / deleted;
    return {
      runs: deleted,
      serverUs: rounded(perRun('server') * 1e6, 1),
      postgresUs: rounded(perRun('postgres') * 1e6, 1),
      walBytes: rounded(perRun('wal')),
      runsPerSecond: rounded(deleted / seconds),
    };
  } finally {
    await database.end();
  }
}

/** Of several measurements, every figure's median. */
function medianRun(all: readonly RunCost[]): RunCost {
  const [first] = all;
  if (first === undefined) throw new Error('no pass was measured');
  const of = (pick: (one: RunCost) => number): number => rounded(median(all.map(pick)));
  return {
    ...first,
    serverUs: of((one) => one.serverUs),
    postgresUs: of((one) => one.postgresUs),
    walBytes: of((one) => one.walBytes),
    fromPostgresBytes: of((one) => one.fromPostgresBytes),
    toPostgresBytes: of((one) => one.toPostgresBytes),
    grownBytes: of((one) => one.grownBytes),
    packedBytes: of((one) => one.packedBytes),
  };
}

async function measureLoadOfRuns(
  bench: PassBench,
  load: BenchRuns,
  rounds: number,
): Promise<RunCost> {
  const own = { ...bench, load };
  // Compiles the patterns that these texts need.
  await measureRuns(own);
  const all: RunCost[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const one = await measureRuns(own);
    log(`pass: server ${one.serverUs} µs, PostgreSQL ${one.postgresUs} µs of CPU a run`);
    all.push(one);
  }
  return medianRun(all);
}

export async function capacityBench(options: CapacityOptions): Promise<CapacityResult> {
  const machine = machineFacts();
  const { arrived, others } = await onStage(false, async (stage) => {
    const spans: Omit<SpanCosts, 'run'>[] = [];
    for (const load of [SPANS, CONV10_SPANS]) {
      const span = await measureRows(stage, load, options);
      log(`${load.name}: after a checkpoint, beside those of the day`);
      spans.push({ span, later: await measureLater(stage, load) });
    }
    const records: RowCost[] = [];
    for (const load of OTHERS) records.push(await measureRows(stage, load, options));
    return { arrived: spans, others: records };
  });
  const share = Math.min(1, options.runs / USUAL_RUNS);
  const loads = [benchRuns(options.runs), agentRuns('conv10', share)] as const;
  return await onPassBench(loads[0], async (bench) => {
    const spans: SpanCosts[] = [];
    for (const [at, one] of arrived.entries()) {
      const load = loads[at];
      if (load === undefined) throw new Error('there are no runs of these spans');
      spans.push({ ...one, run: await measureLoadOfRuns(bench, load, options.rounds) });
    }
    log('runs past retention are deleted');
    await measureRuns(bench);
    const deletion = await measureDeletion(bench);
    return { name: 'capacity', machine, ...options, spans, others, deletion };
  });
}
