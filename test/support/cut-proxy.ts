/** A TCP proxy before PostgreSQL that breaks connections at a COMMIT. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import pg from 'pg';

/** The fate of the next COMMIT: PostgreSQL gets it and its answer is lost, or it is lost itself. */
export type Cut = 'answer' | 'commit';

export interface CutProxy {
  /** the database's URL, through the proxy */
  readonly url: string;
  /** Breaks the connection of the next COMMIT. */
  readonly cutNext: (cut: Cut) => void;
  readonly close: () => Promise<void>;
}

/** @param url of a database, by a port or a Unix socket */
export async function openCutProxy(url: string): Promise<CutProxy> {
  const { host, port, user = '', password = '', database = '' } = new pg.Client(url);
  const target = host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
  const sockets = new Set<Socket>();
  let cut: Cut | null = null;
  const server = createServer((client) => {
    const upstream = connect(target);
    let isLosing = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk) => {
      if (cut !== null && chunk.includes('COMMIT')) {
        const what = cut;
        cut = null;
        if (what === 'commit') {
          client.destroy();
          return;
        }
        isLosing = true;
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (isLosing) client.destroy();
      else client.write(chunk);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${address.port}/${database}`,
    cutNext: (what) => {
      cut = what;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
