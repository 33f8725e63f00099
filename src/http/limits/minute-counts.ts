/**
 * Counts requests per name and minute: in Redis if configured, so that all processes and regions that
 * share it share the counts, otherwise in this process. The first request of a name opens a window
 * of a minute.
 *
 * Under a limit below `EAGER_LIMIT_MIN` every request waits for its own count, so exactly the limit is
 * admitted, however many processes count at once. Under a larger limit a request is admitted without
 * waiting while the name is far from it: the last count from Redis is younger than `FRESH_MS`, that
 * count and the requests since are below half of the limit, and at most a hundredth of the limit is
 * not counted yet. This exceeds the limit only if other processes use up half of it while those
 * requests are not counted, for example because this process pauses: then by at most a hundredth of
 * the limit per process. Only requests that arrived are counted, so none is refused too early.
 *
 * While Redis is in another region, requests are counted ahead instead of either: none
 * waits for the round trip while its name is far from the limit, and the limit is never exceeded.
 *
 * An outage of Redis must neither stop ingest nor cause a wrong 429, so the two counts are never added:
 * - When Redis fails, this process continues from the last count it got, to the end of the same
 *   window. It does not see what other processes count, so each admits up to the whole limit.
 * - When Redis is back, its count alone decides. Adding the local count would carry requests of an old
 *   window into a new one, and refuse a client that kept within its limit.
 * Either way a refused request was preceded by `limit` others in the same window.
 */
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Events } from '../../observe/events.ts';
import {
  type Count,
  type CountEvents,
  countOf,
  createRedisCounts,
  isOpen,
  isSurelyOpen,
  type RedisCount,
  type RedisCounts,
} from './redis-counts.ts';

const WINDOW_SECONDS = 60;
const MS_PER_SECOND = 1000;
/** Age of the last count up to which it can admit a request at once. */
const FRESH_MS = 40;
/**
 * Under smaller limits every request waits for its count. That is at most 166 requests a second, for
 * which round trips are cheap.
 */
const EAGER_LIMIT_MIN = 10_000;
/** Requests that are admitted and not counted yet, as a fraction of the limit; more of them wait. */
const UNCOUNTED_PART_MAX = 0.01;
/** Names whose last count is remembered. Without it a request waits for its own count. */
const LAST_COUNTS_MAX = 10_000;
/** Limits differ by name, so they are compared here; the library only counts. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

export type CountDecision =
  | { readonly admitted: true }
  | {
      readonly admitted: false;
      /** whole seconds, rounded up, 1 at least */
      readonly retryAfterSeconds: number;
    };

export interface MinuteCounts {
  /**
   * Counts one request. Never rejects; waits for Redis no longer than its timeout (`RedisCounts`).
   *
   * @param name as `rate:7`; the key in Redis is `sluice:rate:7`
   */
  readonly consume: (name: string, limit: number) => Promise<CountDecision>;
  /** The `redis` probe; null when no Redis is configured. */
  readonly ping: (() => Promise<void>) | null;
  /** Counts the admitted requests that are not counted yet, then closes the connection. */
  readonly close: () => Promise<void>;
}

type MinuteCountEvents = CountEvents & Pick<Events, 'countedHere'>;

const ADMITTED: CountDecision = { admitted: true };

function refusal(count: Count): CountDecision {
  const seconds = Math.ceil((count.endsAtMs - performance.now()) / MS_PER_SECOND);
  return { admitted: false, retryAfterSeconds: Math.max(1, seconds) };
}

function decide(count: Count, limit: number): CountDecision {
  return count.count <= limit ? ADMITTED : refusal(count);
}

function createLocalCounts() {
  const limiter = new RateLimiterMemory({ points: NO_LIMIT, duration: WINDOW_SECONDS });
  return {
    add: async (name: string): Promise<Count> => countOf(await limiter.consume(name)),
    continueFrom: async (name: string, { count, endsAtMs }: Count): Promise<void> => {
      await limiter.set(name, count, (endsAtMs - performance.now()) / MS_PER_SECOND);
    },
  };
}

/** Counts in Redis while it answers, otherwise in this process. */
class SharedCounts {
  readonly #store: Pick<RedisCounts, 'add' | 'isFar'>;
  readonly #events: Pick<Events, 'countedHere'>;
  readonly #local = createLocalCounts();
  readonly #last = new LRUCache<string, RedisCount>({ max: LAST_COUNTS_MAX });
  readonly #leases = new Leases();
  /** requests by name that the store has not counted yet */
  readonly #uncounted = new Map<string, number>();

