/**
 * Connection pools by purpose. Each kind of work has its own, so that work that waits for a lock or
 * a slow read does not keep other work from the database:
 *
 *   ingest      writer lanes, keys
 *   reads       API, dashboard, exports, by turns of workspaces
 *   accounts    sign-in, sessions; changes in the dashboard, by turns of workspaces
 *   probes      /ready
 *   background  pass, upkeep, start
 */
import type { Config } from '../config/config.ts';
import { ConnectionTurns, type DatabaseFor, type TurnLimits } from '../db/connection-turns.ts';
import { createDatabase, type Database } from '../db/database.ts';
import type { DatabaseUrls } from '../db/embedded/address.ts';
import { ReadReplica, type ReplicaEvents } from '../db/replica/read-replica.ts';
import type { Events } from '../observe/events.ts';

/** Three lanes of the writer, and two for keys, new days and refused requests. */
const INGEST_CONNECTIONS = 5;
/** Limits of reads, on the primary and on a replica. Clients usually wait longer than `waitMs`. */
export const READ_TURNS: TurnLimits = {
  connections: 4,
  workspaceMax: 3,
  exportsMax: 2,
  workspaceExportsMax: 1,
  waitMs: 2000,
  waitingMax: 256,
  workspaceWaitingMax: 64,
};
const ACCOUNT_CONNECTIONS = 3;
/** Maximum sign-ins and look-ups of sessions that wait for a connection. */
const ACCOUNTS_WAITING_MAX = 64;
/**
 * Limits of changes. They use the connections for accounts, and leave one for sign-in. Changes of one
 * workspace wait for each other in any case, because they lock its audit log.
 */
export const WRITE_TURNS: TurnLimits = {
  connections: 2,
  workspaceMax: 1,
  exportsMax: 0,
  workspaceExportsMax: 0,
  waitMs: 5000,
  waitingMax: 256,
  workspaceWaitingMax: 64,
};
const PROBE_CONNECTIONS = 1;
/** The pass's claims and lease renewals, and upkeep, which may wait for readers of a partition. */
const BACKGROUND_CONNECTIONS = 3;

export const REQUEST_CONNECTIONS =
  INGEST_CONNECTIONS + READ_TURNS.connections + ACCOUNT_CONNECTIONS + PROBE_CONNECTIONS;
/** Connections for everything else but matching. */
export const MAIN_CONNECTIONS = BACKGROUND_CONNECTIONS + PROBE_CONNECTIONS;

export interface RequestDatabases {
  readonly ingest: Database;
  readonly reads: DatabaseFor;
  readonly writes: DatabaseFor;
  readonly accounts: Database;
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

/** A connection that closes meanwhile is not reported as lost. */
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

/** @param primary measures how far it is behind */
export function openReplica(
  { databaseReadUrl: url, databaseReadLagMaxMs: lagMaxMs }: ReplicaConfig,
  primary: Database,
  events: ReplicaEvents,
): ReadReplica | null {
  if (url === null) return null;
  return new ReadReplica(primary, { url, lagMaxMs, turns: READ_TURNS }, events);
}

/** The pools for requests; connections are opened on demand. */
export function openForRequests(
  { url, copyUrl }: DatabaseUrls,
  events: PoolEvents,
): RequestDatabases & Closing {
  const closing = { isClosing: false };
  const openEvents = untilClosing(events, closing);
  const ingest = createDatabase(copyUrl, INGEST_CONNECTIONS, openEvents);
  const { connections, waitMs } = READ_TURNS;
  const reads = createDatabase(url, connections, openEvents, { waitMs });
  const waiting = { waitMs, waitingMax: ACCOUNTS_WAITING_MAX };
  const accounts = createDatabase(url, ACCOUNT_CONNECTIONS, openEvents, waiting);
  const probes = createDatabase(url, PROBE_CONNECTIONS, openEvents);
  return {
    ingest,
    reads: new ConnectionTurns(reads, READ_TURNS).of,
    writes: new ConnectionTurns(accounts, WRITE_TURNS).of,
    accounts,
    probes,
    close: closeAll([ingest, reads, accounts, probes], closing),
  };
}

/** @param max connections for background work; commands need another number than the server */
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
