/** Signatures of webhooks as Standard Webhooks 1.0 defines them (standardwebhooks.com). */
import { createHmac } from 'node:crypto';

/**
 * The headers that identify, date and sign a message.
 *
 * @param secrets keys: one signature by each; a receiver needs one that it can verify
 * @param id the same whenever the message is sent again
 * @param seconds since 1970, of this attempt
 * @param body as it is sent, byte by byte
 */
export function signatureHeaders(
  secrets: readonly Buffer[],
  id: string,
  seconds: number,
  body: string,
): Record<string, string> {
  const sign = (secret: Buffer): string =>
    `v1,${createHmac('sha256', secret).update(`${id}.${seconds}.${body}`).digest('base64')}`;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': secrets.map(sign).join(' '),
  };
}
