/**
 * Requests per key and minute: counted in Redis when there is one, so that all processes share the
 * count, else in this process.
 *
 * When Redis does not answer, requests are admitted under a count of this process alone: an outage
 * of the limiter must neither stop ingest nor invent a 429. It is reported through `onStoreFault`.
 */
import { Redis } from 'ioredis';
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
} from 'rate-limiter-flexible';

import type { Credential } from '../model.ts';

const WINDOW_SECONDS = 60;
/** Redis answers in under a millisecond; past this the count of this process decides. */
const REDIS_TIMEOUT_MS = 250;
/** Distinct limits that keep a limiter of their own; keys mostly share a few. */
const LIMITERS_MAX = 1000;
const MS_PER_SECOND = 1000;

export type RateDecision =
  | { readonly admitted: true }
  | { readonly admitted: false; readonly retryAfterSeconds: number };

export interface RateLimiter {
  /** Counts one request of a key. */
  readonly consume: (credential: Credential) => Promise<RateDecision>;
  /** The `redis` probe; null when no Redis is configured. */
  readonly ping: (() => Promise<void>) | null;
  readonly close: () => Promise<void>;
}

const ADMITTED: RateDecision = { admitted: true };

function connect(url: string, onStoreFault: (error: unknown) => void): Redis {
  const redis = new Redis(url, {
    // Commands fail at once while Redis is away, instead of queueing up behind it.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: REDIS_TIMEOUT_MS,
    connectTimeout: 5000,
  });
  redis.on('error', onStoreFault);
  return redis;
}

/** The counts of all keys with one limit. */
interface Counters {
  readonly shared: RateLimiterAbstract | null;
  /** decides alone without Redis, and in its place while it does not answer */
  readonly local: RateLimiterAbstract;
}

function createCounters(points: number, redis: Redis | null): Counters {
  const local = new RateLimiterMemory({ points, duration: WINDOW_SECONDS });
  if (redis === null) return { shared: null, local };
  const shared = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: 'sluice:rate',
    points,
    duration: WINDOW_SECONDS,
    rejectIfRedisNotReady: true,
    inMemoryBlockOnConsumed: points + 1,
  });
  return { shared, local };
}

/** @throws what the store says when it does not answer; being over the limit is no such fault */
async function decide(limiter: RateLimiterAbstract, keyId: number): Promise<RateDecision> {
  try {
    await limiter.consume(String(keyId));
    return ADMITTED;
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal;
    const seconds = Math.ceil(refusal.msBeforeNext / MS_PER_SECOND);
    return { admitted: false, retryAfterSeconds: Math.max(1, seconds) };
  }
}

/**
 * @param redisUrl null to count in this process
 * @param onStoreFault told once when Redis stops answering, and again after it had answered
 */
export function createRateLimiter(
  redisUrl: string | null,
  onStoreFault: (error: unknown) => void,
): RateLimiter {
  let isFailing = false;
  const report = (error: unknown): void => {
    if (!isFailing) onStoreFault(error);
    isFailing = true;
  };
  const redis = redisUrl === null ? null : connect(redisUrl, report);
  const limits = new Map<number, Counters>();
  const countersFor = (points: number): Counters => {
    const known = limits.get(points);
    if (known !== undefined) return known;
    if (limits.size >= LIMITERS_MAX) limits.clear();
    const fresh = createCounters(points, redis);
    limits.set(points, fresh);
    return fresh;
  };
  return {
    consume: async ({ keyId, rateLimitPerMinute }) => {
      const { shared, local } = countersFor(rateLimitPerMinute);
      if (shared === null) return await decide(local, keyId);
      try {
        const decision = await decide(shared, keyId);
        // A refusal may come from this process's memory of keys over their limit.
        if (decision.admitted) isFailing = false;
        return decision;
      } catch (error) {
        report(error);
        return await decide(local, keyId);
      }
    },
    ping:
      redis === null
        ? null
        : async () => {
            await redis.ping();
          },
    close: async () => {
      redis?.disconnect();
    },
  };
}
