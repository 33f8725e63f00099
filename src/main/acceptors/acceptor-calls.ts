/** The calls between the main thread and the acceptor threads (`thread-line.ts`). */

import type { Config } from '../../config/config.ts';
import type { DatabaseUrls } from '../../db/embedded/address.ts';
import type { TelemetryPlacement } from '../../db/placement.ts';
import type { Catalog } from '../../engine/rules/catalog.ts';
import type { MetricValues } from '../../observe/metrics.ts';
import type { MainProbes } from './acceptor.ts';
import type { SerializedError } from './thread-line.ts';

export interface AcceptorThreadSettings {
  /** its number, from 1; part of its log lines */
  readonly thread: number;
  readonly config: Config;
  readonly urls: DatabaseUrls;
  readonly placement: TelemetryPlacement;
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

/** Handled by an acceptor thread. */
export type AcceptorCalls = {
  /** Creates everything except the sockets; first, and once. */
  readonly open: Call<AcceptorThreadSettings>;
  /** Listens on these ports, shared with the other threads, in the order of `publicAddresses`. */
  readonly listen: Call<readonly number[]>;
  /** Answers from now on close their connections. */
  readonly retire: Call<undefined>;
  /** Accepts no new connections. */
  readonly drain: Call<undefined>;
  /** Stops in order, then ends the thread; false when a step failed. */
  readonly stop: Call<undefined, boolean>;
  /** Closes every socket at once and adds one to `cuts`, because the process ends. */
  readonly cut: Call<undefined>;
  readonly forget: Call<number>;
  readonly metrics: Call<undefined, MetricValues>;
  /** Rejects when the Redis of its own connection does not answer. */
  readonly pingRedis: Call<undefined>;
};

/** A count kept by the main thread. */
export interface MainThreadCount {
  readonly count: number;
  /** to the end of the window; not a time of day, because `performance.now()` differs by thread */
  readonly msLeft: number;
}

/** Handled by the main thread. */
export type MainCalls = {
  /** Counts one request under a name. */
  readonly count: Call<string, MainThreadCount>;
  /** Rejects when the probe fails. */
  readonly probe: Call<keyof MainProbes>;
  /** Writes log lines, so that lines of several threads never mix. */
  readonly log: Call<string>;
  /** An uncaught exception; the thread keeps running until the server has stopped. */
  readonly failed: Call<SerializedError>;
};
