/** One measurement of a load, and what several of them come to. Pure. */
import { median } from '../harness.ts';
import type { Latency } from './latency.ts';

export interface CpuCost {
  /** the process that takes requests; 0 where there is none */
  readonly server: number;
  /** all processes of the cluster */
  readonly postgres: number;
  /** the load generator, or the client that copies */
  readonly client: number;
}

export interface Measured {
  readonly rows: number;
  readonly seconds: number;
  readonly rowsPerSecond: number;
  /** of request bodies as sent, or of COPY bytes, in millions */
  readonly megabytesPerSecond: number;
  readonly cpu: CpuCost;
  /** null where nothing is acknowledged one by one */
  readonly latency: Latency | null;
  /** most resident memory of the server meanwhile, megabytes; 0 where there is none */
  readonly residentMb: number;
  /** CPU seconds per second that the machine's host gave to others meanwhile: 1 is a core */
  readonly stolenCores: number;
  /**
   * bytes of a row: written to the WAL meanwhile, and in the files of its table and of the runs, with their
   * indexes. Absent in results from before 2026-11-27.
   */
  readonly stored?: { readonly wal: number; readonly disk: number };
}

export interface Series {
  readonly name: string;
  readonly raw: readonly Measured[];
}

/** The median of every figure, each taken by itself; null of nothing. */
export function medianLatency(raw: readonly (Latency | null)[]): Latency | null {
  const all = raw.filter((one) => one !== null);
  if (all.length === 0) return null;
  const of = (pick: (one: Latency) => number): number => median(all.map(pick));
  return {
    p50: of((one) => one.p50),
    p95: of((one) => one.p95),
    p99: of((one) => one.p99),
    max: of((one) => one.max),
    count: of((one) => one.count),
  };
}

function medianStored(raw: readonly Measured[]): Pick<Measured, 'stored'> {
  const all = raw.flatMap(({ stored }) => stored ?? []);
  if (all.length === 0) return {};
  return {
    stored: { wal: median(all.map(({ wal }) => wal)), disk: median(all.map(({ disk }) => disk)) },
  };
}

export function medianOf({ raw }: Pick<Series, 'raw'>): Measured {
  const of = (pick: (one: Measured) => number): number => median(raw.map(pick));
  return {
    rows: of((one) => one.rows),
    seconds: of((one) => one.seconds),
    rowsPerSecond: of((one) => one.rowsPerSecond),
    megabytesPerSecond: of((one) => one.megabytesPerSecond),
    cpu: {
      server: of((one) => one.cpu.server),
      postgres: of((one) => one.cpu.postgres),
      client: of((one) => one.cpu.client),
    },
    latency: medianLatency(raw.map(({ latency }) => latency)),
    residentMb: of((one) => one.residentMb),
    stolenCores: of((one) => one.stolenCores),
    ...medianStored(raw),
  };
}

/**
 * How many times as many rows per second as another: the ratio is taken within each round, so that
 * a busy machine slows both alike, and the median counts.
 */
export function ratioOf(one: Series, other: Series): number {
  return median(
    one.raw.map(
      ({ rowsPerSecond }, round) => rowsPerSecond / (other.raw[round]?.rowsPerSecond ?? 0),
    ),
  );
}

/** The series of a name. @throws when nothing of that name was measured */
export function seriesOf(all: readonly Series[], name: string): Series {
  const found = all.find((one) => one.name === name);
  if (found === undefined) throw new Error(`nothing was measured as ${name}`);
  return found;
}

export function lineOf(name: string, { rowsPerSecond, latency, cpu }: Measured): string {
  const times = latency === null ? '' : `, p50 ${latency.p50} p99 ${latency.p99} ms`;
  return (
    `${name}: ${rowsPerSecond.toLocaleString('en')} rows/s${times}, CPU s per million rows: ` +
    `server ${cpu.server}, PostgreSQL ${cpu.postgres}, client ${cpu.client}`
  );
}
