/**
 * What a browser keeps while it is at a provider: a cookie, signed so that only a sign-in that this
 * server began can end here, and only soon after.
 *
 *   <base64url of {provider, state, nonce, verifier, next, at}>.<HMAC-SHA256, base64url>
 *
 * The key comes out of the provider's client secret: every process has the same, and it is set
 * already.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

import type { Flow, IdentityProvider } from './identity-provider.ts';

/** From leaving for the provider to coming back. */
export const FLOW_SECONDS = 600;
const MS_PER_SECOND = 1000;
const KEY_PURPOSE = 'sluice sign-in flow 1';

const shape = z.object({
  provider: z.string(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  next: z.string(),
  at: z.number(),
});

export interface KeptFlow extends Flow {
  /** where to go afterwards, a path of ours */
  readonly next: string;
}

function sign({ secret }: Pick<IdentityProvider, 'secret'>, payload: string): Buffer {
  const key = createHmac('sha256', secret).update(KEY_PURPOSE).digest();
  return createHmac('sha256', key).update(payload).digest();
}

/** @param nowMs milliseconds since 1970 */
export function sealFlow(
  provider: Pick<IdentityProvider, 'name' | 'secret'>,
  { state, nonce, verifier, next }: KeptFlow,
  nowMs: number = Date.now(),
): string {
  const kept = { provider: provider.name, state, nonce, verifier, next, at: nowMs };
  const payload = Buffer.from(JSON.stringify(kept)).toString('base64url');
  return `${payload}.${sign(provider, payload).toString('base64url')}`;
}

/**
 * @param sealed as the browser sent it
 * @returns null when this server did not seal it for this provider, or too long ago
 */
export function openFlow(
  provider: Pick<IdentityProvider, 'name' | 'secret'>,
  sealed: string,
  nowMs: number = Date.now(),
): KeptFlow | null {
  const [payload = '', signature = ''] = sealed.split('.');
  const given = Buffer.from(signature, 'base64url');
  const expected = sign(provider, payload);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  const kept = shape.parse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
  const ageMs = nowMs - kept.at;
  if (kept.provider !== provider.name || ageMs < 0 || ageMs > FLOW_SECONDS * MS_PER_SECOND) {
    return null;
  }
  return kept;
}
