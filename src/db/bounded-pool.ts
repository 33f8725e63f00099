/**
 * A pool whose end is bounded. pg waits for the server to hang up, and one that hangs never does; so
 * the pool makes its sockets itself, and cuts them after a moment. Everything else is pg's own.
 */
import { Socket } from 'node:net';
import pg from 'pg';

/** How long a server may take to hang up once we have said goodbye. */
const GOODBYE_TIMEOUT_MS = 2000;

/** As `pg.Pool`, but `end()` always resolves; a query still under way then rejects. */
export class BoundedPool extends pg.Pool {
  readonly #sockets: ReadonlySet<Socket>;

  constructor(config: pg.PoolConfig) {
    const sockets = new Set<Socket>();
    const stream = (): Socket => {
      const socket = new Socket();
      sockets.add(socket);
      return socket.once('close', () => sockets.delete(socket));
    };
    super({ ...config, stream });
    this.#sockets = sockets;
  }

  override async end(callback?: () => void): Promise<void> {
    const timer = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, GOODBYE_TIMEOUT_MS);
    try {
      await super.end();
    } finally {
      clearTimeout(timer);
    }
    callback?.();
  }
}
