/** The interface to the threads that take requests, and its form without further threads. */

import type { Config } from '../../config/config.ts';
import type { DatabaseClock } from '../../db/database-clock.ts';
import type { ReadReplica } from '../../db/replica/read-replica.ts';
import type { Catalog } from '../../engine/rules/catalog.ts';
import type { ProbeDependencies } from '../../http/api/open/probe-routes.ts';
import { createMinuteCounts } from '../../http/limits/minute-counts.ts';
import type { ThreadMemory } from '../../http/transport/server.ts';
import type { Observer } from '../../observe/events.ts';
import type { MetricsText } from '../../observe/metrics.ts';
import { openForRequests } from '../connection-shares.ts';
import type { OpenDatabase } from '../open-database.ts';
import type { StopOrder } from '../stop-order.ts';
import { createAcceptor, type MainProbes } from './acceptor.ts';
import { type OpenListeners, openListeners } from './listeners.ts';

/** What every thread that takes requests needs. */
export interface AcceptorsSettings {
  readonly config: Config;
  readonly open: Pick<OpenDatabase, 'urls' | 'probes' | 'placement'>;
  /** for requests on this thread; other threads have their own */
  readonly clock: DatabaseClock;
  /** for the listeners of this thread; other threads have their own */
  readonly memory: ThreadMemory;
  readonly catalog: Catalog;
  readonly main: MainProbes;
  /** for reads of this thread; other threads have their own */
  readonly replica: ReadReplica | null;
  readonly observer: Observer;
}

export interface Acceptors extends Pick<ProbeDependencies, 'optionalProbes'> {
  /** Removes a key from every thread's cache. */
  readonly forget: (keyId: number) => void;
  /** Answers of base and observe close their connections from now on. */
  readonly retire: () => void;
  /** the metrics of all threads, including this one */
  readonly metrics: MetricsText;
  /**
   * Opens the ports of base and observe.
   *
   * @returns the ports, one when they share it
   * @throws {OperatorError} when one is taken, naming the setting to change
   */
  readonly listen: () => Promise<readonly number[]>;
}

/** Takes requests on this thread. */
export function acceptHere(
  { config, open, clock, memory, catalog, main, replica, observer }: AcceptorsSettings,
  stops: Pick<StopOrder, 'add'>,
): Acceptors {
  const { events, metrics } = observer;
  const databases = openForRequests(open.urls, events);
  const { placement } = open;
  stops.add('connections', databases.close);
  const minuteCounts = createMinuteCounts(config.redisUrl, events);
  stops.add('limit counts', minuteCounts.close);
  const acceptor = createAcceptor(
    { config, databases, placement, clock, catalog, minuteCounts, main, replica, events },
    stops,
  );
  const { registry } = metrics;
  let listeners: OpenListeners | null = null;
  return {
    forget: acceptor.forget,
    optionalProbes: acceptor.optionalProbes,
    metrics: { contentType: registry.contentType, text: () => registry.metrics() },
    retire: () => listeners?.retire(),
    listen: async () => {
      listeners = await openListeners(acceptor.listeners, events, stops, memory);
      return listeners.ports;
    },
  };
}