  constructor(store: Pick<RedisCounts, 'add' | 'isFar'>, events: Pick<Events, 'countedHere'>) {
    this.#store = store;
    this.#events = events;
  }

  async consume(name: string, limit: number): Promise<CountDecision> {
    if (this.#store.isFar()) return await this.#consumeFar(name, limit);
    const last = this.#last.get(name);
    if (last !== undefined && isSurelyOpen(last)) {
      // Used up until the window ends: a round trip could not change that.
      if (last.count > limit) return refusal(last);
      if (this.#isFarFromLimit(name, last, limit)) {
        void this.#add(name, false);
        return ADMITTED;
      }
    }
    return decide(await this.#add(name, true), limit);
  }

  async #consumeFar(name: string, limit: number): Promise<CountDecision> {
    const use = this.#leases.use(name);
    if (use === 'low') void this.#lease(name, limit, 0);
    if (use !== 'none') return ADMITTED;
    const last = this.#last.get(name);
    if (last !== undefined && isSurelyOpen(last) && last.count > limit) return refusal(last);
    const count = await this.#lease(name, limit, 1);
    return decide(count ?? (await this.#addLocally(name)), limit);
  }

  /**
   * Counts requests ahead, behind `requests` that wait.
   *
   * @returns the count with those that wait; null when the store did not answer
   */
  async #lease(name: string, limit: number, requests: 0 | 1): Promise<RedisCount | null> {
    const ahead = this.#leases.begin(name, limit);
    if (requests + ahead === 0) return null;
    const count = await this.#store.add(name, requests > 0, requests + ahead);
    if (count === null) {
      this.#leases.failed(name, ahead);
      return null;
    }
    this.#leases.taken(name, ahead, count, limit);
    this.#last.set(name, count);
    return { ...count, count: count.count - ahead };
  }

  #isFarFromLimit(name: string, { count, sentAtMs }: RedisCount, limit: number): boolean {
    if (limit < EAGER_LIMIT_MIN || performance.now() - sentAtMs >= FRESH_MS) return false;
    const uncounted = this.#uncounted.get(name) ?? 0;
    return uncounted < UNCOUNTED_PART_MAX * limit && 2 * (count + uncounted) < limit;
  }

  async #add(name: string, isAwaited: boolean): Promise<Count> {
    this.#uncounted.set(name, (this.#uncounted.get(name) ?? 0) + 1);
    const count = await this.#store.add(name, isAwaited);
    const remaining = (this.#uncounted.get(name) ?? 1) - 1;
    if (remaining === 0) this.#uncounted.delete(name);
    else this.#uncounted.set(name, remaining);
    if (count === null) return await this.#addLocally(name);
    this.#last.set(name, count);
    return count;
  }

  async #addLocally(name: string): Promise<Count> {
    const last = this.#last.get(name);
    this.#last.delete(name);
    if (last !== undefined && isOpen(last)) await this.#local.continueFrom(name, last);
    this.#events.countedHere();
    return await this.#local.add(name);
  }
}

/**
 * Starts counting; the connection to Redis is opened in the background and kept open.
 *
 * @param redisUrl null to count in this process
 * @param events gets each change of whether Redis answers, and every request that was counted locally
 *   because it did not
 */
export function createMinuteCounts(
  redisUrl: string | null,
  events: MinuteCountEvents,
): MinuteCounts {
  if (redisUrl === null) {
    const local = createLocalCounts();
    return {
      consume: async (name, limit) => decide(await local.add(name), limit),
      ping: null,
      close: async () => {},
    };
  }
  const store = createRedisCounts(redisUrl, events);
  const shared = new SharedCounts(store, events);
  return {
    consume: (name, limit) => shared.consume(name, limit),
    ping: store.ping,
    close: store.close,
  };
}

// Requests of a name that Redis has counted ahead, while Redis is in another region: they are admitted
// without waiting for a round trip. A name begins with none, and gets twice as many each time they are
// used up, to a bound; so one that sends little takes little from the others.
//
//   used up ──counted ahead──► left ──half of it used──► more are counted in the background
//                                └──the minute ends──► void
//
// The count in Redis contains all of them, so that all regions together never admit more than the
// limit. Those that are never used are missing elsewhere: at most `LEASED_PART_MAX` of the limit for each
// process, and a sixteenth of what was left when they were taken.

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
