/**
 * Sign-in attempts: of one account from one network, and of one network whatever the account. Every
 * attempt counts, one that succeeds too: who guesses must not be told by the limit that a guess was
 * right. An account is never locked as a whole, so nobody can keep its owner out.
 */
import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';

import { SluiceError } from '../../errors.ts';
import { networkOf } from '../transport/browser-head.ts';
import type { MinuteCounts } from './minute-counts.ts';

export interface SignInLimits {
  /** attempts per minute for an e-mail address from one network */
  readonly account: number;
  /** attempts per minute from one network */
  readonly network: number;
  /** attempts per minute from a /48 of IPv6: one customer has hundreds of networks of it, or all */
  readonly site: number;
}

/** People mistype a few times; an office behind one address signs in within the same minute. */
export const SIGN_IN_LIMITS: SignInLimits = { account: 5, network: 60, site: 240 };

export interface SignInLimiter {
  /**
   * Counts one attempt.
   *
   * @param account e-mail address, or what else is guessed at; null counts for the network only
   * @param address of the client
   * @throws {SluiceError} `too_many_attempts`
   */
  readonly admit: (account: string | null, address: string) => Promise<void>;
}

/** @param counts where attempts are counted; whoever made them closes them */
export function createSignInLimiter(
  counts: Pick<MinuteCounts, 'consume'>,
  limits: SignInLimits = SIGN_IN_LIMITS,
): SignInLimiter {
  const count = async (name: string, limit: number): Promise<void> => {
    const decision = await counts.consume(name, limit);
    if (decision.admitted) return;
    throw new SluiceError('too_many_attempts', 'Too many attempts to sign in: wait a little.', {
      retryAfterSeconds: decision.retryAfterSeconds,
    });
  };
  return {
    admit: async (account, address) => {
      // A household has a whole /64 of IPv6 to itself.
      const network = networkOf(address, 4, 4);
      await count(`sign-in:${network}`, limits.network);
      if (isIPv6(address)) await count(`sign-in:${networkOf(address, 4, 3)}`, limits.site);
      if (account === null) return;
      // Of any length and everybody's; as a digest it is neither.
      const digest = createHash('sha256').update(`${network} ${account.toLowerCase()}`);
      await count(`sign-in:${digest.digest('base64url')}`, limits.account);
    },
  };
}
