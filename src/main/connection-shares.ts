/**
 * Connection pools by purpose. Each kind of work has its own, so that work that waits for a lock or
 * a slow read does not keep other work from the database:
 *
 *   ingest      writer lanes, keys
 *   reads       API, dashboard, exports
 *   probes      /ready
 *   background  pass, upkeep, start
 */
import type { Config } from '../config/config.ts';
import { createDatabase, type Database } from '../db/database.ts';
import type { DatabaseUrls } from '../db/embedded/address.ts';
import { ReadReplica, type ReplicaEvents } from '../db/replica/read-replica.ts';
import type { Events } from '../observe/events.ts';

/** Three lanes of the writer, and two for keys, new days and refused requests. */
const INGEST_CONNECTIONS = 5;
/** Concurrent reads; further ones wait for a connection. */
const READ_CONNECTIONS = 4;
/** Most reads that wait; one more is answered 503. */
const READS_WAITING_MAX = 64;
/** A read that has waited this long is answered 503: well within a client's own time limit. */
const READ_WAIT_MS = 2000;
const PROBE_CONNECTIONS = 1;
/** The pass's claims and lease renewals, and upkeep, which may wait for readers of a partition. */
const BACKGROUND_CONNECTIONS = 3;

/** Connections for requests. */
export const REQUEST_CONNECTIONS = INGEST_CONNECTIONS + READ_CONNECTIONS + PROBE_CONNECTIONS;
/** Connections for everything else but matching. */
export const MAIN_CONNECTIONS = BACKGROUND_CONNECTIONS + PROBE_CONNECTIONS;

/** The pools for requests. */
export interface RequestDatabases {
  readonly ingest: Database;
  readonly reads: Database;
  readonly probes: Database;
}

/** The pools for background work, and for its probes. */
export interface MainDatabases {
  readonly background: Database;
  readonly probes: Database;
}

type ReplicaConfig = Pick<Config, 'databaseReadUrl' | 'databaseReadLagMaxMs'>;

type PoolEvents = Pick<Events, 'connectionLost'> & Partial<Pick<Events, 'connectionOpened'>>;

interface Closing {
  readonly close: () => Promise<void>;
}

/** Ends all pools; a connection that closes meanwhile is not reported as lost. */
function closeAll(pools: readonly Database[], closing: { isClosing: boolean }): Closing['close'] {
  return async () => {
    closing.isClosing = true;
    await Promise.all(pools.map((pool) => pool.end()));
  };
}

function untilClosing(events: PoolEvents, closing: { readonly isClosing: boolean }): PoolEvents {
  return {
    connectionLost: (error) => {
      if (!closing.isClosing) events.connectionLost(error);
    },
    connectionOpened: () => events.connectionOpened?.(),
  };
}

/**
 * The read replica that is configured, or null.
 *
 * @param primary measures how far it is behind
 */
export function openReplica(
  { databaseReadUrl: url, databaseReadLagMaxMs: lagMaxMs }: ReplicaConfig,
  primary: Database,
  events: ReplicaEvents,
): ReadReplica | null {
  if (url === null) return null;
  const waiting = { waitMs: READ_WAIT_MS, waitingMax: READS_WAITING_MAX };
  const settings = { url, connections: READ_CONNECTIONS, lagMaxMs, waiting };
  return new ReadReplica(primary, settings, events);
}

/** The pools for requests; connections are opened on demand. */
export function openForRequests(
  { url, copyUrl }: DatabaseUrls,
  events: PoolEvents,
): RequestDatabases & Closing {
  const closing = { isClosing: false };
  const openEvents = untilClosing(events, closing);
  const ingest = createDatabase(copyUrl, INGEST_CONNECTIONS, openEvents);
  const waiting = { waitMs: READ_WAIT_MS, waitingMax: READS_WAITING_MAX };
  const reads = createDatabase(url, READ_CONNECTIONS, openEvents, waiting);
  const probes = createDatabase(url, PROBE_CONNECTIONS, openEvents);
  return { ingest, reads, probes, close: closeAll([ingest, reads, probes], closing) };
}

/**
 * The pools for background work.
 *
 * @param max connections for background work; commands need another number than the server
 */
export function openForMain(
  url: string,
  events: PoolEvents,
  max: number = BACKGROUND_CONNECTIONS,
): MainDatabases & Closing {
  const closing = { isClosing: false };
  const openEvents = untilClosing(events, closing);
  const background = createDatabase(url, max, openEvents);
  const probes = createDatabase(url, PROBE_CONNECTIONS, openEvents);
  return { background, probes, close: closeAll([background, probes], closing) };
}
