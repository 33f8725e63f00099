/**
 * Counts in Redis, and knows whether it answers.
 *
 *   answering ──error, or no answer in 250 ms──► away: `add` returns null at once
 *       ▲                                          │ one trial a second, and one after each
 *       └──────────── an answer ◄──────────────────┘ new connection
 *
 * A round trip costs 0.15 ms of this process's one thread (2 slow cores, November 2026), half of what
 * an export of ten spans takes. So requests are batched between round trips: one increment per name,
 * and each request gets the count that it would have got alone. A single request is sent at once; a
 * caller that does not wait for its count lets the batch wait longer.
 */
import { createRequire } from 'node:module';
import type { Redis, RedisOptions } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import type { Events } from '../../observe/events.ts';
import { parseSentinelUrl } from '../../redis-url.ts';

const load = createRequire(import.meta.url);
const WINDOW_SECONDS = 60;
/** Least time between two round trips, with a request that waits for its count and without one. */
const BATCH_AWAITED_MS = 2;
const BATCH_MS = 10;
/**
 * Redis answers in under a millisecond; after this it counts as away. A request may have to wait for
 * the round trip before its own, so at most twice as long.
 */
const REDIS_TIMEOUT_MS = 250;
/** A connection without an answer for this long is closed and opened again. */
const SILENCE_MAX_MS = 2000;
const CONNECT_TIMEOUT_MS = 5000;
/** After ioredis has given a connection up. */
const CONNECT_AGAIN_MS = 1000;
/** While Redis fails, one request in this time tries it; the others do not wait for it. */
const TRIAL_EVERY_MS = 1000;
/** In the same region Redis answers sooner, at least once in so many answers. */
const FAR_MS = 20;
const FAR_ANSWERS_MIN = 16;
/** Limits differ by name and are compared elsewhere; the library only counts. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

export interface Count {
  readonly count: number;
  /** by `performance.now()` */
  readonly endsAtMs: number;
}

export interface RedisCount extends Count {
  /** by `performance.now()`; every request counted anywhere before that is included */
  readonly sentAtMs: number;
  /**
   * Until when the window is open for certain, by `performance.now()`: its remaining time, counted
   * from when the request was sent. `endsAtMs` is later by the way back of the answer.
   */
  readonly openUntilMs: number;
}

/** The window is probably still open. */
export const isOpen = ({ endsAtMs }: Count): boolean => endsAtMs > performance.now();

/** The window is certainly open: a count of a window that Redis has closed must refuse nothing. */
export const isSurelyOpen = ({ openUntilMs }: RedisCount): boolean =>
  openUntilMs > performance.now();

export function countOf(answer: { consumedPoints: number; msBeforeNext: number }): Count {
  return { count: answer.consumedPoints, endsAtMs: performance.now() + answer.msBeforeNext };
}

export type CountEvents = Pick<Events, 'limiterUnavailable' | 'limiterAnswered'>;

export interface RedisCounts {
  /**
   * Counts requests; never rejects.
   *
   * @param isAwaited the caller waits for the count
   * @param requests one, and those that are counted ahead
   * @returns the count with these requests, or null when Redis did not answer
   */
  readonly add: (name: string, isAwaited: boolean, requests?: number) => Promise<RedisCount | null>;
  /** True if Redis is in another region: no answer since the connection was opened was quick. */
  readonly isFar: () => boolean;
  readonly ping: () => Promise<void>;
  /** Sends the last batch, waits for its answers, and disconnects. */
  readonly close: () => Promise<void>;
}

function connectRedis(
  url: string,
  further: Pick<RedisOptions, 'lazyConnect' | 'retryStrategy'> = {},
): Redis {
  // Takes a tenth of a second to load; a server without a Redis does without.
  const { Redis } = load('ioredis') as typeof import('ioredis');
  const sentinels = parseSentinelUrl(url);
  const options = {
    // Commands fail at once while Redis is away, instead of queueing up behind it.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    commandTimeout: REDIS_TIMEOUT_MS,
    socketTimeout: SILENCE_MAX_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // All names of one round trip in one write.
    enableAutoPipelining: true,
    ...further,
  };
  if (sentinels === null) return new Redis(url, options);
  return new Redis({
    ...options,
    ...sentinels,
    sentinels: [...sentinels.sentinels],
    // A sentinel that hangs must not delay the others.
    sentinelCommandTimeout: SILENCE_MAX_MS,
    // Leaves a master that was replaced, also one that still answers.
    failoverDetector: true,
  });
}

