/**
 * Where a function that only reads gets its rows from: always the primary, or a standby while that is
 * recent enough (read-replica.ts).
 */
import type { Int64 } from '../../model/json.ts';
import type { DatabaseFor, WorkspaceReader } from '../connection-turns.ts';
import type { Database } from '../database.ts';
import { settledBefore } from '../findings/findings.ts';

export interface ReadChoice {
  /** Runs `work`, which reads and may run twice: on the standby, and then on the primary. */
  readonly read: <T>(
    reader: WorkspaceReader,
    work: (database: Database) => Promise<T>,
  ) => Promise<T>;
  /** As `read`; what the standby does not have is looked up on the primary. */
  readonly find: <T>(
    reader: WorkspaceReader,
    work: (database: Database) => Promise<T | null>,
  ) => Promise<T | null>;
  /** The time before which `read` shows all findings there will ever be; microseconds since 1970. */
  readonly settledBefore: (reader: WorkspaceReader) => Promise<Int64>;
}

export function fromPrimary(primary: DatabaseFor): ReadChoice {
  return {
    read: (reader, work) => work(primary(reader)),
    find: (reader, work) => work(primary(reader)),
    settledBefore: (reader) => settledBefore(primary(reader)),
  };
}
