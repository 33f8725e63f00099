/** What `npm run bench -- ingest` and `ingest-memory` find out. */
import type { RunData } from '../agent-runs/data.ts';
import type { MachineFacts } from '../machine.ts';
import type { Latency } from './latency.ts';
import type { Measured, Series } from './measured.ts';

export const NAMES = {
  sluice: 'Sluice',
  gzip: 'Sluice, gzip',
  rawOne: 'raw COPY, 1 connection',
  rawTwo: 'raw COPY, 2 connections',
  perRequest: 'Fastify + INSERT',
  batched: 'Fastify + INSERT, batches of 10 ms',
  logs: 'Sluice, logs',
  rawLogs: 'raw COPY of logs, 1 connection',
  points: 'Sluice, data points',
  rawPoints: 'raw COPY of data points, 1 connection',
} as const;

/** Data whose rows are stored by Sluice and by raw COPY, beside the benchmark's own. */
export const COPIED_DATA = ['plain', 'conv10', 'conv30'] as const satisfies readonly RunData[];
export const nameOfData = (data: RunData): string => `Sluice, ${data}`;
export const nameOfRawData = (data: RunData): string => `raw COPY of ${data}, 1 connection`;

export interface IngestOptions {
  readonly rounds: number;
  /** a look of a minute; nothing is written */
  readonly quick: boolean;
}

/** A load that came at a fixed rate. */
export interface Paced {
  readonly name: string;
  readonly offered: number;
  /** medians, and what they are of */
  readonly measured: Measured;
  readonly raw: readonly Measured[];
  /** CPU seconds per second: 1 is a core */
  readonly serverCores: number;
  readonly postgresCores: number;
}

export interface Probed {
  readonly name: string;
  /** bytes of one body; 0 when nothing was sent */
  readonly bodyBytes: number;
  readonly rowsPerSecond: number;
  /** medians, and what they are of */
  readonly latency: Latency;
  readonly raw: readonly Latency[];
  /** as `Measured` has it */
  readonly stolenCores: number;
  /** likewise, the most of all rounds; absent in results from before 2026-11-25 */
  readonly residentMb?: number;
}

/** Everything sent as fast as it is answered, for a minute: long enough for what PostgreSQL does later. */
export interface Sustained {
  /** medians */
  readonly measured: Measured;
  /** every minute, and those of raw COPY in turn with them; absent in results from before 2026-11-27 */
  readonly raw?: readonly Measured[];
  readonly copied?: readonly Measured[];
  readonly seconds: number;
  /** that began in the last minute of Sluice */
  readonly checkpoints: number;
  readonly autovacuums: number;
  readonly walMegabytes: number;
}

export interface IngestResult extends IngestOptions {
  readonly name: 'ingest';
  readonly machine: MachineFacts;
  readonly spansPerBody: number;
  readonly bytesPerSpan: number;
  readonly bytesPerLogRecord: number;
  readonly throughput: readonly Series[];
  /** by kind and size of the bodies */
  readonly bodies: readonly Series[];
  readonly connections: readonly Series[];
  /** null in results from before it was measured */
  readonly sustained: Sustained | null;
  readonly paced: readonly Paced[];
  readonly probes: readonly Probed[];
}

export interface MemorySample {
  readonly minutes: number;
  readonly residentMb: number;
}

export interface MemoryResult {
  readonly name: 'ingest-memory';
  readonly machine: MachineFacts;
  readonly minutes: number;
  readonly peakRowsPerSecond: number;
  readonly offered: number;
  readonly rows: number;
  readonly samples: readonly MemorySample[];
}
