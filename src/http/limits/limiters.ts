/**
 * Limits per minute: requests of a key, requests of signed-in people, sign-in attempts, and polls of command
 * lines. The counts are in `minute-counts.ts`; their creator closes them.
 */
import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { SluiceError } from '../../errors.ts';
import type { Credential } from '../../model/people.ts';
import { networkOf } from '../transport/browser-head.ts';
import type { CountDecision, MinuteCounts } from './minute-counts.ts';

export interface RateLimiter {
  /** Counts one request of a key; never rejects, never hangs (`MinuteCounts`). */
  readonly consume: (credential: Credential) => Promise<CountDecision>;
}

/** Counts by the limit that a key was created with. */
export function createRateLimiter(counts: Pick<MinuteCounts, 'consume'>): RateLimiter {
  return {
    consume: ({ keyId, rateLimitPerMinute }) => counts.consume(`rate:${keyId}`, rateLimitPerMinute),
  };
}

interface SessionLimits {
  /** requests per minute */
  readonly user: number;
  /** requests per minute */
  readonly workspace: number;
}

/** A page takes about five requests: two pages a second for a user, ten times that for a workspace. */
export const SESSION_LIMITS: SessionLimits = { user: 600, workspace: 6000 };

/** The value of `X-RateLimit-Scope`: which limit was reached. */
type SessionScope = 'user' | 'workspace';

export type SessionDecision =
  | { readonly admitted: true }
  | {
      readonly admitted: false;
      readonly scope: SessionScope;
      /** whole seconds, rounded up, 1 at least */
      readonly retryAfterSeconds: number;
    };

export interface SessionLimiter {
  /** Counts one request of a session; never rejects, never hangs (`MinuteCounts`). */
  readonly consume: (session: {
    readonly userId: number;
    readonly workspaceId: number;
  }) => Promise<SessionDecision>;
}

const ADMITTED: SessionDecision = { admitted: true };

/**
 * Limits one user in all workspaces, and all users of one workspace. Both limits are far above what the pages
 * need; they stop a script that uses a stolen cookie, and one workspace from slowing down the others.
 */
export function createSessionLimiter(
  counts: Pick<MinuteCounts, 'consume'>,
  limits: SessionLimits = SESSION_LIMITS,
): SessionLimiter {
  return {
    consume: async ({ userId, workspaceId }) => {
      // The user first: a refused request of one user must not use up the workspace's limit.
      const user = await counts.consume(`user:${userId}`, limits.user);
      if (!user.admitted) return { ...user, scope: 'user' };
      const workspace = await counts.consume(`workspace:${workspaceId}`, limits.workspace);
      if (!workspace.admitted) return { ...workspace, scope: 'workspace' };
      return ADMITTED;
    },
  };
}

interface SignInLimits {
  /** attempts per minute for an e-mail address from one network */
  readonly account: number;
  /** attempts per minute from one network */
  readonly network: number;
  /** attempts per minute from a /48 of IPv6, many or all of whose networks can be one customer's */
  readonly site: number;
}

/** Room for a few typing errors, and for an office behind one address. */
const SIGN_IN_LIMITS: SignInLimits = { account: 5, network: 60, site: 240 };

export interface SignInLimiter {
  /**
   * Counts one attempt.
   *
   * @param account e-mail address; null counts for the network only
   * @throws {SluiceError} `too_many_attempts`
   */
  readonly admit: (account: string | null, address: string) => Promise<void>;
}

/**
 * Limits per account and network, and per network whatever the account. Successful attempts count too:
 * otherwise the limit would show that a guess was right. An account is never locked as a whole, so an
 * attacker cannot lock its owner out.
 */
export function createSignInLimiter(
  counts: Pick<MinuteCounts, 'consume'>,
  limits: SignInLimits = SIGN_IN_LIMITS,
): SignInLimiter {
  const count = async (name: string, limit: number): Promise<void> => {
    const decision = await counts.consume(name, limit);
    if (decision.admitted) return;
    throw new SluiceError('too_many_attempts', 'Too many sign-in attempts. Try again later.', {
      retryAfterSeconds: decision.retryAfterSeconds,
    });
  };
  return {
    admit: async (account, address) => {
      // A household has a whole /64 of IPv6.
      const network = networkOf(address, 4, 4);
      await count(`sign-in:${network}`, limits.network);
      if (isIPv6(address)) await count(`sign-in:${networkOf(address, 4, 3)}`, limits.site);
      if (account === null) return;
      // An address has any length and is personal data; its digest has neither property.
      const digest = createHash('sha256').update(`${network} ${account.toLowerCase()}`);
      await count(`sign-in:${digest.digest('base64url')}`, limits.account);
    },
  };
}

/** Polls per minute from one network: forty command lines that wait at the same time. */
const NETWORK_POLLS_MAX = 600;

export interface PollLimiter {
  /**
   * Counts one poll.
   *
   * @throws {SluiceError} `too_many_attempts`
   */
  readonly admit: (address: string) => Promise<void>;
}

/**
 * Limits how often the command lines of one network may ask whether their login was confirmed. The login's
 * interval limits a single one (device-logins.ts).
 */
export function createPollLimiter(counts: Pick<MinuteCounts, 'consume'>): PollLimiter {
  return {
    admit: async (address) => {
      const name = `login-poll:${networkOf(address, 4, 4)}`;
      const decision = await counts.consume(name, NETWORK_POLLS_MAX);
      if (decision.admitted) return;
      throw new SluiceError(
        'too_many_attempts',
        'Too many command lines on your network are waiting to sign in. Try again later.',
        {
          retryAfterSeconds: decision.retryAfterSeconds,
        },
      );
    },
  };
}
