/** Which host serves which routes (contracts §2), put together from the parts that answer them. */
import type { Config } from '../config.ts';
import { type AppDependencies, appRoutes } from '../http/app-routes.ts';
import { type Asset, assetRoutes } from '../http/assets.ts';
import { type Documentation, documentationRoutes } from '../http/document-routes.ts';
import {
  BARE_PATHS,
  BASE_PATHS,
  goneRoutes,
  type IngestDependencies,
  ingestRoutes,
} from '../http/ingest-routes.ts';
import { apiDocumentRoute } from '../http/openapi.ts';
import { type Probe, probeRoutes } from '../http/probe-routes.ts';
import { type ReadDependencies, readRoutes } from '../http/read-routes.ts';
import type { Route } from '../http/router.ts';
import type { ListenerSettings } from '../http/server.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { ApiDocument } from '../web/api-document.ts';

/** `/metrics` is for the operator's own scraper; it stays on this machine. */
const ADMIN_HOST = '127.0.0.1';

export interface PublicDependencies {
  readonly ingest: IngestDependencies;
  readonly read: ReadDependencies;
  readonly documentation: Documentation;
  readonly apiDocument: ApiDocument;
}

export interface SiteDependencies extends PublicDependencies {
  readonly app: AppDependencies;
  readonly probes: ReadonlyMap<string, Probe>;
  /** parts whose loss degrades and does not stop the server */
  readonly aids: ReadonlyMap<string, Probe>;
  /** the files that pages refer to */
  readonly assets: readonly Asset[];
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
 * What the base host serves to everybody who has a key, or needs none. `/openapi.json` describes
 * each of these, the probes, and nothing else.
 */
export function publicRoutes(
  {
    bareOtlpOnBase,
    observeUrl,
    baseUrl,
  }: Pick<Config, 'bareOtlpOnBase' | 'observeUrl' | 'baseUrl'>,
  { ingest, read, documentation, apiDocument }: PublicDependencies,
): Route[] {
  const bare =
    bareOtlpOnBase === 'serve' ? ingestRoutes(BARE_PATHS, ingest) : goneRoutes(observeUrl, baseUrl);
  return [
    ...ingestRoutes(BASE_PATHS, ingest),
    ...bare,
    ...readRoutes(read),
    ...documentationRoutes(documentation),
    apiDocumentRoute(apiDocument),
  ];
}

/**
 * The listeners to open: base and observe (one, told apart by host, when they share a port), admin.
 */
export function listenersOf(config: Config, site: SiteDependencies): ListenerSettings[] {
  const { host, port, observePort, adminPort, baseUrl, observeUrl } = config;
  const { ingest, app, assets, metrics } = site;
  const probe = probeRoutes(site.probes, site.aids);
  const base = [...publicRoutes(config, site), ...appRoutes(app), ...assetRoutes(assets), ...probe];
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
