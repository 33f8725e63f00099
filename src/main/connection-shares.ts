/**
 * Connections by what they are for. Each kind of work has its own, so that one that waits, for a lock that
 * somebody holds or for slow reads, keeps no other from the database:
 *
 *   ingest      writer lanes, keys           each thread that takes requests
 *   reads       API, dashboard, exports      each thread that takes requests
 *   probes      /ready                       each thread that takes requests, and the main one
 *   background  pass, upkeep, start          the main thread
 */
import { createDatabase, type Database } from '../db/database.ts';
import type { Events } from '../observe/events.ts';

/** Three lanes of the writer, and two for keys, new days and refused requests. */
const INGEST_CONNECTIONS = 5;
/** Reads that PostgreSQL answers at a time; the others wait for one. */
const READ_CONNECTIONS = 4;
/** Reads of a thread that wait; one more is answered 503. */
const READS_WAITING_MAX = 64;
/** … and so is one that has waited this long, which leaves a reader's own time limit most of its time. */
const READ_WAIT_MS = 2000;
const PROBE_CONNECTIONS = 1;
/** Claims and renewals of the pass, and upkeep, which may wait for readers of a partition. */
const BACKGROUND_CONNECTIONS = 3;

/** Of a thread that takes requests. */
export const REQUEST_CONNECTIONS = INGEST_CONNECTIONS + READ_CONNECTIONS + PROBE_CONNECTIONS;
/** Of the main thread, beside those if it takes requests. */
export const MAIN_CONNECTIONS = BACKGROUND_CONNECTIONS + PROBE_CONNECTIONS;

/** What takes requests works with. */
export interface RequestDatabases {
  readonly ingest: Database;
  readonly reads: Database;
  readonly probes: Database;
}

/** What the main thread works with. */
export interface MainDatabases {
  readonly background: Database;
  readonly probes: Database;
}

type PoolEvents = Pick<Events, 'connectionLost'>;

interface Closing {
  readonly close: () => Promise<void>;
}

/** Ends all pools; while they end, a connection that the server closes is no loss. */
function closeAll(pools: readonly Database[], closing: { isClosing: boolean }): Closing['close'] {
  return async () => {
    closing.isClosing = true;
    await Promise.all(pools.map((pool) => pool.end()));
  };
}

function quietly(events: PoolEvents, closing: { readonly isClosing: boolean }): PoolEvents {
  return {
    connectionLost: (error) => {
      if (!closing.isClosing) events.connectionLost(error);
    },
  };
}

/** The connections of one thread that takes requests; none is opened before it is needed. */
export function openForRequests(url: string, events: PoolEvents): RequestDatabases & Closing {
  const closing = { isClosing: false };
  const told = quietly(events, closing);
  const ingest = createDatabase(url, INGEST_CONNECTIONS, told);
  const waiting = { waitMs: READ_WAIT_MS, waitingMax: READS_WAITING_MAX };
  const reads = createDatabase(url, READ_CONNECTIONS, told, waiting);
  const probes = createDatabase(url, PROBE_CONNECTIONS, told);
  return { ingest, reads, probes, close: closeAll([ingest, reads, probes], closing) };
}

/** The main thread's own. @param max connections for its work, other than a server's */
export function openForMain(
  url: string,
  events: PoolEvents,
  max: number = BACKGROUND_CONNECTIONS,
): MainDatabases & Closing {
  const closing = { isClosing: false };
  const told = quietly(events, closing);
  const background = createDatabase(url, max, told);
  const probes = createDatabase(url, PROBE_CONNECTIONS, told);
  return { background, probes, close: closeAll([background, probes], closing) };
}
