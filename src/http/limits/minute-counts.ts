/**
 * Counts per name and minute: in Redis when there is one, so that every process and region that
 * shares it shares the counts; else in this process. A window opens with the first request of a name
 * and lasts a minute.
 *
 * Under limits below `EAGER_LIMIT_MIN` every request waits for its own count, so exactly the limit is
 * admitted, whatever the processes do at once. Under larger ones a request is admitted without waiting
 * while the name is far from its limit: what Redis said of it less than `FRESH_MS` ago, and what this
 * process took since, is less than half, and at most a hundredth of the limit is under way uncounted.
 * That is exact too, unless half the limit is counted elsewhere while those are under way, as when
 * this process pauses between admitting and counting; then what is under way is too much: a hundredth
 * of the limit for each process, never more. Only what came is ever counted, so nobody is refused
 * too early.
 *
 * An outage of Redis must neither stop ingest nor invent a 429, so the two counts are never added:
 * - When Redis goes away, a name goes on here from the last count that Redis told this process, to
 *   the end of the same window: what was used up stays used up. What other processes have counted
 *   since is not known, so during an outage each process admits up to the whole limit.
 * - When Redis is back, its count decides alone. Adding what was counted here would move requests
 *   of an old window into a new one, and refuse a client that kept within its limit all the time.
 * Either way every request that is refused was preceded by `limit` others of the same window.
 */
import { RateLimiterMemory } from 'rate-limiter-flexible';

import type { Events } from '../../observe/events.ts';
import {
  type Count,
  type CountEvents,
  countOf,
  createRedisCounts,
  isOpen,
  isSurelyOpen,
  type RedisCounts,
  type ToldCount,
} from './redis-counts.ts';

const WINDOW_SECONDS = 60;
const MS_PER_SECOND = 1000;
/** How old the last count may be by which a request is admitted at once. */
const FRESH_MS = 40;
/**
 * Smaller limits are counted one by one. A key of less takes 166 requests a second at most over its
 * minute, for which the round trips are cheap.
 */
const EAGER_LIMIT_MIN = 10_000;
/** Requests under way uncounted, as a part of the limit; more wait for their count. */
const UNCOUNTED_PART_MAX = 0.01;
/** Names whose last count in Redis is remembered; past that it is forgotten, at no harm. */
const TOLD_MAX = 10_000;
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
   * Counts one request. Never rejects, and takes no longer than Redis is given (`RedisCounts`).
   *
   * @param name what is counted, as `rate:7`; in Redis it stands as `sluice:rate:7`
   * @param limit requests per minute
   */
  readonly consume: (name: string, limit: number) => Promise<CountDecision>;
  /** The `redis` probe; null when no Redis is configured. */
  readonly ping: (() => Promise<void>) | null;
  /** Counts what was admitted and is not counted yet, then closes the connection. */
  readonly close: () => Promise<void>;
}

export type MinuteCountEvents = CountEvents & Pick<Events, 'countedHere'>;

const ADMITTED: CountDecision = { admitted: true };

function refusal(count: Count): CountDecision {
  const seconds = Math.ceil((count.endsAtMs - performance.now()) / MS_PER_SECOND);
  return { admitted: false, retryAfterSeconds: Math.max(1, seconds) };
}

function decide(count: Count, limit: number): CountDecision {
  return count.count <= limit ? ADMITTED : refusal(count);
}

/** Counts in this process's memory. */
export function createLocalCounts() {
  const limiter = new RateLimiterMemory({ points: NO_LIMIT, duration: WINDOW_SECONDS });
  return {
    add: async (name: string): Promise<Count> => countOf(await limiter.consume(name)),
    /** Goes on from a count that was made elsewhere. */
    goOnFrom: async (name: string, { count, endsAtMs }: Count): Promise<void> => {
      await limiter.set(name, count, (endsAtMs - performance.now()) / MS_PER_SECOND);
    },
  };
}

/** The last counts that Redis told this process. */
function createTold() {
  const counts = new Map<string, ToldCount>();
  return {
    get: (name: string) => counts.get(name),
    forget: (name: string) => counts.delete(name),
    note: (name: string, count: ToldCount): void => {
      if (counts.size >= TOLD_MAX && !counts.has(name)) counts.clear();
      counts.set(name, count);
    },
  };
}

/** Where several threads or processes count together; null when it did not answer in time. */
export type CountStore = Pick<RedisCounts, 'add'>;

/** Counts in a store while it answers, else here. */
class SharedCounts {
  readonly #store: CountStore;
  readonly #events: Pick<Events, 'countedHere'>;
  readonly #eagerLimitMin: number;
  readonly #local = createLocalCounts();
  readonly #told = createTold();
  /** requests by name whose count is not known yet */
  readonly #underWay = new Map<string, number>();

  /** @param eagerLimitMin smaller limits are counted one by one */
  constructor(store: CountStore, events: Pick<Events, 'countedHere'>, eagerLimitMin: number) {
    this.#store = store;
    this.#events = events;
    this.#eagerLimitMin = eagerLimitMin;
  }

  async consume(name: string, limit: number): Promise<CountDecision> {
    const last = this.#told.get(name);
    if (last !== undefined && isSurelyOpen(last)) {
      // Used up: Redis could say nothing else, so it is not asked before the window's end.
      if (last.count > limit) return refusal(last);
      if (this.#isFar(name, last, limit)) {
        void this.#add(name, false);
        return ADMITTED;
      }
    }
    return decide(await this.#add(name, true), limit);
  }

  #isFar(name: string, { count, askedAtMs }: ToldCount, limit: number): boolean {
    if (limit < this.#eagerLimitMin || performance.now() - askedAtMs >= FRESH_MS) return false;
    const uncounted = this.#underWay.get(name) ?? 0;
    return uncounted < UNCOUNTED_PART_MAX * limit && 2 * (count + uncounted) < limit;
  }

  /** Counts one request; never rejects. */
  async #add(name: string, isAwaited: boolean): Promise<Count> {
    const underWay = this.#underWay.get(name) ?? 0;
    this.#underWay.set(name, underWay + 1);
    const count = await this.#store.add(name, isAwaited);
    const left = (this.#underWay.get(name) ?? 1) - 1;
    if (left === 0) this.#underWay.delete(name);
    else this.#underWay.set(name, left);
    if (count === null) return await this.#addHere(name);
    this.#told.note(name, count);
    return count;
  }

  async #addHere(name: string): Promise<Count> {
    const last = this.#told.get(name);
    this.#told.forget(name);
    if (last !== undefined && isOpen(last)) await this.#local.goOnFrom(name, last);
    this.#events.countedHere();
    return await this.#local.add(name);
  }
}

/**
 * Counts in a store that is near and cheap to ask: every request waits for its own count, so limits
 * are exact.
 *
 * @param events told of every request that was counted here because the store did not answer
 */
export function createExactCounts(
  store: CountStore,
  events: Pick<Events, 'countedHere'>,
): Pick<MinuteCounts, 'consume'> {
  const shared = new SharedCounts(store, events, Number.POSITIVE_INFINITY);
  return { consume: (name, limit) => shared.consume(name, limit) };
}

/**
 * Begins counting; the connection to Redis is opened in the background and kept up.
 *
 * @param redisUrl null to count in this process
 * @param events told once when Redis stops answering, once when it answers again, and of every
 *   request that was counted here in its place
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
  const shared = new SharedCounts(store, events, EAGER_LIMIT_MIN);
  return {
    consume: (name, limit) => shared.consume(name, limit),
    ping: store.ping,
    close: store.close,
  };
}
