/**
 * The acceptor threads, seen from the main thread, which then takes no requests itself: decoding a
 * large body delays one thread, and neither the others nor the pass. Each has its own sockets on the
 * same ports (SO_REUSEPORT), and Linux distributes connections over them.
 *
 *   start ──► open, each ──► ports tried ──► listen, each ──► serving ──► drain ──► stop, each
 *
 * A thread that fails is not replaced: the server stops in order, to be restarted by its supervisor.
 * Requests on all threads are answered until then.
 */
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

import { createLocalCounts } from '../../http/limits/minute-counts.ts';
import { reservePorts } from '../../http/transport/server.ts';
import type { Events, Observer } from '../../observe/events.ts';
import { type MetricsText, type MetricValues, sumMetrics } from '../../observe/metrics.ts';
import { withinLimit } from '../../time-limit.ts';
import { publicAddresses } from '../sites.ts';
import type { StopOrder } from '../stop-order.ts';
import { type MainProbes, optionalProbesOf } from './acceptor.ts';
import type { AcceptorCalls, AcceptorThreadSettings, MainCalls } from './acceptor-calls.ts';
import type { Acceptors, AcceptorsSettings } from './acceptors.ts';
import { createCountMemory } from './shared-byte-count.ts';
import { deserializeError, type Handlers, ThreadLine } from './thread-line.ts';

/** The built file, even when a test runs this file from source (decision 0014). */
const ENTRY = fileURLToPath(
  new URL('../../../dist/main/acceptors/acceptor-thread.js', import.meta.url),
);
/** Loading the program's files, on a machine that does much else. */
const OPEN_LIMIT_MS = 120_000;
const LISTEN_LIMIT_MS = 10_000;
/** A thread may be in the middle of a large body. */
const DRAIN_LIMIT_MS = 10_000;
/** A thread's own steps of stopping: requests 30 s, and seven of 15 s. */
const STOP_LIMIT_MS = 135_000;
const END_LIMIT_MS = 5000;
/** Prometheus gives up on a scrape after ten seconds. */
const METRICS_LIMIT_MS = 3000;
const REDIS_LIMIT_MS = 3000;
/** How long the end of the process waits for threads to close their sockets. */
const CUT_LIMIT_MS = 500;

/** What all threads share, and the calls that the main thread handles for them. */
interface Shared {
  readonly settings: Omit<AcceptorThreadSettings, 'thread'>;
  readonly handlers: Omit<Handlers<MainCalls>, 'failed'>;
  /** called for a thread that failed or ended by itself */
  readonly onFailure: (thread: number, error: unknown) => void;
}

/** One thread, from its start to its end. */
class AcceptorThreadHandle {
  readonly thread: number;
  readonly line: ThreadLine<AcceptorCalls, MainCalls>;
  /** rejects when the thread could not open */
  readonly opened: Promise<undefined>;
  readonly #ended: Promise<void>;
  hasEnded = false;
  #mayEnd = false;
  #metrics: MetricValues = [];

