/** From what a span costs to machines, disks and prices for a rate. Pure. */
import type { DeletionCost, SpanCosts } from './result.ts';

/** Cores are busy for at most this share on average, so that peaks of twice the average fit. */
export const BUSY_MAX = 0.5;
export const FILLED_MAX = 0.8;
/** Most of one PostgreSQL: not measured, but what one machine with network volumes is usually given. */
export const DATABASE_VCPUS_MAX = 64;
export const DATABASE_DISK_TB_MAX = 64;
export const DATABASE_WAL_MB_MAX = 500;

const HOURS_PER_MONTH = 730;
const SECONDS_PER_DAY = 86_400;
const BYTES_PER_MB = 1e6;
const BYTES_PER_TB = 1e12;
const GB_PER_TB = 1000;

/** List prices, US dollars; docs/scaling.md names the pages. */
export const PRICES = {
  /** m7g.large, 2 vCPU with 8 GiB, on demand, by the hour: half of it */
  vcpuMonth: (0.0816 / 2) * HOURS_PER_MONTH,
  /** gp3, without throughput beyond what is free */
  diskTbMonth: 0.08 * GB_PER_TB,
  /** ClickHouse Cloud, Scale: 2 replicas of 2 vCPU, always on */
  cloudVcpuMonth: 436.95 / 4,
  /** ClickHouse Cloud, without backup */
  cloudTbMonth: 25.3,
} as const;

/** What ClickHouse's own page says to plan for ClickStack, by megabytes of raw telemetry a second. */
const CLICKSTACK = { mbPerVcpu: 10, queriesPerSecond: 1, compression: 10 } as const;

export interface Costs extends SpanCosts {
  /** of every run, once */
  readonly deletion: DeletionCost;
}

export interface Rate {
  readonly spansPerSecond: number;
  /** for which packed blocks, runs and findings are kept */
  readonly days: number;
  /** for which the blocks of arrival are kept beside the packed ones */
  readonly hotDays: number;
}

/** What a rate takes; cores are used ones, vCPUs are those to have. */
export interface Plan extends Rate {
  readonly inMbPerSecond: number;
  readonly inGzipMbPerSecond: number;
  /** between the servers and PostgreSQL, in both directions */
  readonly postgresMbPerSecond: number;
  readonly ingestCores: number;
  readonly evaluationCores: number;
  readonly postgresCores: number;
  readonly serverVcpus: number;
  readonly databaseVcpus: number;
  /** PostgreSQL instances between which the spans would have to be divided */
  readonly databases: number;
  readonly diskTb: number;
  readonly walMbPerSecond: number;
  readonly dollars: { readonly compute: number; readonly disk: number };
}

const vcpus = (cores: number): number => Math.ceil(cores / BUSY_MAX);

/** @param costs measured; what a run costs is divided by its spans */
export function planFor({ span, later, run, deletion }: Costs, rate: Rate): Plan {
  const { spansPerSecond, days, hotDays } = rate;
  const cores = (us: number): number => (spansPerSecond * us) / 1e6;
  const evaluated = (perRun: number): number => perRun / run.spansPerRun;
  const ingestCores = cores(span.serverUs);
  const evaluationCores = cores(evaluated(run.serverUs));
  const postgresCores = cores(span.postgresUs + evaluated(run.postgresUs + deletion.postgresUs));
  const hot = span.tableBytes + span.indexBytes;
  const kept = span.runBytes + evaluated(run.grownBytes + run.packedBytes);
  const spansPerDay = spansPerSecond * SECONDS_PER_DAY;
  const diskTb = (spansPerDay * (hotDays * hot + days * kept)) / FILLED_MAX / BYTES_PER_TB;
  const walMbPerSecond =
    (spansPerSecond * (later.walBytes + evaluated(run.walBytes + deletion.walBytes))) /
    BYTES_PER_MB;
  const serverVcpus = vcpus(ingestCores + evaluationCores);
  const databaseVcpus = vcpus(postgresCores);
  const databases = Math.max(
    Math.ceil(databaseVcpus / DATABASE_VCPUS_MAX),
    Math.ceil(diskTb / DATABASE_DISK_TB_MAX),
    Math.ceil(walMbPerSecond / DATABASE_WAL_MB_MAX),
  );
  return {
    ...rate,
    inMbPerSecond: (spansPerSecond * span.bodyBytes) / BYTES_PER_MB,
    inGzipMbPerSecond: (spansPerSecond * span.gzipBytes) / BYTES_PER_MB,
    postgresMbPerSecond:
      (spansPerSecond * (span.copyBytes + evaluated(run.fromPostgresBytes + run.toPostgresBytes))) /
      BYTES_PER_MB,
    ingestCores,
    evaluationCores,
    postgresCores,
    serverVcpus,
    databaseVcpus,
    databases,
    diskTb,
    walMbPerSecond,
    dollars: {
      compute: (serverVcpus + databaseVcpus) * PRICES.vcpuMonth,
      disk: diskTb * PRICES.diskTbMonth,
    },
  };
}

/** What ClickStack takes for the same telemetry by its makers' estimate, which evaluates no rules. */
export interface ClickStackPlan {
  readonly vcpus: number;
  readonly diskTb: number;
  /** a month, on the same machines and disks, and in ClickHouse Cloud */
  readonly dollars: { readonly own: number; readonly cloud: number };
}

/** @param inMbPerSecond uncompressed */
export function clickStackFor({ inMbPerSecond, days }: Plan): ClickStackPlan {
  const perWork = inMbPerSecond / CLICKSTACK.mbPerVcpu;
  const needed = Math.ceil(perWork + perWork * CLICKSTACK.queriesPerSecond);
  const bytes = inMbPerSecond * BYTES_PER_MB * SECONDS_PER_DAY * days;
  const diskTb = bytes / CLICKSTACK.compression / BYTES_PER_TB;
  return {
    vcpus: needed,
    diskTb,
    dollars: {
      own: needed * PRICES.vcpuMonth + (diskTb / FILLED_MAX) * PRICES.diskTbMonth,
      cloud: needed * PRICES.cloudVcpuMonth + diskTb * PRICES.cloudTbMonth,
    },
  };
}
