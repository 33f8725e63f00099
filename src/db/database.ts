/**
 * Connections to PostgreSQL: pools, transactions with a time limit, and checks of the server.
 *
 * Values come back in the project's own forms: uuid as 32 hexadecimal digits without dashes, bytea
 * as Buffer, bigint as decimal text, json parsed, timestamptz as Date.
 */
import pg from 'pg';
import { parseDatabaseUrl } from '../database-url.ts';
import { OperatorError, UnavailableError } from '../errors.ts';
import type { Events } from '../observe/events.ts';
import { BoundedPool } from './bounded-pool.ts';
import { clientOf } from './embedded/scram-client.ts';
import { createSwitchingClient, HostChoice } from './host-choice.ts';
import { isReadOnly } from './outage.ts';

const UUID_OID = 2950;
/** `ALTER TABLE … DETACH PARTITION … CONCURRENTLY` came with 14. */
const SERVER_VERSION_MIN = 140_000;
const CONNECT_TIMEOUT_MS = 5000;
/**
 * Enforced by the server; on a healthy server no statement takes as long. Set for each transaction,
 * because a connection through a pooler has no session (limited-query.ts).
 */
export const STATEMENT_TIMEOUT_MS = 30_000;
/** Enforced here, for a server that hangs; a little later, so that the server's error comes first. */
const QUERY_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 2000;
/** A transaction is a few statements. */
const TRANSACTION_TIMEOUT_MS = 60_000;
const IDLE_TIMEOUT_MS = 30_000;

const stripDashes = (text: string): string => text.replaceAll('-', '');

const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === UUID_OID
      ? stripDashes
      : format === undefined
        ? pg.types.getTypeParser(oid)
        : pg.types.getTypeParser(oid, format),
};

export type DatabasePool = pg.Pool;
/** A pool, or the part of one that a reader may use (connection-turns.ts). */
export type Database = Pick<DatabasePool, 'query' | 'connect' | 'end'>;
export type Connection = pg.PoolClient;
export type Queryable = Pick<Database, 'query'> | Pick<Connection, 'query'>;

function loginOf(url: string): { connectionString: string; Client: typeof pg.Client } {
  const parsed = parseDatabaseUrl(url);
  if (typeof parsed === 'string') throw new OperatorError(`DATABASE_URL ${parsed}`);
  const { urls, target } = parsed;
  const [connectionString] = urls;
  const Client = clientOf(connectionString);
  if (target === null) return { connectionString, Client };
  const choice = new HostChoice(urls, target, Client);
  return { connectionString, Client: createSwitchingClient(Client, choice) };
}

/**
 * Creates a pool of connections; none is opened before it is needed. `waiting` says how long, and how many,
 * callers wait before they are refused as `overloaded`.
 */
export function createDatabase(
  url: string,
  max: number,
  events: Pick<Events, 'connectionLost'> & Partial<Pick<Events, 'connectionOpened'>>,
  waiting: { readonly waitMs?: number; readonly waitingMax?: number } = {},
): DatabasePool {
  const { waitMs = CONNECT_TIMEOUT_MS, waitingMax = Number.POSITIVE_INFINITY } = waiting;
  const { connectionString, Client } = loginOf(url);
  const pool = new BoundedPool({
    connectionString,
    Client,
    max,
    types,
    application_name: 'sluice',
    connectionTimeoutMillis: waitMs,
    waitingMax,
    statementLimitMs: STATEMENT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    keepAlive: true,
  });
  // Without a listener, the loss of an idle connection would end the process.
  pool.on('error', (error) => events.connectionLost(error));
  // The same for a connection that is in use; its query rejects with the error.
  pool.on('connect', (client) => {
    client.on('error', () => {});
    events.connectionOpened?.();
  });
  return pool;
}

/** A statement with another time limit; for a longer one, set `statement_timeout` too. */
export function limitedStatement(text: string, limitMs: number): pg.QueryConfig {
  const statement = { text, query_timeout: limitMs };
  return statement;
}

/**
 * Runs `work` with one connection, which may lead through a pooler. After `limitMs` it is destroyed, so that
 * what `work` awaits rejects; when `work` fails, its transaction is rolled back.
 */
