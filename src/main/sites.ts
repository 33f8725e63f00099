/** Which host serves which routes (contracts §2), put together from the parts that answer them. */
import type { Config } from '../config.ts';
import { type Documentation, documentationRoutes } from '../http/api/open/document-routes.ts';
import { type Probe, probeRoutes } from '../http/api/open/probe-routes.ts';
import { apiDocumentRoute } from '../http/api/openapi/openapi.ts';
import { type ReadDependencies, readRoutes } from '../http/api/read-routes.ts';
import { type AppDependencies, appRoutes } from '../http/dashboard/app-routes.ts';
import {
  BARE_PATHS,
  BASE_PATHS,
  goneRoutes,
  type IngestDependencies,
  ingestRoutes,
} from '../http/ingest/ingest-routes.ts';
import { type Asset, assetRoutes } from '../http/transport/assets.ts';
import type { Route } from '../http/transport/router.ts';
import type { ListenAddress, ListenerSettings } from '../http/transport/server.ts';
import type { MetricsText } from '../observe/metrics.ts';
import type { ApiDocument } from '../web/docs/api-document.ts';

/** `/metrics` is for the operator's own scraper; it stays on this machine. */
const ADMIN_HOST = '127.0.0.1';

export interface PublicDependencies {
  readonly ingest: IngestDependencies;
  readonly read: ReadDependencies;
  readonly documentation: Documentation;
  readonly apiDocument: ApiDocument;
}

export interface ProbeDependencies {
  readonly probes: ReadonlyMap<string, Probe>;
  /** parts whose loss degrades and does not stop the server */
  readonly aids: ReadonlyMap<string, Probe>;
}

export interface SiteDependencies extends PublicDependencies, ProbeDependencies {
  readonly app: AppDependencies;
  /** the files that pages refer to */
  readonly assets: readonly Asset[];
}

function metricsRoute({ contentType, text }: MetricsText): Route {
  return {
    method: 'GET',
    path: '/metrics',
    handler: async (exchange) => {
      exchange.answer({ status: 200, contentType, body: await text() });
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

/** Where people and programs reach base and observe: one address when they share a port. */
export function publicAddresses({
  host,
  port,
  observePort,
}: Pick<Config, 'host' | 'port' | 'observePort'>): readonly [ListenAddress, ...ListenAddress[]] {
  const base = { setting: 'PORT', host, port };
  if (port === observePort && port !== 0) return [base];
  return [base, { setting: 'OBSERVE_PORT', host, port: observePort }];
}

const isHttps = (url: string): boolean => new URL(url).protocol === 'https:';

/** What is served at the `publicAddresses`, in their order; one port tells its hosts apart. */
export function publicListeners(config: Config, site: SiteDependencies): ListenerSettings[] {
  const { baseUrl, observeUrl, trustedProxyHops: trustedHops } = config;
  const { ingest, app, assets } = site;
  const probe = probeRoutes(site.probes, site.aids);
  const base = [...publicRoutes(config, site), ...appRoutes(app), ...assetRoutes(assets), ...probe];
  const observe = [...ingestRoutes(BARE_PATHS, ingest), ...probe];
  const [first, second] = publicAddresses(config);
  if (second !== undefined) {
    return [
      { ...first, trustedHops, isBehindTls: isHttps(baseUrl), sites: new Map([['', base]]) },
      { ...second, trustedHops, isBehindTls: isHttps(observeUrl), sites: new Map([['', observe]]) },
    ];
  }
  const { host: authority, hostname } = new URL(observeUrl);
  const sites = new Map([
    ['', base],
    [authority, observe],
  ]);
  // Proxies pass the Host header on without the port; that will do where the names differ.
  if (hostname !== new URL(baseUrl).hostname) sites.set(hostname, observe);
  return [{ ...first, trustedHops, isBehindTls: isHttps(baseUrl), sites }];
}

/** What only the operator reaches. */
export function adminListener(
  { adminPort }: Pick<Config, 'adminPort'>,
  metrics: MetricsText,
  { probes, aids }: ProbeDependencies,
): ListenerSettings {
  return {
    setting: 'ADMIN_PORT',
    host: ADMIN_HOST,
    port: adminPort,
    sites: new Map([['', [metricsRoute(metrics), ...probeRoutes(probes, aids)]]]),
  };
}
