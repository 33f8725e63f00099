/**
 * Connections to PostgreSQL: how they are made, how values come back, whether the server will do.
 *
 * Values come back in the project's own forms: uuid as 32 hexadecimal digits without dashes, bytea
 * as Buffer, bigint as decimal text, json parsed, timestamptz as Date.
 */
import pg from 'pg';

import { OperatorError } from '../errors.ts';
import type { Events } from '../observe/events.ts';
import { BoundedPool } from './bounded-pool.ts';
import { clientOf } from './embedded/scram-client.ts';
import { Loan } from './timed-connection.ts';

const UUID_OID = 2950;
/** `ALTER TABLE … DETACH PARTITION … CONCURRENTLY` came with 14. */
const SERVER_VERSION_MIN = 140_000;
const CONNECT_TIMEOUT_MS = 5000;
/** No statement of ours runs longer in good health. Kept by the server. */
const STATEMENT_TIMEOUT_MS = 30_000;
/** Kept by us, for a server that hangs; a little later, so that one that lives speaks first. */
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

export type Database = pg.Pool;
export type Connection = pg.PoolClient;
/** What can carry a single statement, inside a transaction or not. */
export type Queryable = Pick<Database, 'query'> | Pick<Connection, 'query'>;

/**
 * A pool of connections; none is opened before it is needed. Whatever it is asked has an end: a
 * query fails after `QUERY_TIMEOUT_MS`, and `end()` cuts what is still open after a moment.
 *
 * @param url postgres://…; `require_auth=scram-sha-256` in it is kept (scram-client.ts)
 * @param max most connections at a time
 * @param events told of connections that the server ended while idle
 * @param waiting for how long, and how many callers, wait for a connection before they are refused
 *   as `overloaded`
 */
export function createDatabase(
  url: string,
  max: number,
  events: Pick<Events, 'connectionLost'>,
  waiting: { readonly waitMs?: number; readonly waitingMax?: number } = {},
): Database {
  const { waitMs = CONNECT_TIMEOUT_MS, waitingMax = Number.POSITIVE_INFINITY } = waiting;
  const pool = new BoundedPool({
    connectionString: url,
    Client: clientOf(url),
    max,
    types,
    application_name: 'sluice',
    connectionTimeoutMillis: waitMs,
    waitingMax,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    keepAlive: true,
  });
  // Without a listener, the loss of an idle connection would end the process.
  pool.on('error', (error) => events.connectionLost(error));
  // The same for one that is lost while it works: its query rejects, and that is where it is told.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/**
 * A statement that may take longer than `QUERY_TIMEOUT_MS`. The server's own `statement_timeout`
 * must be set as long beside it.
 */
export function slowStatement(text: string, limitMs: number): pg.QueryConfig {
  const statement = { text, query_timeout: limitMs };
  return statement;
}

/**
 * Lends `work` one connection. When `work` fails, what it left open is rolled back, and the
 * connection is thrown away when even that fails.
 *
 * @param limitMs past this the connection is cut, so that whatever `work` waits for rejects
 * @throws what `work` throws; when the time was up, an error that says so
 */
export async function withConnection<T>(
  database: Database,
  limitMs: number,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const loan = new Loan(await database.connect(), limitMs);
  try {
    return await work(loan.connection);
  } catch (error) {
    const { expired } = loan;
    if (expired === null) await loan.rollBack();
    throw expired ?? error;
  } finally {
    loan.end();
  }
}

/**
 * Runs `work` on one connection inside a transaction, as `withConnection` does.
 *
 * @param limitMs for all of it, from BEGIN to COMMIT
 */
export async function inTransaction<T>(
  database: Database,
  work: (connection: Connection) => Promise<T>,
  limitMs: number = TRANSACTION_TIMEOUT_MS,
): Promise<T> {
  return await withConnection(database, limitMs, async (connection) => {
    await connection.query('BEGIN');
    const result = await work(connection);
    await connection.query('COMMIT');
    return result;
  });
}

/**
 * Checks that the server answers and is new enough.
 *
 * @throws {OperatorError} naming DATABASE_URL and what is wrong
 */
export async function checkServer(database: Database): Promise<void> {
  let version: number;
  try {
    const result = await database.query<{ version: number }>(
      "SELECT current_setting('server_version_num')::int AS version",
    );
    version = result.rows[0]?.version ?? 0;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new OperatorError(`The database of DATABASE_URL does not answer: ${why}`, {
      cause: error,
    });
  }
  if (version < SERVER_VERSION_MIN) {
    throw new OperatorError(
      `PostgreSQL 14 or newer is needed; DATABASE_URL leads to ${Math.floor(version / 10_000)}`,
    );
  }
}

/**
 * Checks that the server allows as many connections as this process may open.
 *
 * @param needed connections of this process
 * @throws {OperatorError} naming both numbers and what to change
 */
export async function checkConnections(database: Database, needed: number): Promise<void> {
  const { rows } = await database.query<{ allowed: number }>(
    "SELECT current_setting('max_connections')::int AS allowed",
  );
  const allowed = rows[0]?.allowed ?? 0;
  if (needed <= allowed) return;
  throw new OperatorError(
    `PostgreSQL allows ${allowed} connections and this process may open ${needed}: ` +
      'lower MATCH_THREADS or HTTP_THREADS, or restart PostgreSQL with a larger max_connections',
  );
}

/** The `db` probe: resolves when a query has gone through. */
export async function ping(database: Database): Promise<void> {
  await database.query('SELECT 1');
}
