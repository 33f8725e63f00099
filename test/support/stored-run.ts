/** A database for tests that read one run back: the run's key, and storing rows of it. */
import { ensureDay } from '../../src/db/telemetry/partitions.ts';
import { type MigratedDatabase, openMigratedDatabase } from './migrated-database.ts';
import { DAY_MS, decodedRequest, NOON_MS, type RowsRequest, TRACE_ID } from './rows.ts';
import { encodeRequests, storeRequests } from './store-requests.ts';

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
