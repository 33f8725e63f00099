/** A real SMTP server on this machine, which keeps what it is sent. Its only account is user, right. */
import { SMTPServer } from 'smtp-server';

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** it came over TLS */
  readonly isSecure: boolean;
  readonly raw: string;
}

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
