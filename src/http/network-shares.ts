/**
 * Who may have a key looked up that this process has not found valid before: so many at a time in
 * all, and of each network so many at a time and per second, so that one that invents keys takes no
 * look-up from another. Knows no key.
 */
import { SluiceError } from '../errors.ts';
import { networkOf } from './browser-head.ts';

export interface ShareLimits {
  /** look-ups under way, of all networks */
  readonly inAll: number;
  /** look-ups under way, of one network */
  readonly ofNetwork: number;
  /** look-ups that one network begins within a second */
  readonly perSecond: number;
}

export const SHARE_LIMITS: ShareLimits = { inAll: 200, ofNetwork: 20, perSecond: 100 };
/** Networks that are remembered. */
const NETWORKS_MAX = 10_000;
const SECOND_MS = 1000;

interface Network {
  running: number;
  begun: number;
  secondEndsAtMs: number;
}

export class NetworkShares {
  readonly #limits: ShareLimits;
  readonly #nowMs: () => number;
  /** the one that was first seen first */
  readonly #networks = new Map<string, Network>();
  #running = 0;

  constructor(limits: ShareLimits, nowMs: () => number) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /**
   * Begins a look-up for an address; a network is an IPv4 address or a /64 of IPv6.
   *
   * @returns ends it; to be called once
   * @throws {SluiceError} `overloaded`
   */
  take(address: string): () => void {
    const { inAll, ofNetwork, perSecond } = this.#limits;
    const network = this.#of(networkOf(address, 4, 4));
    if (this.#running >= inAll || network.running >= ofNetwork || network.begun >= perSecond) {
      throw new SluiceError('overloaded', 'More new keys are being checked than the server takes.');
    }
    this.#running += 1;
    network.running += 1;
    network.begun += 1;
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
      network = { running: 0, begun: 0, secondEndsAtMs: nowMs + SECOND_MS };
      this.#networks.set(name, network);
    } else if (nowMs >= network.secondEndsAtMs) {
      network.begun = 0;
      network.secondEndsAtMs = nowMs + SECOND_MS;
    }
    return network;
  }

  /** Forgets the oldest network of which nothing is under way; few can have something under way. */
  #makeRoom(): void {
    if (this.#networks.size < NETWORKS_MAX) return;
    for (const [name, { running }] of this.#networks) {
      if (running > 0) continue;
      this.#networks.delete(name);
      return;
    }
  }
}
