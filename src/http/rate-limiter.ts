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

function createLimiter(points: number, redis: Redis | null): RateLimiterAbstract {
  const memory = new RateLimiterMemory({ points, duration: WINDOW_SECONDS });
  if (redis === null) return memory;
  return new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: 'sluice:rate',
    points,
    duration: WINDOW_SECONDS,
    rejectIfRedisNotReady: true,
    insuranceLimiter: memory,
    inMemoryBlockOnConsumed: points + 1,
  });
}

/**
 * @param redisUrl null to count in this process
 * @param onStoreFault told of every fault of the connection to Redis
 */
export function createRateLimiter(
  redisUrl: string | null,
  onStoreFault: (error: unknown) => void,
): RateLimiter {
  const redis = redisUrl === null ? null : connect(redisUrl, onStoreFault);
  const limiters = new Map<number, RateLimiterAbstract>();
  const limiterFor = (points: number): RateLimiterAbstract => {
    const known = limiters.get(points);
    if (known !== undefined) return known;
    if (limiters.size >= LIMITERS_MAX) limiters.clear();
    const fresh = createLimiter(points, redis);
    limiters.set(points, fresh);
    return fresh;
  };
  return {
    consume: async ({ keyId, rateLimitPerMinute }) => {
      try {
        await limiterFor(rateLimitPerMinute).consume(String(keyId));
        return ADMITTED;
      } catch (refusal) {
        if (refusal instanceof RateLimiterRes) {
          const seconds = Math.ceil(refusal.msBeforeNext / MS_PER_SECOND);
          return { admitted: false, retryAfterSeconds: Math.max(1, seconds) };
        }
        onStoreFault(refusal);
        return ADMITTED;
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
