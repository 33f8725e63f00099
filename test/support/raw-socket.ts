/**
 * HTTP as bytes on a socket, for what a proper client never does: bodies in pieces, requests that
 * stop half-way, two at once. Parses nothing but status lines; what was received is kept as text.
 */
import { connect, type Socket } from 'node:net';

export interface RawSocket {
  readonly socket: Socket;
  /** everything received so far, one character per byte */
  received(): string;
  /** resolves when the kernel has taken the bytes */
  send(bytes: string | Buffer): Promise<void>;
  /** resolves once the text has been received; rejects when the server closed before */
  until(wanted: string | RegExp): Promise<string>;
  /** resolves with everything received once the server has closed the connection */
  closed(): Promise<string>;
  /** closes without a word, as a client that died */
  abort(): void;
}

/** Connects to a port of this machine. */
export async function openSocket(port: number): Promise<RawSocket> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  let isClosed = false;
  const listeners = new Set<() => void>();
  const tell = (): void => {
    for (const listener of listeners) listener();
  };
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    tell();
  });
  // A reset is one of the ways in which a server closes.
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isClosed = true;
    tell();
  });
  const when = (condition: () => boolean): Promise<string> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        if (!condition() && !isClosed) return;
        listeners.delete(check);
        if (condition()) resolve(text);
        else reject(new Error(`closed after: ${JSON.stringify(text)}`));
      };
      listeners.add(check);
      check();
    });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  return {
    socket,
    received: () => text,
    send: (bytes) =>
      new Promise((resolve, reject) => {
        socket.write(bytes, (error) => (error ? reject(error) : resolve()));
      }),
    until: (wanted) =>
      when(() => (typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text))),
    closed: () => when(() => isClosed),
    abort: () => socket.resetAndDestroy(),
  };
}

/** The head of a request with the given extra header lines. */
export function head(method: string, path: string, ...headers: string[]): string {
  return `${[`${method} ${path} HTTP/1.1`, 'Host: localhost', ...headers].join('\r\n')}\r\n\r\n`;
}

/** The status codes of the answers received, in order. */
export function statuses(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
}