class Health {
  readonly #events: CountEvents;
  #isAway: boolean | null = null;
  #nextTrialAtMs = 0;

  constructor(events: CountEvents) {
    this.#events = events;
  }

  get isResting(): boolean {
    return performance.now() < this.#nextTrialAtMs;
  }

  /** Call before a request: while Redis fails, no other request tries it for a while. */
  beginTrial(): void {
    if (this.#isAway === true) this.#nextTrialAtMs = performance.now() + TRIAL_EVERY_MS;
  }

  noteFault(error: unknown): null {
    if (this.#isAway !== true) this.#events.limiterUnavailable(error);
    this.#isAway = true;
    return null;
  }

  noteTimeout(error: unknown): null {
    this.#nextTrialAtMs = performance.now() + TRIAL_EVERY_MS;
    return this.noteFault(error);
  }

  noteAnswer(): void {
    if (this.#isAway !== false) this.#events.limiterAnswered();
    this.#isAway = false;
    this.#nextTrialAtMs = 0;
  }
}

/** Tells a Redis in another region from one that is near and busy. */
class Distance {
  #answers = 0;
  #quickestMs = Number.POSITIVE_INFINITY;

  get isFar(): boolean {
    return this.#answers >= FAR_ANSWERS_MIN && this.#quickestMs >= FAR_MS;
  }

  note(roundTripMs: number): void {
    this.#answers += 1;
    this.#quickestMs = Math.min(this.#quickestMs, roundTripMs);
  }

  reset(): void {
    this.#answers = 0;
    this.#quickestMs = Number.POSITIVE_INFINITY;
  }
}

interface Waiting {
  readonly requests: number;
  readonly answer: (count: RedisCount | null) => void;
}

/**
 * Batches requests by name.
 *
 * @param increment adds `requests` to a name; resolves with the count after all of them
 */
function createBatch(increment: (name: string, requests: number) => Promise<RedisCount | null>) {
  let waiting = new Map<string, Waiting[]>();
  let lastAtMs = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let dueAtMs = Number.POSITIVE_INFINITY;
  const sent = new Set<Promise<void>>();

  const send = async (name: string, batch: readonly Waiting[]): Promise<void> => {
    let behind = batch.reduce((sum, { requests }) => sum + requests, 0);
    const last = await increment(name, behind);
    for (const { requests, answer } of batch) {
      behind -= requests;
      answer(last === null ? null : { ...last, count: last.count - behind });
    }
  };
  const sendAll = (): void => {
    clearTimeout(timer);
    lastAtMs = performance.now();
    dueAtMs = Number.POSITIVE_INFINITY;
    const batched = waiting;
    waiting = new Map();
    for (const [name, answers] of batched) {
      const sending = send(name, answers).finally(() => sent.delete(sending));
      sent.add(sending);
    }
  };
  const sendBy = (atMs: number): void => {
    if (atMs >= dueAtMs) return;
    dueAtMs = atMs;
    clearTimeout(timer);
    const delayMs = atMs - performance.now();
    if (delayMs > 0) timer = setTimeout(sendAll, delayMs);
    // Not at once: requests of the same turn of the event loop join the batch.
    else setImmediate(sendAll);
  };
  return {
    add: (name: string, isAwaited: boolean, requests: number): Promise<RedisCount | null> =>
      new Promise((answer) => {
        const batch = waiting.get(name);
        if (batch === undefined) waiting.set(name, [{ requests, answer }]);
        else batch.push({ requests, answer });
        sendBy(lastAtMs + (isAwaited ? BATCH_AWAITED_MS : BATCH_MS));
      }),
    finish: async (): Promise<void> => {
      sendAll();
      await Promise.all(sent);
    },
  };
}

/**
 * Connects in the background, and keeps the connection open.
 *
 * @param events gets each change of whether Redis answers
 */
export function createRedisCounts(url: string, events: CountEvents): RedisCounts {
  const redis = connectRedis(url);
  const limiter = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: 'sluice',
    points: NO_LIMIT,
    duration: WINDOW_SECONDS,
  });
  const health = new Health(events);
  const distance = new Distance();
  redis.on('error', (error) => health.noteFault(error));
  redis.on('ready', () => {
    distance.reset();
    health.noteAnswer();
  });
  let isClosed = false;
  // Besides our own `disconnect`, ioredis 6.0 ends a connection for good when a sentinel announces a
  // new master while the query for the master's address is pending.
  redis.on('end', () => {
    if (isClosed) return;
    health.noteFault(new Error('The connection to Redis ended'));
    const connectAgain = (): void => {
      // A failure is an 'error' event too, and leads to the next 'end'.
      if (!isClosed) redis.connect().catch((error) => health.noteFault(error));
    };
    setTimeout(connectAgain, CONNECT_AGAIN_MS).unref();
  });

  const increment = async (name: string, requests: number): Promise<RedisCount | null> => {
    if (health.isResting) return null;
    health.beginTrial();
    const sentAtMs = performance.now();
    try {
      const answer = await limiter.consume(name, requests);
      health.noteAnswer();
      distance.note(performance.now() - sentAtMs);
      return { ...countOf(answer), sentAtMs, openUntilMs: sentAtMs + answer.msBeforeNext };
    } catch (error) {
      return health.noteTimeout(error);
    }
  };
  const batch = createBatch(increment);
  return {
    isFar: () => distance.isFar,
    add: async (name, isAwaited, requests = 1) => {
      if (redis.status !== 'ready') return health.noteFault(new Error('Redis is not connected'));
      return health.isResting ? null : await batch.add(name, isAwaited, requests);
    },
    ping: async () => {
      await redis.ping();
    },
    close: async () => {
      isClosed = true;
      await batch.finish();
      redis.disconnect();
    },
  };
}

export interface RedisFacts {
  readonly version: string;
  readonly role: string;
  /** null: no limit */
  readonly maxMemoryBytes: number | null;
  readonly evictionPolicy: string;
  readonly persistence: { readonly rdb: boolean; readonly aof: boolean };
  readonly roundTripMs: number;
}

export function parseInfo(text: string): ReadonlyMap<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => !line.startsWith('#') && line.includes(':'));
  return new Map(
    lines.map((line) => {
      const at = line.indexOf(':');
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
}

export async function readRedisFacts(url: string): Promise<RedisFacts> {
  const redis = connectRedis(url, { lazyConnect: true, retryStrategy: () => null });
  let lastError: unknown = null;
  // Without a listener the library writes errors to the console.
  redis.on('error', (error) => {
    lastError = error;
  });
  try {
    await redis.connect().catch((error: unknown) => {
      throw lastError ?? error;
    });
    const startedMs = performance.now();
    await redis.ping();
    const roundTripMs = performance.now() - startedMs;
    const info = parseInfo(await redis.info());
    const maxMemoryBytes = Number(info.get('maxmemory') ?? 0);
    // Of managed services CONFIG is often forbidden: then nothing is known of snapshots.
    const save = await redis.config('GET', 'save').then(
      (answer) => (answer as readonly string[])[1] ?? '',
      () => '',
    );
    return {
      version: info.get('redis_version') ?? 'unknown',
      role: info.get('role') ?? 'unknown',
      maxMemoryBytes: maxMemoryBytes === 0 ? null : maxMemoryBytes,
      evictionPolicy: info.get('maxmemory_policy') ?? 'unknown',
      persistence: { rdb: save !== '', aof: info.get('aof_enabled') === '1' },
      roundTripMs,
    };
  } finally {
    redis.disconnect();
  }
}
