/** One measurement of a load, and what several of them come to. Pure. */
import { median } from '../harness.ts';
import type { Latency } from './latency.ts';

/** CPU seconds per million rows. */
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
}

/** A load, measured once in every round. */
export interface Series {
  readonly name: string;
  readonly raw: readonly Measured[];
}

/** The median of every figure, each taken by itself. */
export function medianOf({ raw }: Series): Measured {
  const of = (pick: (one: Measured) => number): number => median(raw.map(pick));
  const latency = (pick: (one: Latency) => number): number =>
    median(raw.flatMap((one) => (one.latency === null ? [] : [pick(one.latency)])));
  const hasLatency = raw.some((one) => one.latency !== null);
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
    latency: hasLatency
      ? {
          p50: latency((one) => one.p50),
          p95: latency((one) => one.p95),
          p99: latency((one) => one.p99),
          max: latency((one) => one.max),
          count: latency((one) => one.count),
        }
      : null,
    residentMb: of((one) => one.residentMb),
  };
}

/**
 * How many times as many rows per second as another: the ratio is taken within each round, so that a
 * busy machine slows both alike, and the median counts.
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