export async function withConnection<T>(
  database: Database,
  limitMs: number,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const timed = new TimedConnection(await database.connect(), limitMs);
  try {
    return await work(timed.connection);
  } catch (error) {
    const { expired } = timed;
    if (isReadOnly(error)) timed.release(error);
    else if (expired === null) await timed.rollBack();
    throw expired ?? error;
  } finally {
    timed.release();
  }
}

/** Runs `work` inside a transaction, as `withConnection` does; `limitMs` is from BEGIN to COMMIT. */
export async function inTransaction<T>(
  database: Database,
  work: (connection: Connection) => Promise<T>,
  limitMs: number = TRANSACTION_TIMEOUT_MS,
): Promise<T> {
  return await withConnection(database, limitMs, async (connection) => {
    await connection.query(`BEGIN; SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}`);
    const result = await work(connection);
    await connection.query('COMMIT');
    return result;
  });
}

/** Runs statements that see the database as it was at the first of them. They only read. */
export async function inSnapshot<T>(
  database: Database,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  return await inTransaction(database, async (connection) => {
    await connection.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    return await work(connection);
  });
}

/** The row of a statement that always gives one, such as a count or INSERT … RETURNING. */
export function onlyRow<Row>({ rows: [row] }: { readonly rows: readonly Row[] }): Row {
  if (row === undefined) throw new Error('a statement that gives one row gave none');
  return row;
}

/** Checks that the server answers and is new enough. @throws {OperatorError} */
export async function checkServer(database: Database, setting = 'DATABASE_URL'): Promise<void> {
  let version: number;
  try {
    const result = await database.query<{ version: number }>(
      "SELECT current_setting('server_version_num')::int AS version",
    );
    version = result.rows[0]?.version ?? 0;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new OperatorError(`Cannot connect to the database of ${setting}: ${why}`, {
      cause: error,
    });
  }
  if (version < SERVER_VERSION_MIN) {
    throw new OperatorError(
      `PostgreSQL 14 or newer is required; the server of ${setting} is version ${Math.floor(version / 10_000)}`,
    );
  }
}

/** Checks that the server allows as many connections as this process may open. @throws {OperatorError} */
export async function checkConnections(database: Database, needed: number): Promise<void> {
  const { rows } = await database.query<{ allowed: number }>(
    "SELECT current_setting('max_connections')::int AS allowed",
  );
  const allowed = rows[0]?.allowed ?? 0;
  if (needed <= allowed) return;
  throw new OperatorError(
    `PostgreSQL allows ${allowed} connections and this process may open ${needed}: ` +
      'lower MATCH_THREADS, or restart PostgreSQL with a larger max_connections',
  );
}

export async function ping(database: Database): Promise<void> {
  await database.query('SELECT 1');
}

// A connection of the pool with a time limit, after which it is destroyed whatever it is doing, so
// that its pending query rejects.
//
//   in use ──release──► back in the pool      in use ──limit passed, ROLLBACK fails──► destroyed

const ROLLBACK_TIMEOUT_MS = 2000;

class TimedConnection {
  readonly connection: pg.PoolClient;
  #timer: NodeJS.Timeout;
  #expired: Error | null = null;
  #isReleased = false;

  constructor(connection: pg.PoolClient, limitMs: number) {
    this.connection = connection;
    this.#timer = this.#startTimer(limitMs);
  }

  get expired(): Error | null {
    return this.#expired;
  }

  /** Rolls an open transaction back, or destroys the connection. */
  async rollBack(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = this.#startTimer(ROLLBACK_TIMEOUT_MS);
    try {
      await this.connection.query('ROLLBACK');
    } catch (error) {
      this.release(error instanceof Error ? error : new Error('ROLLBACK failed'));
    }
  }

  /** Returns the connection to the pool, once. @param broken destroys it instead; its pending query rejects */
  release(broken?: Error): void {
    clearTimeout(this.#timer);
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.connection.release(broken);
  }

  #startTimer(limitMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#expired = new UnavailableError(`The database took longer than ${limitMs} ms.`);
      this.release(this.#expired);
    }, limitMs);
  }
}
