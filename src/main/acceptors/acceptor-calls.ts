/** What the main thread and a thread that takes requests can ask each other (`thread-line.ts`). */
import type { Config } from '../../config.ts';
import type { DatabaseUrls } from '../../db/embedded/address.ts';
import type { Catalog } from '../../engine/rules/catalog.ts';
import type { MetricValues } from '../../observe/metrics.ts';
import type { Fault } from './thread-line.ts';

export interface AcceptorThreadSettings {
  /** its number, from 1; stands in its log lines */
  readonly thread: number;
  readonly config: Config;
  readonly urls: DatabaseUrls;
  readonly catalog: Catalog;
  /** bytes of bodies in memory, and of rows not yet committed, of all threads */
  readonly bodies: SharedArrayBuffer;
  readonly rows: SharedArrayBuffer;
  /** how many threads have cut their connections, an Int32; see `cut` */
  readonly cuts: SharedArrayBuffer;
}

interface Call<Argument, Answer = undefined> {
  readonly argument: Argument;
  readonly answer: Answer;
}

/** Asked of a thread that takes requests. */
export type AcceptorCalls = {
  /** Makes everything but the sockets; first, and once. */
  readonly open: Call<AcceptorThreadSettings>;
  /** Listens, beside the other threads, on these ports, in the order of `publicAddresses`. */
  readonly listen: Call<readonly number[]>;
  /** Takes no new connections. */
  readonly drain: Call<undefined>;
  /** Ends what is under way, then the thread; false when a step of that failed. */
  readonly stop: Call<undefined, boolean>;
  /** Closes every socket now and adds one to `cuts`: the process ends, whatever is under way. */
  readonly cut: Call<undefined>;
  readonly forget: Call<number>;
  readonly metrics: Call<undefined, MetricValues>;
  /** Rejects when the Redis of its own connection does not answer. */
  readonly pingRedis: Call<undefined>;
};

/** A count in the memory of the main thread. */
export interface CountedThere {
  readonly count: number;
  /** to the end of the window; threads' clocks differ, so no time of day */
  readonly msLeft: number;
}

/** Asked of the main thread. */
export type MainCalls = {
  /** Counts one request of a name. */
  readonly count: Call<string, CountedThere>;
  /** Rejects when that part fails. */
  readonly probe: Call<'corpus' | 'pass'>;
  /** Writes log lines, so that those of several threads never mix. */
  readonly log: Call<string>;
  /** An exception that nobody caught: the thread goes on for as long as the stop takes. */
  readonly failed: Call<Fault>;
};
