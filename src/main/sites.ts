/** Which host serves which routes (contracts §2), put together from the parts that answer them. */
import type { Config } from '../config.ts';
import {
  BARE_PATHS,
  BASE_PATHS,
  goneRoutes,
  type IngestDependencies,
  ingestRoutes,
} from '../http/ingest-routes.ts';
import { type Probe, probeRoutes } from '../http/probe-routes.ts';
import { type ReadDependencies, readRoutes } from '../http/read-routes.ts';
import type { Route } from '../http/router.ts';
import type { ListenerSettings } from '../http/server.ts';
import type { Metrics } from '../observe/metrics.ts';

/** `/metrics` is for the operator's own scraper; it stays on this machine. */
const ADMIN_HOST = '127.0.0.1';

export interface SiteDependencies {
  readonly ingest: IngestDependencies;
  readonly read: ReadDependencies;
  readonly probes: ReadonlyMap<string, Probe>;
  readonly metrics: Metrics;
}

function metricsRoute({ registry }: Metrics): Route {
  return {
    method: 'GET',
    path: '/metrics',
    handler: async (exchange) => {
      exchange.answer({
        status: 200,
        contentType: registry.contentType,
        body: await registry.metrics(),
      });
    },
  };
}

/**
 * The listeners to open: base and observe (one, told apart by host, when they share a port), admin.
 */
export function listenersOf(
  config: Config,
  { ingest, read, probes, metrics }: SiteDependencies,
): ListenerSettings[] {
  const { host, port, observePort, adminPort, baseUrl, observeUrl } = config;
  const probe = probeRoutes(probes);
  const bareOnBase =
    config.bareOtlpOnBase === 'serve'
      ? ingestRoutes(BARE_PATHS, ingest)
      : goneRoutes(observeUrl, baseUrl);
  const base = [...ingestRoutes(BASE_PATHS, ingest), ...bareOnBase, ...readRoutes(read), ...probe];
  const observe = [...ingestRoutes(BARE_PATHS, ingest), ...probe];
  const admin: ListenerSettings = {
    setting: 'ADMIN_PORT',
    host: ADMIN_HOST,
    port: adminPort,
    sites: new Map([['', [metricsRoute(metrics), ...probe]]]),
  };
  if (port === observePort && port !== 0) {
    const { host: authority, hostname } = new URL(observeUrl);
    const sites = new Map([
      ['', base],
      [authority, observe],
    ]);
    // Proxies pass the Host header on without the port; that will do where the names differ.
    if (hostname !== new URL(baseUrl).hostname) sites.set(hostname, observe);
    return [{ setting: 'PORT', host, port, sites }, admin];
  }
  return [
    { setting: 'PORT', host, port, sites: new Map([['', base]]) },
    { setting: 'OBSERVE_PORT', host, port: observePort, sites: new Map([['', observe]]) },
    admin,
  ];
}