  constructor(thread: number, { settings, handlers, onFailure }: Shared) {
    this.thread = thread;
    // The parent's arguments apply to its own thread only.
    const worker = new Worker(ENTRY, { execArgv: [], name: `acceptor ${thread}` });
    const fail = (error: unknown): void => onFailure(thread, error);
    this.line = new ThreadLine<AcceptorCalls, MainCalls>(worker, {
      ...handlers,
      failed: (error) => {
        fail(deserializeError(error));
        return undefined;
      },
    });
    worker.on('error', (error) => {
      this.line.cut(error);
      fail(error);
    });
    this.#ended = new Promise((resolve) => {
      worker.once('exit', (code) => {
        this.hasEnded = true;
        const why = new Error(`thread ${thread} ended with ${code}`);
        this.line.cut(why);
        if (!this.#mayEnd) fail(why);
        resolve();
      });
    });
    this.opened = this.line.request('open', { ...settings, thread }, OPEN_LIMIT_MS);
    // Awaited with the others'; until then its failure must not count as unhandled.
    this.opened.catch(() => {});
  }

  /** Its metrics; the last known ones if it does not answer in time. */
  async metrics(): Promise<{ readonly values: MetricValues; readonly isLate: boolean }> {
    try {
      this.#metrics = await this.line.request('metrics', undefined, METRICS_LIMIT_MS);
      return { values: this.#metrics, isLate: false };
    } catch {
      return { values: this.#metrics, isLate: true };
    }
  }

  /** @throws {Error} when a step of its stop failed (it is logged), or the thread did not end */
  async stop(): Promise<void> {
    this.#mayEnd = true;
    const clean = this.hasEnded || (await this.line.request('stop', undefined, STOP_LIMIT_MS));
    await withinLimit(this.#ended, END_LIMIT_MS);
    if (!clean) throw new Error(`thread ${this.thread} did not stop cleanly`);
  }
}

function handlersOf(probes: MainProbes, write: (text: string) => void): Shared['handlers'] {
  const counts = createLocalCounts();
  return {
    count: async (name) => {
      const { count, endsAtMs } = await counts.add(name);
      return { count, msLeft: endsAtMs - performance.now() };
    },
    probe: async (name) => {
      await probes[name]();
      return undefined;
    },
    log: (text) => {
      write(text);
      return undefined;
    },
  };
}

/** Without this, open sockets of uWebSockets.js make the process abort when it exits. */
function cutAtExit(threads: readonly AcceptorThreadHandle[], memory: SharedArrayBuffer): void {
  const cuts = new Int32Array(memory);
  process.once('exit', () => {
    const alive = threads.filter(({ hasEnded }) => !hasEnded);
    for (const { line } of alive) line.notify('cut', undefined);
    const endAtMs = performance.now() + CUT_LIMIT_MS;
    for (;;) {
      const done = Atomics.load(cuts, 0);
      const leftMs = endAtMs - performance.now();
      if (done >= alive.length || leftMs <= 0) return;
      Atomics.wait(cuts, 0, done, leftMs);
    }
  });
}

function metricsOf(
  threads: readonly AcceptorThreadHandle[],
  { metrics, events }: Observer,
): MetricsText {
  const { registry } = metrics;
  // The threads report it; nothing is counted here.
  metrics.limitsShared.remove();
  return {
    contentType: registry.contentType,
    text: async () => {
      const parts = await Promise.all(threads.map((thread) => thread.metrics()));
      const late = threads
        .filter((_thread, index) => parts[index]?.isLate)
        .map((one) => one.thread);
      if (late.length > 0) events.metricsIncomplete(late);
      return await sumMetrics([
        await registry.getMetricsAsJSON(),
        ...parts.map(({ values }) => values),
      ]);
    },
  };
}

function createShared(
  { config, open, catalog, main }: AcceptorsSettings,
  write: (text: string) => void,
  onFailure: Shared['onFailure'],
): Shared {
  const settings = {
    config,
    urls: open.urls,
    placement: open.placement,
    catalog,
    bodies: createCountMemory(),
    rows: createCountMemory(),
    cuts: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
  };
  return { settings, handlers: handlersOf(main, write), onFailure };
}

/** Reports the first failure only: the server stops because of it, and others are its consequence. */
function failOnce(events: Pick<Events, 'threadFailed'>, stop: () => void): Shared['onFailure'] {
  let hasFailed = false;
  return (thread, error) => {
    if (hasFailed) return;
    hasFailed = true;
    events.threadFailed(thread, error);
    stop();
  };
}

/**
 * Starts `HTTP_THREADS` threads; resolves when they are ready to listen.
 *
 * @param onFailure called once, when a thread has failed: stop the server
 * @throws the error of a thread that could not open
 */
export async function acceptInThreads(
  all: AcceptorsSettings,
  stops: Pick<StopOrder, 'add'>,
  onFailure: () => void,
): Promise<Acceptors> {
  const { config, observer } = all;
  const shared = createShared(all, observer.write, failOnce(observer.events, onFailure));
  const threads = Array.from(
    { length: config.httpThreads },
    (_, index) => new AcceptorThreadHandle(index + 1, shared),
  );
  cutAtExit(threads, shared.settings.cuts);
  const each = async (work: (thread: AcceptorThreadHandle) => Promise<unknown>): Promise<void> => {
    await Promise.all(threads.map(work));
  };
  const stopAll = () => each((thread) => thread.stop());
  stops.add('threads that take requests', stopAll, STOP_LIMIT_MS + END_LIMIT_MS);
  await each(({ opened }) => opened);
  const pingRedis = () => each(({ line }) => line.request('pingRedis', undefined, REDIS_LIMIT_MS));
  return {
    forget: (keyId) => {
      for (const { line } of threads) line.notify('forget', keyId);
    },
    retire: () => {
      for (const { line } of threads) line.notify('retire', undefined);
    },
    optionalProbes: optionalProbesOf(
      all.open.probes,
      config.redisUrl === null ? null : pingRedis,
      all.replica,
    ),
    metrics: metricsOf(threads, observer),
    listen: async () => {
      const ports = await reservePorts(publicAddresses(config));
      stops.add('new connections', () =>
        each(({ line }) => line.request('drain', undefined, DRAIN_LIMIT_MS)),
      );
      await each(({ line }) => line.request('listen', ports, LISTEN_LIMIT_MS));
      return ports;
    },
  };
}
