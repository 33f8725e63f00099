/** A real HTTP server that receives alerts, keeps every request, and answers as a test wants. */
import { createHmac } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface AlertReceiver {
  readonly url: string;
  readonly port: number;
  readonly received: Received[];
  /** how requests are answered; 204 by default */
  answer: (received: Received, response: ServerResponse) => void;
  readonly close: () => Promise<void>;
}

/** @param identity PEM of a key and its certificate: the receiver speaks TLS */
export async function openReceiver(
  identity: { readonly key: string; readonly cert: string } | null = null,
): Promise<AlertReceiver> {
  const received: Received[] = [];
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const one = { path: request.url ?? '', headers: request.headers, body };
      received.push(one);
      receiver.answer(one, response);
    });
  };
  const server =
    identity === null ? createServer(onRequest) : createSecureServer(identity, onRequest);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: AlertReceiver = {
    url: `${identity === null ? 'http' : 'https'}://127.0.0.1:${port}/hook`,
    port,
    received,
    answer: (_received, response) => void response.writeHead(204).end(),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return receiver;
}

/**
 * Whether a message is signed with the secret: written from the text of Standard Webhooks, apart from
 * what is tested.
 */
export function isSigned({ headers, body }: Received, secret: string): boolean {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const content = [headers['webhook-id'], headers['webhook-timestamp'], body].join('.');
  const expected = createHmac('sha256', key).update(Buffer.from(content, 'utf8')).digest('base64');
  const given = String(headers['webhook-signature']).split(' ');
  return key.length >= 24 && given.includes(`v1,${expected}`);
}
