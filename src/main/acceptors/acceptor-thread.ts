/**
 * The entry point of an acceptor thread: serves the same as the main thread would (`acceptor.ts`), and
 * calls the main thread for counts, probes and log lines.
 *
 *   open ──► listen ──► serving ──drain──► stop ──► the thread ends
 *
 * A thread must not end with open sockets: uWebSockets.js leaves its handles behind, and Node (20.20)
 * then aborts the process. So an uncaught exception is reported to the main thread, which stops the
 * server in order, and `cut` closes the sockets when the process ends at once.
 */
import { parentPort } from 'node:worker_threads';

import { DatabaseClock } from '../../db/database-clock.ts';
import {
  type CountStore,
  createExactCounts,
  createMinuteCounts,
  type MinuteCounts,
} from '../../http/limits/minute-counts.ts';
import { createObserver, type Events, type Observer } from '../../observe/events.ts';
import { openForRequests, openReplica } from '../connection-shares.ts';
import { StopOrder } from '../stop-order.ts';
import { CLOCK_READ_EVERY_MS, repeat } from '../upkeep.ts';
import { type Acceptor, createAcceptor, type MainProbes } from './acceptor.ts';
import type { AcceptorCalls, AcceptorThreadSettings, MainCalls } from './acceptor-calls.ts';
import { type OpenListeners, openListeners } from './listeners.ts';
import { SharedByteCount } from './shared-byte-count.ts';
import { type Handlers, serializeError, ThreadLine } from './thread-line.ts';

/** The main thread answers in a fraction of a millisecond; past this a request is counted here. */
const COUNT_LIMIT_MS = 1000;
/** Above the time limit of the probe routes. */
const PROBE_LIMIT_MS = 10_000;

type MainLine = ThreadLine<MainCalls, AcceptorCalls>;

/** The counts kept by the main thread. */
function countsOf(line: MainLine): CountStore {
  return {
    add: async (name) => {
      const sentAtMs = performance.now();
      try {
        const { count, msLeft } = await line.request('count', name, COUNT_LIMIT_MS);
        return {
          count,
          sentAtMs,
          endsAtMs: performance.now() + msLeft,
          openUntilMs: sentAtMs + msLeft,
        };
      } catch {
        return null;
      }
    },
  };
}

function minuteCountsOf(redisUrl: string | null, line: MainLine, events: Events): MinuteCounts {
  if (redisUrl !== null) return createMinuteCounts(redisUrl, events);
  return { ...createExactCounts(countsOf(line), events), ping: null, close: async () => {} };
}

class AcceptorThread {
  readonly #settings: AcceptorThreadSettings;
  readonly #observer: Observer;
  readonly #acceptor: Acceptor;
  readonly #clock: DatabaseClock;
  readonly #stops = new StopOrder();
  #listeners: OpenListeners | null = null;

  constructor(line: MainLine, settings: AcceptorThreadSettings) {
    const { thread, config, urls, placement, catalog, bodies, rows } = settings;
    this.#settings = settings;
    const destination = { write: (text: string) => line.notify('log', text) };
    this.#observer = createObserver(config.logLevel, destination, { thread });
    const { events } = this.#observer;
    const databases = openForRequests(urls, events);
    this.#stops.add('connections', databases.close);
    const replica = openReplica(config, databases.probes, events);
    if (replica !== null) this.#stops.add('read replica', () => replica.close());
    // The main thread compares the clocks, and says so.
    const clock = new DatabaseClock(databases.ingest, { clockCompared: () => {} });
    this.#clock = clock;
    const minuteCounts = minuteCountsOf(config.redisUrl, line, events);
    this.#stops.add('limit counts', minuteCounts.close);
    const shared = { bodies: new SharedByteCount(bodies), rows: new SharedByteCount(rows) };
    const probe = (name: keyof MainProbes) => () => line.request('probe', name, PROBE_LIMIT_MS);
    const main = {
      corpus: probe('corpus'),
      pass: probe('pass'),
      clock: probe('clock'),
      accepting: probe('accepting'),
    };
    this.#acceptor = createAcceptor(
      { config, databases, placement, clock, catalog, minuteCounts, main, replica, shared, events },
      this.#stops,
    );
  }

  async listen(ports: readonly number[]): Promise<undefined> {
    await this.#clock.read();
    const { clockUnread } = this.#observer.events;
    const readings = repeat(() => this.#clock.read(), CLOCK_READ_EVERY_MS, clockUnread);
    this.#stops.add('clock', readings.stop);
    const all = this.#acceptor.listeners.map((settings, index) => ({
      ...settings,
      port: ports[index] ?? settings.port,
      isShared: true,
    }));
    this.#listeners = await openListeners(all, this.#observer.events, this.#stops);
  }

  retire(): undefined {
    this.#listeners?.retire();
  }

  drain(): undefined {
    this.#listeners?.drain();
  }

  async stop(): Promise<boolean> {
    return await this.#stops.run(this.#observer.events);
  }

  cut(): undefined {
    this.#listeners?.cut();
    const cuts = new Int32Array(this.#settings.cuts);
    Atomics.add(cuts, 0, 1);
    Atomics.notify(cuts, 0);
  }

  forget(keyId: number): undefined {
    this.#acceptor.forget(keyId);
  }

  async metrics() {
    return await this.#observer.metrics.registry.getMetricsAsJSON();
  }

  async pingRedis(): Promise<undefined> {
    await this.#acceptor.optionalProbes.get('redis')?.();
  }
}

/** Ends the thread after the answer is sent; its sockets are closed by then. */
function endSoon(): void {
  setImmediate(() => process.exit(0));
}

function serveMain(port: NonNullable<typeof parentPort>): void {
  let thread: AcceptorThread | null = null;
  const opened = (): AcceptorThread => {
    if (thread === null) throw new Error('not open yet');
    return thread;
  };
  const handlers: Handlers<AcceptorCalls> = {
    open: (settings) => {
      thread = new AcceptorThread(line, settings);
      return undefined;
    },
    listen: (ports) => opened().listen(ports),
    retire: () => opened().retire(),
    drain: () => opened().drain(),
    stop: async () => {
      const clean = thread === null || (await thread.stop());
      endSoon();
      return clean;
    },
    cut: () => opened().cut(),
    forget: (keyId) => opened().forget(keyId),
    metrics: () => opened().metrics(),
    pingRedis: () => opened().pingRedis(),
  };
  const line: MainLine = new ThreadLine<MainCalls, AcceptorCalls>(port, handlers);
  process.on('uncaughtException', (error) => line.notify('failed', serializeError(error)));
}

if (parentPort === null) throw new Error('acceptor-thread.ts runs in a worker thread only');
serveMain(parentPort);
