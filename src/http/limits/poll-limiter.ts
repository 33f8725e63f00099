/**
 * Limits how often the command lines of one network may ask whether their login was confirmed. How often
 * one of them may is the login's own interval (device-logins.ts in db).
 */
import { SluiceError } from '../../errors.ts';
import { networkOf } from '../transport/browser-head.ts';
import type { MinuteCounts } from './minute-counts.ts';

/** Polls per minute from one network: forty command lines that wait at the same time. */
const NETWORK_POLLS_MAX = 600;

export interface PollLimiter {
  /**
   * Counts one poll.
   *
   * @param address of the client
   * @throws {SluiceError} `too_many_attempts`
   */
  readonly admit: (address: string) => Promise<void>;
}

/** @param counts stays open; its creator closes it */
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
