/** Signatures of webhooks as Standard Webhooks 1.0 defines them (standardwebhooks.com). */
import { createHmac } from 'node:crypto';

/**
 * The headers that identify, date and sign a message.
 *
 * @param id the same whenever the message is sent again
 * @param seconds since 1970, of this attempt
 * @param body as it is sent, byte by byte
 */
export function signatureHeaders(
  secret: Buffer,
  id: string,
  seconds: number,
  body: string,
): Record<string, string> {
  const signature = createHmac('sha256', secret)
    .update(`${id}.${seconds}.${body}`)
    .digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': `v1,${signature}`,
  };
}
