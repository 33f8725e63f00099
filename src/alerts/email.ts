/** Sends e-mail by SMTP, through the server of `SMTP_URL`, as plain text. */
import { createRequire } from 'node:module';

import { isLoopback } from '../local-host.ts';
import type { DeliveryFailure, SendResult } from '../model/alerts.ts';
import { withinLimit } from '../time-limit.ts';

const load = createRequire(import.meta.url);

/** From the connection to the answer; below a lease (outbox.ts). */
const MAIL_TIMEOUT_MS = 15_000;

export interface SmtpSettings {
  /** smtp:// or smtps://, with user and password where the server wants them */
  readonly url: string;
  readonly from: string;
}

export interface Email {
  /** the same whenever the message is sent again */
  readonly id: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
}

/** Never rejects: whatever happens is a result. */
export type Mailer = (email: Email) => Promise<SendResult>;

/** Codes of nodemailer's errors; everything else is an answer of the server. */
const FAILURES: Readonly<Record<string, DeliveryFailure>> = {
  ETIMEDOUT: 'timeout',
  EDNS: 'dns',
  ECONNECTION: 'connection',
  ESOCKET: 'connection',
  ECONNREFUSED: 'connection',
  ECONNRESET: 'connection',
  ETLS: 'tls',
};

/** nodemailer replaces the codes of Node's TLS errors, and leaves their texts. */
const TLS_TEXT = /certificate|altnames|\bSSL\b|\bTLS\b/i;

function failureOf(error: unknown, code: string): DeliveryFailure {
  const failure = FAILURES[code] ?? 'smtp';
  const isTls = failure === 'connection' && error instanceof Error && TLS_TEXT.test(error.message);
  return isTls ? 'tls' : failure;
}

function resultOf(error: unknown): SendResult {
  const code = error instanceof Error ? String(Reflect.get(error, 'code')) : '';
  const reply: unknown = error instanceof Error ? Reflect.get(error, 'responseCode') : null;
  return {
    failure: failureOf(error, code),
    status: typeof reply === 'number' ? reply : null,
    retryAfterSeconds: null,
    isGone: false,
  };
}

/** A password is sent over TLS only, unless the server is on this machine. */
function needsTls({ password, hostname }: URL): boolean {
  return password !== '' && !isLoopback(hostname);
}

/** A message is delivered when the server has taken it for at least one of its addresses. */
export function createMailer(
  { url, from }: SmtpSettings,
  host: string,
  timeoutMs: number = MAIL_TIMEOUT_MS,
): Mailer {
  // Takes a tenth of a second to load; a server without SMTP_URL does without.
  const { createTransport } = load('nodemailer') as typeof import('nodemailer');
  const transport = createTransport({
    url,
    requireTLS: needsTls(new URL(url)),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const late = () => Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' });
  return async ({ id, to, subject, text }) => {
    try {
      const message = {
        from,
        to: [...to],
        subject,
        text,
        messageId: `<${id}@${host}>`,
        headers: { 'Auto-Submitted': 'auto-generated' },
      };
      await withinLimit(transport.sendMail(message), timeoutMs, late);
      return { failure: null, status: null, retryAfterSeconds: null, isGone: false };
    } catch (error) {
      return resultOf(error);
    }
  };
}
