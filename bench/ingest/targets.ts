/** The targets of ingest, and whether a run reached them. Pure. */
import { median } from '../harness.ts';
import type { Latency } from './latency.ts';
import { type Measured, medianOf, ratioOf, type Series, seriesOf } from './measured.ts';
import { type IngestResult, type MemoryResult, NAMES } from './result.ts';

export interface Verdict {
  readonly target: string;
  readonly measured: string;
  readonly reached: boolean;
}

const RAW_SHARE_MIN = 0.85;
const CPU_TIMES_MAX = { spans: 1.4, logs: 1.5, points: 1.5 };
const SERVER_SHARE_MAX = 0.45;
const INSERT_TIMES_MIN = 4;
/** by the order of the fixed rates: half of what can be sustained, and four fifths */
const P99_MS_MAX = [15, 50];
const RESIDENT_MB_MAX = 300;
const STEADY_CORES_MAX = 0.35;
const PROBE_P99_MS_MAX = 50;
const GROWTH_MAX = 1.1;

export const whole = (value: number): string => Math.round(value).toLocaleString('en');

export const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;

/** The 99th percentile of every round. */
function each(raw: readonly (Latency | null)[]): string {
  const all = raw.flatMap((one) => (one === null ? [] : one.p99.toFixed(0)));
  return all.length > 1 ? ` (${all.join(', ')})` : '';
}

const serverAndPostgres = ({ cpu }: Measured): number => cpu.server + cpu.postgres;
const postgresOnly = ({ cpu }: Measured): number => cpu.postgres;

/** CPU time per row of one series, times that of another in the same round: the median. */
function cpuRatio(
  one: Series,
  other: Series,
  own: (measured: Measured) => number = serverAndPostgres,
): number {
  const ratios = one.raw.map((measured, round) => {
    const beside = other.raw[round];
    return beside === undefined ? Number.NaN : own(measured) / postgresOnly(beside);
  });
  return median(ratios);
}

/** The most memory that the server had in any measurement. */
function residentMax(result: IngestResult): number {
  const { throughput, bodies, connections, sustained, paced, probes } = result;
  const all = [
    ...[...throughput, ...bodies, ...connections].flatMap(({ raw }) => raw),
    ...paced.flatMap(({ raw }) => raw),
    ...(sustained === null ? [] : [sustained.measured]),
  ];
  const ofInsert = throughput
    .filter(({ name }) => name === NAMES.perRequest || name === NAMES.batched)
    .flatMap(({ raw }) => raw);
  const ofSluice = all.filter((one) => !ofInsert.includes(one));
  return Math.max(...[...ofSluice, ...probes].map(({ residentMb = 0 }) => residentMb));
}

/** None in results from before 2026-11-25. */
function pointsVerdict(throughput: readonly Series[]): Verdict[] {
  if (throughput.every(({ name }) => name !== NAMES.points)) return [];
  const cpu = cpuRatio(seriesOf(throughput, NAMES.points), seriesOf(throughput, NAMES.rawPoints));
  return [
    {
      target: `CPU time of a data point: at most ${CPU_TIMES_MAX.points} times raw COPY's`,
      measured: `${cpu.toFixed(2)} times`,
      reached: cpu <= CPU_TIMES_MAX.points,
    },
  ];
}

