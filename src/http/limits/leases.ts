/**
 * Requests of a name that Redis has counted ahead, while Redis is in another region: they are admitted
 * without waiting for a round trip. A name begins with none, and gets twice as many each time they are
 * used up, to a bound; so one that sends little takes little from the others.
 *
 *   used up ──counted ahead──► left ──half of it used──► more are counted in the background
 *                                └──the minute ends──► void
 *
 * The count in Redis contains all of them, so that all regions together never admit more than the
 * limit. Those that are never used are missing elsewhere: at most `LEASED_PART_MAX` of the limit for each
 * process, and a sixteenth of what was left when they were taken.
 */
import { LRUCache } from 'lru-cache';

import { isSurelyOpen, type RedisCount } from './redis-counts.ts';

/** Of the limit. */
const LEASED_PART_MAX = 0.01;
/** Of what is left of the limit. */
const LEFT_PART_MAX = 1 / 16;
/** Names with leases. Without one a request waits for its own count. */
const LEASES_MAX = 10_000;

interface Lease {
  left: number;
  /** the last number that was counted ahead */
  size: number;
  /** of the window that they are of */
  count: RedisCount;
  isCounting: boolean;
}

/** Both ends are known to a round trip; windows are a minute long. */
const SAME_END_MS = 30_000;

const isSameWindow = (one: RedisCount, other: RedisCount): boolean =>
  Math.abs(one.openUntilMs - other.openUntilMs) < SAME_END_MS;

export class Leases {
  readonly #leases = new LRUCache<string, Lease>({ max: LEASES_MAX });

  /** Uses one. @returns `none`, `used`, or `low` when more should be counted */
  use(name: string): 'none' | 'used' | 'low' {
    const lease = this.#leases.get(name);
    if (lease === undefined || lease.left === 0 || !isSurelyOpen(lease.count)) return 'none';
    lease.left -= 1;
    return 2 * lease.left > lease.size ? 'used' : 'low';
  }

  /** How many to count ahead now; to be followed by `taken` or `failed`. */
  begin(name: string, limit: number): number {
    const lease = this.#leases.get(name);
    if (lease === undefined || lease.isCounting || !isSurelyOpen(lease.count)) return 0;
    const room = Math.floor((limit - lease.count.count) * LEFT_PART_MAX);
    const most = Math.min(room, Math.floor(limit * LEASED_PART_MAX) - lease.left);
    const ahead = Math.max(0, Math.min(most, 2 * Math.max(1, lease.size)));
    lease.isCounting = ahead > 0;
    return ahead;
  }

  /** `ahead` were counted, as the last ones of `count`. */
  taken(name: string, ahead: number, count: RedisCount, limit: number): void {
    const before = this.#leases.get(name);
    const lease = before !== undefined && isSameWindow(before.count, count) ? before : null;
    const within = Math.max(0, Math.min(ahead, limit - (count.count - ahead)));
    this.#leases.set(name, {
      left: (lease?.left ?? 0) + within,
      size: ahead > 0 ? ahead : (lease?.size ?? 0),
      // Answers may overtake each other.
      count: lease !== null && lease.count.count > count.count ? lease.count : count,
      isCounting: ahead === 0 && (before?.isCounting ?? false),
    });
  }

  /** Redis did not answer. */
  failed(name: string, ahead: number): void {
    const lease = this.#leases.get(name);
    if (lease !== undefined && ahead > 0) lease.isCounting = false;
  }
}
