/** The limits per minute of keys, signed-in people, sign-in attempts and polls of command lines. */
import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { SluiceError } from '../../errors.ts';
import type { Credential } from '../../model/people.ts';
import { networkOf } from '../transport/browser-head.ts';
import type { CountDecision, MinuteCounts } from './minute-counts.ts';

type Counts = Pick<MinuteCounts, 'consume'>;

export function createRateLimiter(counts: Counts) {
  return {
    consume: ({ keyId, rateLimitPerMinute }: Credential) =>
      counts.consume(`rate:${keyId}`, rateLimitPerMinute),
  };
}
export type RateLimiter = ReturnType<typeof createRateLimiter>;

/** Requests per minute. A page takes about five: two pages a second for a user, ten times that for a workspace. */
export const SESSION_LIMITS = { user: 600, workspace: 6000 };

/** `scope` is the value of `X-RateLimit-Scope`: which limit was reached. */
export type SessionDecision =
  | Extract<CountDecision, { admitted: true }>
  | (Extract<CountDecision, { admitted: false }> & { readonly scope: 'user' | 'workspace' });

/**
 * Limits one user in all workspaces, and all users of one workspace. Both limits are far above what the pages
 * need; they stop a script that uses a stolen cookie, and one workspace from slowing down the others. Never
 * rejects, never hangs (`MinuteCounts`).
 */
export function createSessionLimiter(counts: Counts, limits = SESSION_LIMITS) {
  return {
    consume: async (session: {
      readonly userId: number;
      readonly workspaceId: number;
    }): Promise<SessionDecision> => {
      // The user first: a refused request of one user must not use up the workspace's limit.
      for (const scope of ['user', 'workspace'] as const) {
        const decision = await counts.consume(`${scope}:${session[`${scope}Id`]}`, limits[scope]);
        if (!decision.admitted) return { ...decision, scope };
      }
      return { admitted: true };
    },
  };
}
export type SessionLimiter = ReturnType<typeof createSessionLimiter>;

/** @throws {SluiceError} `too_many_attempts` */
async function admit(counts: Counts, name: string, limit: number, what: string): Promise<void> {
  const decision = await counts.consume(name, limit);
  if (decision.admitted) return;
  const { retryAfterSeconds } = decision;
  throw new SluiceError('too_many_attempts', `${what} Try again later.`, { retryAfterSeconds });
}

/**
 * Attempts per minute: for an e-mail address from one network, from the network, and from a /48 of IPv6, many or
 * all of whose networks can be one customer's. Room for a few typing errors, and for an office behind one address.
 */
const SIGN_IN_LIMITS = { account: 5, network: 60, site: 240 };

/**
 * Limits per account and network, and per network whatever the account. Successful attempts count too:
 * otherwise the limit would show that a guess was right. An account is never locked as a whole, so an
 * attacker cannot lock its owner out.
 */
export function createSignInLimiter(counts: Counts, limits = SIGN_IN_LIMITS) {
  const count = (name: string, limit: number): Promise<void> =>
    admit(counts, `sign-in:${name}`, limit, 'Too many sign-in attempts.');
  return {
    /** @param account e-mail address; null counts for the network only */
    admit: async (account: string | null, address: string): Promise<void> => {
      // A household has a whole /64 of IPv6.
      const network = networkOf(address, 4, 4);
      await count(network, limits.network);
      if (isIPv6(address)) await count(networkOf(address, 4, 3), limits.site);
      if (account === null) return;
      // An address has any length and is personal data; its digest has neither property.
      const digest = createHash('sha256').update(`${network} ${account.toLowerCase()}`);
      await count(digest.digest('base64url'), limits.account);
    },
  };
}
export type SignInLimiter = ReturnType<typeof createSignInLimiter>;

/** Polls per minute from one network: forty command lines that wait at the same time. */
const NETWORK_POLLS_MAX = 600;

/**
 * Limits how often the command lines of one network may ask whether their login was confirmed. The login's
 * interval limits a single one (device-logins.ts).
 */
export function createPollLimiter(counts: Counts) {
  const what = 'Too many command lines on your network are waiting to sign in.';
  return {
    admit: (address: string): Promise<void> =>
      admit(counts, `login-poll:${networkOf(address, 4, 4)}`, NETWORK_POLLS_MAX, what),
  };
}
export type PollLimiter = ReturnType<typeof createPollLimiter>;
