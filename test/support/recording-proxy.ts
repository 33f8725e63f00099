/**
 * A proxy between an exporter and the server: keeps what each request looked like, and refuses the
 * first ones in the server's stead, as a load balancer in front of it would.
 *
 * Never changes what it passes on.
 */
import { createServer, type IncomingHttpHeaders, request, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

/** What the proxy answers itself. */
export interface Refusal {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One request as the exporter made it, and the status it was answered with. */
export interface RecordedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly status: number;
}

export interface RecordingProxy {
  readonly url: string;
  readonly recorded: readonly RecordedRequest[];
  /** Answers the next requests itself, one refusal each, before it passes requests on again. */
  refuse(...refusals: readonly Refusal[]): void;
  /** Passes the next request on, and breaks its connection instead of passing the answer back. */
  loseAnswer(): void;
  /** Passes the next request on, and never passes the answer back. */
  holdAnswer(): void;
  close(): Promise<void>;
}

/**
 * Opens a proxy on a free port of this machine.
 *
 * @param target base URL of the server it passes requests on to
 */
export async function openRecordingProxy(target: string): Promise<RecordingProxy> {
  const recorded: RecordedRequest[] = [];
  const refusals: Refusal[] = [];
  let answersToLose = 0;
  let answersToHold = 0;
  const server = createServer(async (incoming, response) => {
    const { method = '', url = '', headers } = incoming;
    const body = await buffer(incoming);
    const refusal = refusals.shift();
    const isLost = refusal === undefined && answersToLose > 0;
    if (isLost) answersToLose -= 1;
    const isHeld = refusal === undefined && answersToHold > 0;
    if (isHeld) answersToHold -= 1;
    const status =
      refusal === undefined
        ? await passOn(new URL(url, target), { method, headers, body, isLost, isHeld }, response)
        : answer(refusal, response);
    recorded.push({ path: url, headers, body, status });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return {
    url: `http://127.0.0.1:${address.port}`,
    recorded,
    refuse: (...more) => void refusals.push(...more),
    loseAnswer: () => {
      answersToLose += 1;
    },
    holdAnswer: () => {
      answersToHold += 1;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer({ status, headers = {} }: Refusal, response: ServerResponse): number {
  response.writeHead(status, headers).end();
  return status;
}

interface Passed {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** the client does not get the answer */
  readonly isLost: boolean;
  /** the client waits for the answer until it leaves */
  readonly isHeld: boolean;
}

/** Passes a request on; a server that breaks the connection is passed on too, as status 0. */
function passOn(url: URL, passed: Passed, response: ServerResponse): Promise<number> {
  const { method, headers, body, isLost, isHeld } = passed;
  return new Promise((resolve) => {
    const outgoing = request(url, { method, headers });
    outgoing.once('error', () => {
      response.destroy();
      resolve(0);
    });
    outgoing.once('response', (incoming) => {
      const { statusCode = 0 } = incoming;
      if (isLost || isHeld) {
        incoming.resume();
        if (isLost) response.destroy();
        resolve(statusCode);
        return;
      }
      response.writeHead(statusCode, incoming.headers);
      incoming.pipe(response).once('finish', () => resolve(statusCode));
    });
    outgoing.end(body);
  });
}
