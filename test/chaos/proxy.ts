/** A TCP proxy between a server and PostgreSQL that can cut, drop and delay what passes. */
import { EventEmitter, once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What happens to connections and bytes. */
type Network =
  | { readonly is: 'up' }
  /** connections are reset, new ones are refused */
  | { readonly is: 'cut' }
  /** connections are taken and nothing passes */
  | { readonly is: 'dropping' }
  /** everything arrives, in order, later by up to `upToMs` */
  | { readonly is: 'slow'; readonly upToMs: number };

export interface DatabaseProxy {
  readonly port: number;
  /** Sends new connections to another port of 127.0.0.1, and ends those that there are. */
  readonly pointTo: (port: number) => void;
  /** @param random decides how long each piece is held up */
  readonly change: (network: Network, random?: () => number) => void;
  readonly close: () => Promise<void>;
}

/** Starts a proxy on a free port of 127.0.0.1. */
export async function startProxy(target: number): Promise<DatabaseProxy> {
  let port = target;
  let network: Network = { is: 'up' };
  let randomNumber: () => number = Math.random;
  const changes = new EventEmitter().setMaxListeners(0);
  const sockets = new Set<Socket>();

  const endAll = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };

  /** Forwards in order; what arrives while nothing passes waits in the kernel's buffers. */
  const forward = async (from: Socket, to: Socket): Promise<void> => {
    try {
      for await (const piece of from) {
        while (network.is === 'dropping') await once(changes, 'change');
        if (network.is === 'slow') await sleep(randomNumber() * network.upToMs);
        if (!to.write(piece)) await once(to, 'drain');
      }
      to.end();
    } catch {
      // Either side has ended the connection: the other learns it the same way.
      from.destroy();
      to.destroy();
    }
  };

  const listener = createServer({ noDelay: true }, (client) => {
    if (network.is === 'cut') {
      client.resetAndDestroy();
      return;
    }
    const server = connect({ port, host: '127.0.0.1', noDelay: true });
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.once('close', () => {
        sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
      // The loop that reads the socket reports it.
      socket.on('error', () => {});
    }
    void forward(client, server);
    void forward(server, client);
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('no port was given');

  return {
    port: address.port,
    pointTo: (next) => {
      port = next;
      endAll();
    },
    change: (next, random = Math.random) => {
      const before = network.is;
      network = next;
      randomNumber = random;
      changes.emit('change');
      if (next.is === 'cut' || before === 'dropping') endAll();
    },
    close: async () => {
      endAll();
      listener.close();
      await once(listener, 'close');
    },
  };
}
