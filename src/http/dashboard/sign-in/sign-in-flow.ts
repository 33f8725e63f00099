/**
 * The cookie of a sign-in through a provider. It is signed, so that only a sign-in which this server
 * started can be finished, and only soon after.
 *
 *   <base64url of {provider, state, nonce, verifier, next, at}>.<HMAC-SHA256, base64url>
 *
 * The HMAC key is derived from the provider's client secret, which all processes share.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

import type { AuthorizationFlow, IdentityProvider } from './identity-provider.ts';

/** Most time between the redirect to the provider and the callback. */
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

interface SignInFlow extends AuthorizationFlow {
  /** the path to redirect to after signing in */
  readonly next: string;
}

function sign({ secret }: Pick<IdentityProvider, 'secret'>, payload: string): Buffer {
  const key = createHmac('sha256', secret).update(KEY_PURPOSE).digest();
  return createHmac('sha256', key).update(payload).digest();
}

/** @param nowMs milliseconds since 1970, by PostgreSQL's clock: another server may verify it */
export function signFlow(
  provider: Pick<IdentityProvider, 'name' | 'secret'>,
  { state, nonce, verifier, next }: SignInFlow,
  nowMs: number,
): string {
  const kept = { provider: provider.name, state, nonce, verifier, next, at: nowMs };
  const payload = Buffer.from(JSON.stringify(kept)).toString('base64url');
  return `${payload}.${sign(provider, payload).toString('base64url')}`;
}

/**
 * @param signed value of the cookie
 * @returns null when this server did not sign it for this provider, or too long ago
 */
export function verifyFlow(
  provider: Pick<IdentityProvider, 'name' | 'secret'>,
  signed: string,
  nowMs: number,
): SignInFlow | null {
  const [payload = '', signature = ''] = signed.split('.');
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
