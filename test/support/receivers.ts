/** Receivers of alerts: an HTTP server and a mail server that keep what arrives. */
import { createHmac } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A real HTTP server that receives alerts, keeps every request, and answers as a test wants. */
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

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** it came over TLS */
  readonly isSecure: boolean;
  readonly raw: string;
}

/** A real SMTP server on this machine, which keeps what it is sent. Its only account is user, right. */
export interface TestMailServer {
  readonly url: string;
  readonly port: number;
  readonly mails: ReceivedMail[];
  /** of each password that it was sent */
  readonly users: string[];
  /** addresses that it does not take */
  refuses: readonly string[];
  readonly close: () => Promise<void>;
}

/** PEM of a key and its certificate. */
export interface TestIdentity {
  readonly key: string;
  readonly cert: string;
}

/** @param identity the server offers STARTTLS with it, and takes no password in clear; null offers none */
export async function openMailServer(
  identity: TestIdentity | null = null,
): Promise<TestMailServer> {
  const mails: ReceivedMail[] = [];
  const users: string[] = [];
  const server = new SMTPServer({
    ...(identity ?? { disabledCommands: ['STARTTLS'], allowInsecureAuth: true }),
    authOptional: true,
    onAuth: ({ username, password }, _session, answer) => {
      users.push(username ?? '');
      const isRight = username === 'user' && password === 'right';
      answer(
        isRight ? null : new Error('wrong password'),
        isRight ? { user: username } : undefined,
      );
    },
    onRcptTo: ({ address }, _session, answer) => {
      const refusal = Object.assign(new Error('no such address'), { responseCode: 550 });
      answer(opened.refuses.includes(address) ? refusal : null);
    },
    onData: (stream, { envelope, secure }, answer) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
        const to = envelope.rcptTo.map(({ address }) => address);
        mails.push({ from, to, isSecure: secure, raw: Buffer.concat(chunks).toString('utf8') });
        answer(null);
      });
    },
  });
  // A client that gives up is no failure of a test.
  server.on('error', () => {});
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const opened: TestMailServer = {
    url: `smtp://127.0.0.1:${port}`,
    port,
    mails,
    users,
    refuses: [],
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
  return opened;
}
