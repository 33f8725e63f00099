/**
 * Counts in Redis, and whether it answers.
 *
 *   Redis answers ──error, or nothing for 250 ms──► null: whoever asks counts without it
 *        ▲                                              │ asked again once a second, and at once
 *        └────────────── the answer came ◄──────────────┘ after a new connection
 *
 * A round trip costs 0.15 ms of this process's one thread (2 slow cores, November 2026), half of what
 * an export of ten spans takes. So requests gather between two round trips: one addition per name, of
 * as many as there are, and each gets the count it would have got alone. When little comes, nobody
 * waits; and whoever does not wait for the answer lets more gather.
 */
import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';

import type { Events } from '../../observe/events.ts';

const WINDOW_SECONDS = 60;
/** Least time between two round trips, while somebody waits for the next and while nobody does. */
const GATHER_AWAITED_MS = 2;
const GATHER_MS = 10;
/**
 * Redis answers in under a millisecond; past this it counts as away. A request may have to wait for
 * the round trip before its own, so for twice as long at most.
 */
const REDIS_TIMEOUT_MS = 250;
/** A connection on which nothing comes back for so long is cut and made anew. */
const SILENCE_MAX_MS = 2000;
const CONNECT_TIMEOUT_MS = 5000;
/** While Redis fails, one name in this time asks it; the others do not wait for it. */
const TRIAL_EVERY_MS = 1000;
/** Limits differ by name and are compared elsewhere; the library only counts. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

/** How often a name was counted in the window that is open. */
export interface Count {
  readonly count: number;
  /** by `performance.now()` */
  readonly endsAtMs: number;
}

/** What Redis said, and how old it is. */
export interface ToldCount extends Count {
  /** by `performance.now()`: what was counted anywhere before that is in it */
  readonly askedAtMs: number;
  /**
   * Till when the window is open for certain, by `performance.now()`: what Redis said was left of it,
   * from when it was asked. `endsAtMs` is later by the way of the answer.
   */
  readonly openUntilMs: number;
}

/** Not over yet, as far as can be told. */
export const isOpen = ({ endsAtMs }: Count): boolean => endsAtMs > performance.now();

/** Not over yet for certain: nobody may be refused by a count of a window that is over in Redis. */
export const isSurelyOpen = ({ openUntilMs }: ToldCount): boolean =>
  openUntilMs > performance.now();

/** What the library answers, as a count. */
export function countOf(answer: { consumedPoints: number; msBeforeNext: number }): Count {
  return { count: answer.consumedPoints, endsAtMs: performance.now() + answer.msBeforeNext };
}

export type CountEvents = Pick<Events, 'limiterUnavailable' | 'limiterAnswered'>;

export interface RedisCounts {
  /**
   * Counts one request; never rejects.
   *
   * @param isAwaited somebody waits for the answer
   * @returns the count with this request, or null when Redis did not answer
   */
  readonly add: (name: string, isAwaited: boolean) => Promise<ToldCount | null>;
  /** Resolves when Redis answers. */
  readonly ping: () => Promise<void>;
  /** Sends what is still gathered, waits for its answers, and disconnects. */
  readonly close: () => Promise<void>;
}

function connect(url: string): Redis {
  return new Redis(url, {
    // Commands fail at once while Redis is away, instead of queueing up behind it.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    commandTimeout: REDIS_TIMEOUT_MS,
    socketTimeout: SILENCE_MAX_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // All names of one round trip in one write.
    enableAutoPipelining: true,
  });
}

/** Whether Redis answers, told when that changes. */
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

  /** Before asking: while it fails, nobody else asks for a while. */
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

type Answer = (count: ToldCount | null) => void;

/**
 * Gathers requests by name.
 *
 * @param ask adds so many to a name; resolves with the count after them all
 */
function createGathering(ask: (name: string, requests: number) => Promise<ToldCount | null>) {
  let waiting = new Map<string, Answer[]>();
  let lastAtMs = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let dueAtMs = Number.POSITIVE_INFINITY;
  const underWay = new Set<Promise<void>>();

  const send = async (name: string, answers: readonly Answer[]): Promise<void> => {
    const last = await ask(name, answers.length);
    for (const [index, answer] of answers.entries()) {
      const behind = answers.length - 1 - index;
      answer(last === null ? null : { ...last, count: last.count - behind });
    }
  };
  const sendAll = (): void => {
    clearTimeout(timer);
    lastAtMs = performance.now();
    dueAtMs = Number.POSITIVE_INFINITY;
    const gathered = waiting;
    waiting = new Map();
    for (const [name, answers] of gathered) {
      const sending = send(name, answers).finally(() => underWay.delete(sending));
      underWay.add(sending);
    }
  };
  const sendBy = (atMs: number): void => {
    if (atMs >= dueAtMs) return;
    dueAtMs = atMs;
    clearTimeout(timer);
    const delayMs = atMs - performance.now();
    if (delayMs > 0) timer = setTimeout(sendAll, delayMs);
    // Not at once: what arrived in the same turn of the event loop goes along.
    else setImmediate(sendAll);
  };
  return {
    add: (name: string, isAwaited: boolean): Promise<ToldCount | null> =>
      new Promise((resolve) => {
        const answers = waiting.get(name);
        if (answers === undefined) waiting.set(name, [resolve]);
        else answers.push(resolve);
        sendBy(lastAtMs + (isAwaited ? GATHER_AWAITED_MS : GATHER_MS));
      }),
    finish: async (): Promise<void> => {
      sendAll();
      await Promise.all(underWay);
    },
  };
}

/**
 * Connects, in the background, and keeps the connection up.
 *
 * @param events told once when Redis stops answering, and once when it answers again
 */
export function createRedisCounts(url: string, events: CountEvents): RedisCounts {
  const redis = connect(url);
  const limiter = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: 'sluice',
    points: NO_LIMIT,
    duration: WINDOW_SECONDS,
  });
  const health = new Health(events);
  redis.on('error', (error) => health.noteFault(error));
  redis.on('ready', () => health.noteAnswer());

  const ask = async (name: string, requests: number): Promise<ToldCount | null> => {
    if (health.isResting) return null;
    health.beginTrial();
    const askedAtMs = performance.now();
    try {
      const answer = await limiter.consume(name, requests);
      health.noteAnswer();
      return { ...countOf(answer), askedAtMs, openUntilMs: askedAtMs + answer.msBeforeNext };
    } catch (error) {
      return health.noteTimeout(error);
    }
  };
  const gathering = createGathering(ask);
  return {
    add: async (name, isAwaited) => {
      if (redis.status !== 'ready') return health.noteFault(new Error('Redis is not connected'));
      return health.isResting ? null : await gathering.add(name, isAwaited);
    },
    ping: async () => {
      await redis.ping();
    },
    close: async () => {
      await gathering.finish();
      redis.disconnect();
    },
  };
}
