/**
 * A program that listens on PostgreSQL's port: it requests what it wants from every client, and
 * keeps everything it is sent.
 */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

export interface FalsePostgres {
  readonly port: number;
  /**
   * messages after the first one of each connection, which names role and database and no secret
   */
  readonly received: () => string;
  readonly connections: () => number;
  readonly close: () => Promise<void>;
}

/** One message of the protocol: a letter, the length, the rest. */
function message(kind: string, ...parts: readonly (number | string)[]): Buffer {
  const rest = parts.map((part) => {
    if (typeof part === 'string') return Buffer.from(part, 'latin1');
    const number = Buffer.alloc(4);
    number.writeInt32BE(part);
    return number;
  });
  const body = Buffer.concat(rest);
  const head = Buffer.alloc(5, kind);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** PostgreSQL's messages after a successful login. */
const LET_IN = Buffer.concat([message('R', 0), message('Z', 'I')]);

/** Its reply to the first message, by what it wants. */
export const TRICKS = {
  'the password in clear': [message('R', 3)],
  'the MD5 of the password': [message('R', 5, 'salt')],
  'our statements, without any proof': [LET_IN],
  'our statements, with half a proof': [message('R', 10, 'SCRAM-SHA-256\0\0'), LET_IN],
  'our statements, with an unrequested proof': [
    Buffer.concat([message('R', 12, 'v=AAAA'), LET_IN]),
  ],
} as const;

/** Listens on 127.0.0.1. */
export async function listenFalsely(answers: readonly Buffer[], port = 0): Promise<FalsePostgres> {
  const sockets = new Set<Socket>();
  let received = '';
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    const left = [...answers];
    let isFirst = true;
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      if (!isFirst) received += chunk.toString('latin1');
      isFirst = false;
      const answer = left.shift();
      if (answer !== undefined) socket.write(answer);
    });
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    received: () => received,
    connections: () => connections,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
