/**
 * Limits look-ups of keys that this process has not found valid before: concurrent ones in total,
 * and per network concurrent ones and ones per second, so that a network that sends invented keys does
 * not use up the look-ups of others. Never sees a key.
 */
import { SluiceError } from '../../errors.ts';
import { networkOf } from '../transport/browser-head.ts';

interface ShareLimits {
  /** most concurrent look-ups, of all networks */
  readonly inAll: number;
  /** most concurrent look-ups of one network */
  readonly ofNetwork: number;
  readonly perSecond: number;
}

export const SHARE_LIMITS: ShareLimits = { inAll: 200, ofNetwork: 20, perSecond: 100 };
const NETWORKS_MAX = 10_000;
const SECOND_MS = 1000;

interface Network {
  running: number;
  started: number;
  secondEndsAtMs: number;
}

export class NetworkShares {
  readonly #limits: ShareLimits;
  readonly #nowMs: () => number;
  /** in the order in which they were first seen */
  readonly #networks = new Map<string, Network>();
  #running = 0;

  constructor(limits: ShareLimits, nowMs: () => number) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /**
   * Starts a look-up for an address. A network is an IPv4 address or an IPv6 /64.
   *
   * @returns a function that ends the look-up; call it once
   * @throws {SluiceError} `overloaded`
   */
  take(address: string): () => void {
    const { inAll, ofNetwork, perSecond } = this.#limits;
    const network = this.#of(networkOf(address, 4, 4));
    if (this.#running >= inAll || network.running >= ofNetwork || network.started >= perSecond) {
      throw new SluiceError('overloaded', 'Too many requests with unknown keys. Try again later.', {
        shortage: 'unknown_keys',
      });
    }
    this.#running += 1;
    network.running += 1;
    network.started += 1;
    return () => {
      this.#running -= 1;
      network.running -= 1;
    };
  }

  #of(name: string): Network {
    const nowMs = this.#nowMs();
    let network = this.#networks.get(name);
    if (network === undefined) {
      this.#makeRoom();
      network = { running: 0, started: 0, secondEndsAtMs: nowMs + SECOND_MS };
      this.#networks.set(name, network);
    } else if (nowMs >= network.secondEndsAtMs) {
      network.started = 0;
      network.secondEndsAtMs = nowMs + SECOND_MS;
    }
    return network;
  }

  /** Removes the oldest network without a running look-up. */
  #makeRoom(): void {
    if (this.#networks.size < NETWORKS_MAX) return;
    for (const [name, { running }] of this.#networks) {
      if (running > 0) continue;
      this.#networks.delete(name);
      return;
    }
  }
}
