/** Requests and runs in a database: stored as the writer stores them, read back as the pass and an export read them. */
import type { Connection, Database } from '../../src/db/database.ts';
import type { ReadChoice } from '../../src/db/replica/read-choice.ts';
import type { RunToRead, StepLimits } from '../../src/db/runs/run-to-read.ts';
import { BlockCompressor } from '../../src/db/telemetry/block-codec.ts';
import { packBlocks } from '../../src/db/telemetry/blocks.ts';
import { storeBatch } from '../../src/db/telemetry/copy-transaction.ts';
import type { EncodedRequest } from '../../src/db/telemetry/encoded-request.ts';
import { ensureDay } from '../../src/db/telemetry/partitions.ts';
import { toEnd } from '../../src/otlp/pieces.ts';
import { createRunExporter, type ExportedSignal } from '../../src/reads/run-export.ts';
import type { StepsOfRun } from '../../src/reads/run-reading.ts';
import { RunSteps } from '../../src/reads/run-steps.ts';
import { readStepsOfRuns } from '../../src/reads/steps-of-runs.ts';
import { type MigratedDatabase, openMigratedDatabase } from './database.ts';
import { encodeRequest } from './decoding.ts';
import { DAY_MS, decodedRequest, NOON_MS, type RowsRequest, TRACE_ID } from './rows.ts';

const compressor = new BlockCompressor();

/** Stores a batch with its blocks. */
export async function storeRequests(
  connection: Connection,
  requests: readonly EncodedRequest[],
  settings: Omit<Parameters<typeof storeBatch>[2], 'blocks'> = {},
): Promise<void> {
  const blocks = await packBlocks(requests, compressor);
  await storeBatch(connection, requests, { ...settings, blocks });
}

/** Encodes spans and log records, which are sent in different requests. */
export function encodeRequests(
  request: RowsRequest,
  workspaceId: number,
  arrivedAtMs: number,
  logRuns?: Parameters<typeof encodeRequest>[3],
): EncodedRequest[] {
  const { spans, logs } = request;
  const requests: RowsRequest[] =
    spans.length > 0 && logs.length > 0
      ? [
          { ...request, signal: 'traces', logs: [] },
          { ...request, signal: 'logs', spans: [] },
        ]
      : [request];
  return requests.map((one) => encodeRequest(one, workspaceId, arrivedAtMs, logRuns));
}

/** A day of the calendar, as partitions are named. */
export const dayOf = (epochMs: number): string => new Date(epochMs).toISOString().slice(0, 10);

/** Its rows arrive on two days. */
export const RUN = {
  workspaceId: 1,
  runId: TRACE_ID,
  firstArrivalOn: dayOf(NOON_MS),
  lastArrivalOn: dayOf(NOON_MS + DAY_MS),
};

export interface StoredRun {
  readonly scratch: MigratedDatabase;
  readonly store: (
    fields: Partial<RowsRequest>,
    options?: { readonly workspaceId?: number; readonly arrivedAtMs?: number },
  ) => Promise<void>;
}

/** Opens a database with partitions for the run's days and one later day. */
export async function openStoredRun(): Promise<StoredRun> {
  const scratch = await openMigratedDatabase();
  for (const days of [0, 1, 4]) await ensureDay(scratch.database, NOON_MS + days * DAY_MS);
  return {
    scratch,
    store: async (fields, { workspaceId = 1, arrivedAtMs = NOON_MS } = {}) => {
      const connection = await scratch.database.connect();
      try {
        const requests = encodeRequests(decodedRequest(fields), workspaceId, arrivedAtMs);
        await storeRequests(connection, requests);
      } finally {
        connection.release();
      }
    },
  };
}

/** A run without steps. */
export const NO_STEPS: StepsOfRun = {
  steps: [],
  bytes: 0,
  unread: 0,
  repeats: 0,
  unreadable: { blocks: 0, steps: 0 },
  hot: [],
};

export async function readSteps(
  database: Database,
  run: RunToRead,
  limits?: StepLimits,
): Promise<StepsOfRun> {
  const [only] = await readStepsOfRuns(database, [run], limits);
  return only ?? NO_STEPS;
}

/** Starts to export a run. */
export async function beginExport(
  database: Database,
  workspaceId: number,
  runId: string,
  signal: ExportedSignal,
): Promise<AsyncGenerator<Buffer>> {
  const read = async <T>(_reader: unknown, work: (db: Database) => Promise<T>) => work(database);
  const choice = { read, find: read } as unknown as ReadChoice;
  const turns = {
    takeInPieces: async <T>(_workspaceId: number, work: Iterator<void, T, void>) =>
      toEnd(work as Generator<void, T, void>),
  };
  const slots = { take: () => {}, release: () => {} };
  const exporter = createRunExporter(choice, new RunSteps(choice), {
    turns,
    slots,
    report: () => {},
  });
  return await exporter.exportOtlp(workspaceId, runId, signal);
}

/** The lines of a run; none for a run that the database does not have. */
export async function exportRun(
  database: Database,
  workspaceId: number,
  runId: string,
  signal: ExportedSignal,
): Promise<string[]> {
  let text = '';
  for await (const chunk of await beginExport(database, workspaceId, runId, signal)) {
    text += chunk.toString();
  }
  if (text !== '' && !text.endsWith('\n')) throw new Error('a line without its end');
  return text.split('\n').slice(0, -1);
}

/** Events of a writer that nobody looks at: what goes wrong rejects the offer. */
export const silentEvents = {
  inflightChanged: () => {},
  batchCommitted: () => {},
  batchFailed: () => {},
  requestUnstorable: () => {},
  requestsResent: () => {},
  partitionsChanged: () => {},
};
