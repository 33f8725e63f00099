/** Admits a request: it needs a valid key of the right kind, within its rate limit. */
import { SluiceError } from '../../errors.ts';
import type { Credential, KeyKind } from '../../model/people.ts';
import type { Authenticator, Sender } from './authentication.ts';
import type { RateLimiter } from './rate-limiter.ts';

export interface AdmissionDependencies {
  readonly authenticator: Authenticator;
  readonly rateLimiter: Pick<RateLimiter, 'consume'>;
}

/**
 * Checks the key, then counts the request.
 *
 * @throws {SluiceError} as the authenticator, or `rate_limited`
 */
export async function admit(
  sender: Sender,
  kind: KeyKind | 'any',
  { authenticator, rateLimiter }: AdmissionDependencies,
): Promise<Credential> {
  const known = authenticator.authenticate(sender, kind);
  const credential = known instanceof Promise ? await known : known;
  const decision = await rateLimiter.consume(credential);
  if (decision.admitted) return credential;
  throw new SluiceError(
    'rate_limited',
    `This key is limited to ${credential.rateLimitPerMinute} requests per minute.`,
    { retryAfterSeconds: decision.retryAfterSeconds },
  );
}