function throughputVerdicts(result: IngestResult): Verdict[] {
  const { throughput } = result;
  const named = (name: string) => seriesOf(throughput, name);
  const toRaw = ratioOf(named(NAMES.sluice), named(NAMES.rawTwo));
  const insert = [named(NAMES.perRequest), named(NAMES.batched)];
  const toInsert = Math.min(...insert.map((one) => ratioOf(named(NAMES.sluice), one)));
  const cpu = cpuRatio(named(NAMES.sluice), named(NAMES.rawOne));
  const cpuOfLogs = cpuRatio(named(NAMES.logs), named(NAMES.rawLogs));
  const ofServer = cpuRatio(named(NAMES.sluice), named(NAMES.sluice), (one) => one.cpu.server);
  const rate = (name: string): string => whole(medianOf(named(name)).rowsPerSecond);
  const resident = residentMax(result);
  return [
    {
      target: `spans: at least ${RAW_SHARE_MIN} of raw COPY over two connections, as Sluice has two lanes`,
      measured: `${toRaw.toFixed(2)} (${rate(NAMES.sluice)} beside ${rate(NAMES.rawTwo)} rows/s)`,
      reached: toRaw >= RAW_SHARE_MIN,
    },
    {
      target: `spans: at least ${INSERT_TIMES_MIN} times Fastify + INSERT, the faster of the two`,
      measured: `${toInsert.toFixed(2)} times`,
      reached: toInsert >= INSERT_TIMES_MIN,
    },
    {
      target: `CPU time of a span, server and PostgreSQL: at most ${CPU_TIMES_MAX.spans} times raw COPY's`,
      measured: `${cpu.toFixed(2)} times`,
      reached: cpu <= CPU_TIMES_MAX.spans,
    },
    {
      target: `CPU time of a log record: at most ${CPU_TIMES_MAX.logs} times raw COPY's`,
      measured: `${cpuOfLogs.toFixed(2)} times`,
      reached: cpuOfLogs <= CPU_TIMES_MAX.logs,
    },
    ...pointsVerdict(throughput),
    {
      target: `CPU time of a span: the server at most ${SERVER_SHARE_MAX} of PostgreSQL's`,
      measured: ofServer.toFixed(2),
      reached: ofServer <= SERVER_SHARE_MAX,
    },
    {
      target: `resident memory of the server in all of these measurements: at most ${RESIDENT_MB_MAX} MB`,
      measured: `${resident} MB at most`,
      reached: resident <= RESIDENT_MB_MAX,
    },
  ];
}

/** Every target of the run, in the order of the page. */
export function verdictsOf(result: IngestResult): Verdict[] {
  const [steady, ...shares] = result.paced;
  if (steady === undefined) throw new Error('the paced loads are missing');
  const probes = result.probes.filter(({ bodyBytes }) => bodyBytes > 0);
  return [
    ...throughputVerdicts(result),
    ...shares.map(({ name, measured, raw }, at) => {
      const p99 = measured.latency?.p99 ?? Number.NaN;
      const most = P99_MS_MAX[at] ?? Number.NaN;
      return {
        target: `p99 to acknowledgement at ${name}: at most ${most} ms`,
        measured: `${p99.toFixed(0)} ms${each(raw.map(({ latency }) => latency))}`,
        reached: p99 <= most,
      };
    }),
    {
      target: `${whole(steady.offered)} spans/s: at most ${percent(STEADY_CORES_MAX)} of a core for the server`,
      measured: percent(steady.serverCores),
      reached: steady.serverCores <= STEADY_CORES_MAX,
    },
    ...probes.map(({ name, latency, raw }) => ({
      target: `p99 of /health at full load, bodies of ${name}: under ${PROBE_P99_MS_MAX} ms`,
      measured: `${latency.p99.toFixed(1)} ms${each(raw)}`,
      reached: latency.p99 < PROBE_P99_MS_MAX,
    })),
  ];
}

/**
 * Does memory stay constant? Compares the median of the last fifth of the time with that of the second
 * fifth; during the first, memory still grows to its working size.
 */
export function memoryVerdict({ samples, minutes }: MemoryResult): Verdict {
  const medianOfFifth = (fifth: number): number => {
    const values = samples
      .filter((one) => Math.min(4, Math.floor((one.minutes / minutes) * 5)) === fifth)
      .map(({ residentMb }) => residentMb)
      .sort((a, b) => a - b);
    return values[values.length >> 1] ?? Number.NaN;
  };
  const growth = medianOfFifth(4) / medianOfFifth(1);
  return {
    target: `resident memory: the last fifth of the time at most ${GROWTH_MAX} times the second`,
    measured: `${growth.toFixed(2)} times (${medianOfFifth(1)} MB, then ${medianOfFifth(4)} MB)`,
    reached: growth <= GROWTH_MAX,
  };
}
