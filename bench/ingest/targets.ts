/** The targets of ingest, and whether a run reached them. Pure. */
import type { Latency } from './latency.ts';
import { medianOf, ratioOf, seriesOf } from './measured.ts';
import { type IngestResult, type MemoryResult, NAMES } from './result.ts';

export interface Verdict {
  readonly target: string;
  readonly measured: string;
  readonly reached: boolean;
}

const RAW_SHARE_MIN = 0.85;
const INSERT_TIMES_MIN = 4;
/** 50,000 of 1.1 KB where raw COPY stores 60,000 */
const LOG_SHARE_MIN = 50_000 / 60_000;
const HALF_PEAK_P99_MS_MAX = 100;
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

function throughputVerdicts({ throughput }: IngestResult): Verdict[] {
  const named = (name: string) => seriesOf(throughput, name);
  const toRaw = ratioOf(named(NAMES.sluice), named(NAMES.rawOne));
  const insert = [named(NAMES.perRequest), named(NAMES.batched)];
  const toInsert = Math.min(...insert.map((one) => ratioOf(named(NAMES.sluice), one)));
  const toRawLogs = ratioOf(named(NAMES.logs), named(NAMES.rawLogs));
  const rate = (name: string): string => whole(medianOf(named(name)).rowsPerSecond);
  const resident = Math.max(...named(NAMES.sluice).raw.map(({ residentMb }) => residentMb));
  return [
    {
      target: `spans: at least ${RAW_SHARE_MIN} of raw COPY over one connection`,
      measured: `${toRaw.toFixed(2)} (${rate(NAMES.sluice)} beside ${rate(NAMES.rawOne)} rows/s)`,
      reached: toRaw >= RAW_SHARE_MIN,
    },
    {
      target: `spans: at least ${INSERT_TIMES_MIN} times Fastify + INSERT, the faster of the two`,
      measured: `${toInsert.toFixed(2)} times`,
      reached: toInsert >= INSERT_TIMES_MIN,
    },
    {
      target: `log records of 1.1 KB: at least ${LOG_SHARE_MIN.toFixed(2)} of raw COPY over one connection`,
      measured: `${toRawLogs.toFixed(2)} (${rate(NAMES.logs)} beside ${rate(NAMES.rawLogs)} rows/s)`,
      reached: toRawLogs >= LOG_SHARE_MIN,
    },
    {
      target: `resident memory of the server at its peak rate: at most ${RESIDENT_MB_MAX} MB`,
      measured: `${resident} MB at most`,
      reached: resident <= RESIDENT_MB_MAX,
    },
  ];
}

/** Every target of the run, in the order of the page. */
export function verdictsOf(result: IngestResult): Verdict[] {
  const [steady, half] = result.paced;
  if (steady === undefined || half === undefined) throw new Error('the paced loads are missing');
  const p99 = half.measured.latency?.p99 ?? Number.NaN;
  const probes = result.probes.filter(({ bodyBytes }) => bodyBytes > 0);
  return [
    ...throughputVerdicts(result),
    {
      target: `p99 to acknowledgement at half the peak rate: at most ${HALF_PEAK_P99_MS_MAX} ms`,
      measured: `${p99.toFixed(0)} ms${each(half.raw.map(({ latency }) => latency))}`,
      reached: p99 <= HALF_PEAK_P99_MS_MAX,
    },
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
