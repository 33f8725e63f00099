/**
 * Free ports, and HTTP as bytes on a socket, for what a proper client never does: bodies in pieces, requests that stop
 * half-way, two at once. Parses only status lines; what was received is kept as text.
 *
 * Every wait is bounded: a server that hangs fails the test instead of stopping it.
 */
import { readFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';

/** A port that was free a moment ago, for settings that must name one. */
export async function findFreePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const address = probe.address();
  await new Promise<void>((resolve) => probe.close(() => resolve()));
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}

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

const KIB = 1024;

/** The most memory a process has held since it started, in bytes (Linux: VmHWM). */
export async function peakMemoryBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  if (kilobytes === undefined) throw new Error(`no VmHWM of process ${pid}`);
  return Number(kilobytes) * KIB;
}

/** A whole POST with a body of a declared length, as bytes. */
export function postBytes(path: string, headers: readonly string[], body: Buffer): Buffer {
  const lines = [...headers, `Content-Length: ${body.length}`];
  return Buffer.concat([Buffer.from(head('POST', path, ...lines), 'latin1'), body]);
}

/** Header lines of an authorised OTLP/HTTP JSON request. */
export function otlpHeaderLines(key: string): string[] {
  return [`Authorization: Bearer ${key}`, 'Content-Type: application/json'];
}

/** A promise for `outcome` once `ms` have passed; the timer does not outlive the race it is in. */
function after<Outcome>(ms: number, outcome: Outcome) {
  let timer: NodeJS.Timeout | undefined;
  const promise = new Promise<Outcome>((resolve) => {
    timer = setTimeout(() => resolve(outcome), ms);
  });
  return { promise, cancel: () => clearTimeout(timer) };
}

/**
 * Sends bytes that may be no request at all and tells the statuses of what came back.
 *
 * A head that was damaged may announce more than follows, and then silence is the right answer. So
 * after `patienceMs` without a status this side closes, and the server has to follow.
 *
 * @throws when the server keeps the connection `closeWithinMs` after this side has closed
 */
export async function throwAt(
  port: number,
  bytes: Buffer,
  { patienceMs, closeWithinMs }: { readonly patienceMs: number; readonly closeWithinMs: number },
): Promise<number[]> {
  const socket = await openSocket(port);
  const answered = socket.until(/HTTP\/1\.1 \d{3} /).catch(() => socket.received());
  // A server that refuses early may have closed before all of it was taken.
  await socket.send(bytes).catch(() => undefined);
  const patience = after(patienceMs, '');
  await Promise.race([answered, patience.promise]);
  patience.cancel();
  socket.socket.end();
  const limit = after(closeWithinMs, null);
  const text = await Promise.race([socket.closed(), limit.promise]);
  limit.cancel();
  socket.socket.destroy();
  if (text === null) throw new Error('the server holds a connection that its client has closed');
  return statuses(text);
}
