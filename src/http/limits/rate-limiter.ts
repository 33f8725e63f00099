/** Requests per key and minute, under the limit each key was made with. */
import type { Credential } from '../../model.ts';
import type { CountDecision, MinuteCounts } from './minute-counts.ts';

export interface RateLimiter {
  /** Counts one request of a key; never rejects, never hangs (`MinuteCounts`). */
  readonly consume: (credential: Credential) => Promise<CountDecision>;
}

/** @param counts where requests are counted; whoever made them closes them */
export function createRateLimiter(counts: Pick<MinuteCounts, 'consume'>): RateLimiter {
  return {
    consume: ({ keyId, rateLimitPerMinute }) => counts.consume(`rate:${keyId}`, rateLimitPerMinute),
  };
}
