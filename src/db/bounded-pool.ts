/**
 * A `pg.Pool` whose waits are bounded. `pg` waits for the server to close a connection, which a server
 * that hangs never does; so the pool creates its sockets and destroys them after a timeout. When all
 * connections are in use, a limited number of callers wait for a limited time; others are refused as
 * `overloaded`. Single statements have a limit on the server as well.
 */
import { Socket } from 'node:net';
import pg from 'pg';

import { SluiceError } from '../errors.ts';
import { LimitedQuery } from './limited-query.ts';

/** For how long `end()` waits until the server has closed the connections. */
const CLOSE_TIMEOUT_MS = 2000;
/** pg-pool's message for a wait that took too long; it has no code. */
const WAITED_TOO_LONG = 'timeout exceeded when trying to connect';

interface BoundedPoolConfig extends pg.PoolConfig {
  /** most callers that wait for a connection at a time; no limit by default */
  readonly waitingMax?: number;
  /** of every statement given to `query`, enforced by the server */
  readonly statementLimitMs: number;
}

type OnConnection = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  release: (release?: Error | boolean) => void,
) => void;

export function allInUse(cause?: Error): SluiceError {
  const message = 'All connections to the database are in use.';
  return new SluiceError('overloaded', message, { cause, shortage: 'connections' });
}

function orAllInUse(error: Error): Error {
  return error.message === WAITED_TOO_LONG ? allInUse(error) : error;
}

/** As `pg.Pool`, but `end()` always resolves, and every wait for a connection is bounded. */
export class BoundedPool extends pg.Pool {
  readonly #sockets: ReadonlySet<Socket>;
  readonly #waitingMax: number;

  constructor({
    waitingMax = Number.POSITIVE_INFINITY,
    statementLimitMs,
    ...config
  }: BoundedPoolConfig) {
    const sockets = new Set<Socket>();
    const stream = (): Socket => {
      const socket = new Socket();
      sockets.add(socket);
      return socket.once('close', () => sockets.delete(socket));
    };
    super({ ...config, stream });
    this.#sockets = sockets;
    this.#waitingMax = waitingMax;
    const query = super.query.bind(this) as (statement: LimitedQuery) => Promise<pg.QueryResult>;
    this.query = ((statement: string | pg.QueryConfig, values?: unknown[]) =>
      query(new LimitedQuery(statementLimitMs, statement, values))) as pg.Pool['query'];
  }

  /** `query` uses this method too, in its callback form. */
  override connect(): Promise<pg.PoolClient>;
  override connect(callback: OnConnection): void;
  override connect(callback?: OnConnection): Promise<pg.PoolClient> | undefined {
    const connecting = new Promise<pg.PoolClient>((resolve, reject) => {
      if (this.waitingCount >= this.#waitingMax) reject(allInUse());
      else super.connect().then(resolve, (error: Error) => reject(orAllInUse(error)));
    });
    if (callback === undefined) return connecting;
    connecting.then(
      (client) => callback(undefined, client, (broken) => client.release(broken)),
      (error: Error) => callback(error, undefined, () => {}),
    );
    return undefined;
  }

  override async end(callback?: () => void): Promise<void> {
    const timer = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, CLOSE_TIMEOUT_MS);
    try {
      await super.end();
    } finally {
      clearTimeout(timer);
    }
    callback?.();
  }
}
