/** Sends one message to a destination, in its format, and says how that ended. */
import { randomBytes } from 'node:crypto';

import type { Destination, SendResult } from '../model/alerts.ts';
import { type AddressPolicy, createAddressPolicy, faultOfUrl } from './addresses.ts';
import { createMailer, type SmtpSettings } from './email.ts';
import { type Alert, emailOf, type MessageSource, webhookBody } from './messages.ts';
import { postWebhook, type Resolver, signatureHeaders, systemResolver } from './webhook.ts';

const TEST_ID_BYTES = 16;

export interface SenderSettings extends MessageSource {
  readonly version: string;
  /** null: no e-mail is sent */
  readonly smtp: SmtpSettings | null;
  readonly privateAddresses: readonly string[];
  /** milliseconds since 1970, by PostgreSQL's clock */
  readonly nowMs: () => number;
  readonly resolve?: Resolver;
}

export interface AlertSender {
  readonly canEmail: boolean;
  readonly faultOfUrl: (url: string) => string | null;
  /** Rejects only when the message cannot be made. @param id the same whenever it is sent again */
  readonly send: (destination: Destination, id: string, alert: Alert) => Promise<SendResult>;
  /** Sends a test message. `sent` is its text, as the receiver has it. */
  readonly sendTest: (
    destination: Destination,
  ) => Promise<{ readonly id: string; readonly result: SendResult; readonly sent: string }>;
}

async function sendWebhook(
  destination: Destination & { readonly target: { readonly url: string } },
  id: string,
  alert: Alert,
  settings: SenderSettings,
  policy: AddressPolicy,
): Promise<SendResult> {
  const body = webhookBody(alert, destination, settings);
  const seconds = Math.floor(settings.nowMs() / 1000);
  const headers = {
    'content-type': 'application/json',
    'user-agent': `Sluice/${settings.version}`,
    ...signatureHeaders(destination.secrets, id, seconds, body),
  };
  const { resolve = systemResolver, nowMs } = settings;
  return await postWebhook(destination.target.url, headers, body, { policy, resolve, nowMs });
}

export function createAlertSender(settings: SenderSettings): AlertSender {
  const policy = createAddressPolicy(settings.privateAddresses);
  const { smtp, baseUrl } = settings;
  const mailer = smtp === null ? null : createMailer(smtp, new URL(baseUrl).hostname);
  const send: AlertSender['send'] = async (destination, id, alert) => {
    const { target } = destination;
    if (target.format === 'email' && mailer !== null) {
      return await mailer({ id, to: target.recipients, ...emailOf(alert, destination, settings) });
    }
    if (target.format === 'email') {
      const failure = 'smtp_not_configured';
      return { failure, status: null, retryAfterSeconds: null, isGone: false };
    }
    return await sendWebhook({ ...destination, target }, id, alert, settings, policy);
  };
  return {
    canEmail: mailer !== null,
    faultOfUrl: (url) => faultOfUrl(url, policy),
    send,
    sendTest: async (destination) => {
      const id = `test_${randomBytes(TEST_ID_BYTES).toString('hex')}`;
      const alert: Alert = { kind: 'test', at: new Date(settings.nowMs()) };
      const result = await send(destination, id, alert);
      if (destination.target.format !== 'email') {
        return { id, result, sent: webhookBody(alert, destination, settings) };
      }
      const { subject, text } = emailOf(alert, destination, settings);
      return { id, result, sent: `Subject: ${subject}\n\n${text}` };
    },
  };
}
