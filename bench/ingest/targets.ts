/** The targets of ingest, and whether a run reached them. Pure. */
import { median } from '../harness.ts';
import type { Latency } from './latency.ts';
import { type Measured, medianOf, ratioOf, type Series, seriesOf } from './measured.ts';
import { type IngestResult, type MemoryResult, NAMES, nameOfData } from './result.ts';

export interface Verdict {
  readonly target: string;
  readonly measured: string;
  readonly reached: boolean;
}

const RAW_SHARE_MIN = 0.85;
/** of raw COPY's: in a burst, and in a sustained minute */
const CPU_TIMES_MAX = 1.3;
const SUSTAINED_CPU_TIMES_MAX = 0.75;
const SUSTAINED_POSTGRES_US_MAX = 3.5;
/** Bytes of a record. */
const STORED_MAX = [
  { name: NAMES.sluice, record: 'a span', wal: 300, disk: 250 },
  { name: NAMES.logs, record: 'a log record', wal: 250, disk: 220 },
  { name: NAMES.points, record: 'a data point', wal: 60, disk: 50 },
  { name: nameOfData('plain'), record: 'a span of a service (`plain`)', wal: null, disk: 95 },
] as const;
const BURSTS = [
  { record: 'a span', name: NAMES.sluice, raw: NAMES.rawOne },
  { record: 'a log record', name: NAMES.logs, raw: NAMES.rawLogs },
  { record: 'a data point', name: NAMES.points, raw: NAMES.rawPoints },
] as const;
/** A body with one span: microseconds of CPU. */
const ONE_SPAN = { name: '1 span', serverUs: 90, postgresUs: 45 };
const INSERT_TIMES_MIN = 4;
/** by the order of the fixed rates: half of what can be sustained, and four fifths */
const P99_MS_MAX = [20, 50];
const RESIDENT_MB_MAX = 300;
const STEADY_CORES_MAX = 0.35;
const PROBE_P99_MS_MAX = 50;
const GROWTH_MAX = 1.1;

export const whole = (value: number): string => Math.round(value).toLocaleString('en');

export const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;

function each(raw: readonly (Latency | null)[]): string {
  const all = raw.flatMap((one) => (one === null ? [] : one.p99.toFixed(0)));
  return all.length > 1 ? ` (${all.join(', ')})` : '';
}

const serverAndPostgres = ({ cpu }: Measured): number => cpu.server + cpu.postgres;

/** CPU time per row of one series, times that of raw COPY in the same round: the median. */
export function cpuRatio(one: Pick<Series, 'raw'>, other: Pick<Series, 'raw'>): number {
  const ratios = one.raw.map((measured, round) => {
    const beside = other.raw[round];
    return beside === undefined ? Number.NaN : serverAndPostgres(measured) / beside.cpu.postgres;
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

/** CPU time of a burst. */
function burstVerdicts({ throughput }: IngestResult): Verdict[] {
  return BURSTS.map(({ record, name, raw }) => {
    const times = cpuRatio(seriesOf(throughput, name), seriesOf(throughput, raw));
    return {
      target: `CPU time of ${record}, server and PostgreSQL: at most ${CPU_TIMES_MAX} times raw COPY's`,
      measured: `${times.toFixed(2)} times`,
      reached: times <= CPU_TIMES_MAX,
    };
  });
}

/** CPU time of a sustained minute; nothing in results from before 2026-11-27. */
function sustainedVerdicts({ sustained }: IngestResult): Verdict[] {
  const { raw, copied } = sustained ?? {};
  if (raw === undefined || copied === undefined) return [];
  const times = cpuRatio({ raw }, { raw: copied });
  const postgresUs = median(raw.map(({ cpu }) => cpu.postgres));
  return [
    {
      target: `the same of a span in a sustained minute: at most ${SUSTAINED_CPU_TIMES_MAX} times raw COPY's`,
      measured: `${times.toFixed(2)} times`,
      reached: times <= SUSTAINED_CPU_TIMES_MAX,
    },
    {
      target: `CPU time of PostgreSQL, a span in a sustained minute: at most ${SUSTAINED_POSTGRES_US_MAX} µs`,
      measured: `${postgresUs.toFixed(1)} µs`,
      reached: postgresUs <= SUSTAINED_POSTGRES_US_MAX,
    },
  ];
}

const PLACES = { wal: 'WAL', disk: 'disk' } as const;

/** WAL and disk of a record, where they were measured. */
function storedVerdicts({ throughput }: IngestResult): Verdict[] {
  return STORED_MAX.flatMap(({ name, record, ...most }) => {
    const series = throughput.find((one) => one.name === name);
    const stored = series === undefined ? undefined : medianOf(series).stored;
    return (['wal', 'disk'] as const).flatMap((place) => {
      const [bytes, bytesMax] = [stored?.[place], most[place]];
      if (bytes === undefined || bytesMax === null) return [];
      return {
        target: `${PLACES[place]} of ${record}: at most ${bytesMax} bytes`,
        measured: `${whole(bytes)} bytes`,
        reached: bytes <= bytesMax,
      };
    });
  });
}

function oneSpanVerdict({ bodies }: IngestResult): Verdict[] {
  const series = bodies.find(({ name }) => name === ONE_SPAN.name);
  if (series === undefined) return [];
  const { server, postgres } = medianOf(series).cpu;
  return [
    {
      target:
        `a body of one span, 16 connections: at most ${ONE_SPAN.serverUs} µs of CPU of the server ` +
        `and ${ONE_SPAN.postgresUs} of PostgreSQL`,
      measured: `${server.toFixed(0)} + ${postgres.toFixed(0)} µs`,
      reached: server <= ONE_SPAN.serverUs && postgres <= ONE_SPAN.postgresUs,
    },
  ];
}

function throughputVerdicts(result: IngestResult): Verdict[] {
  const { throughput } = result;
  const named = (name: string) => seriesOf(throughput, name);
  const toRaw = ratioOf(named(NAMES.sluice), named(NAMES.rawTwo));
  const insert = [named(NAMES.perRequest), named(NAMES.batched)];
  const toInsert = Math.min(...insert.map((one) => ratioOf(named(NAMES.sluice), one)));
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
    ...burstVerdicts(result),
    ...sustainedVerdicts(result),
    ...storedVerdicts(result),
    ...oneSpanVerdict(result),
    {
      target: `resident memory of the server in all of these measurements: at most ${RESIDENT_MB_MAX} MB`,
      measured: `${resident} MB at most`,
      reached: resident <= RESIDENT_MB_MAX,
    },
  ];
}

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
