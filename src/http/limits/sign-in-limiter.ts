/**
 * Limits sign-in attempts: per account and network, and per network whatever the account. Successful
 * attempts count too: otherwise the limit would show that a guess was right. An account is never
 * locked as a whole, so an attacker cannot lock its owner out.
 */
import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';

import { SluiceError } from '../../errors.ts';
import { networkOf } from '../transport/browser-head.ts';
import type { MinuteCounts } from './minute-counts.ts';

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
   * @param address of the client
   * @throws {SluiceError} `too_many_attempts`
   */
  readonly admit: (account: string | null, address: string) => Promise<void>;
}

/** @param counts stays open; its creator closes it */
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
