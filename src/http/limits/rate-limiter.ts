/** Limits the requests per key and minute, by the limit that the key was created with. */
import type { Credential } from '../../model/people.ts';
import type { CountDecision, MinuteCounts } from './minute-counts.ts';

export interface RateLimiter {
  /** Counts one request of a key; never rejects, never hangs (`MinuteCounts`). */
  readonly consume: (credential: Credential) => Promise<CountDecision>;
}

/** @param counts stays open; its creator closes it */
export function createRateLimiter(counts: Pick<MinuteCounts, 'consume'>): RateLimiter {
  return {
    consume: ({ keyId, rateLimitPerMinute }) => counts.consume(`rate:${keyId}`, rateLimitPerMinute),
  };
}
