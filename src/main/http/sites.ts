/** Which host serves which routes (contracts §2), assembled from the route modules of `http`. */
import type { Config } from '../../config/config.ts';
import { type Documentation, documentationRoutes } from '../../http/api/open/document-routes.ts';
import { type ProbeDependencies, probeRoutes } from '../../http/api/open/probe-routes.ts';
import { apiDocumentRoute } from '../../http/api/openapi/openapi.ts';
import { type ReadDependencies, readRoutes } from '../../http/api/read-routes.ts';
import type { CliDependencies } from '../../http/cli/cli-call.ts';
import { cliRoutes } from '../../http/cli/cli-routes.ts';
import { appRoutes, readYourWrites } from '../../http/dashboard/app-routes.ts';
import { type AppDependencies, unknownPages } from '../../http/dashboard/dashboard.ts';
import {
  BARE_PATHS,
  BASE_PATHS,
  goneRoutes,
  type IngestDependencies,
  ingestRoutes,
} from '../../http/ingest/ingest-routes.ts';
import { nearMissAnswer } from '../../http/ingest/near-misses.ts';
import type { RefusedRequests } from '../../http/limits/refused-requests.ts';
import { type McpDependencies, mcpRoutes } from '../../http/mcp/mcp-routes.ts';
import { type Asset, assetRoutes } from '../../http/transport/assets.ts';
import type { Exchange } from '../../http/transport/exchange.ts';
import type { Route } from '../../http/transport/router.ts';
import type { ListenAddress, ListenerSettings } from '../../http/transport/server.ts';
import { createCallerCheck } from '../../local-host.ts';
import type { MetricsText } from '../../observe/events.ts';
import type { ApiDocument } from '../../web/docs/api-document.ts';

export interface PublicDependencies {
  readonly ingest: IngestDependencies;
  readonly read: ReadDependencies;
  readonly documentation: Documentation;
  /** called at the first request for the document */
  readonly apiDocument: () => ApiDocument;
}

export interface SiteDependencies extends PublicDependencies, ProbeDependencies {
  readonly app: AppDependencies;
  /** the same, reading the replica; null without one */
  readonly replicaApp: AppDependencies | null;
  readonly refused: Pick<RefusedRequests, 'noteUnrouted'>;
  readonly cli: CliDependencies;
  readonly mcp: McpDependencies;
  readonly assets: readonly Asset[];
}

function metricsRoute(registry: MetricsText): Route {
  return {
    method: 'GET',
    path: '/metrics',
    handler: async (exchange) => {
      const { contentType } = registry;
      exchange.answer({ status: 200, contentType, body: await registry.metrics() });
    },
  };
}

/** `/openapi.json` describes these and the probes, but for the documentation. */
export function publicRoutes(
  {
    bareOtlpOnBase,
    observeUrl,
    baseUrl,
    corsOrigins,
  }: Pick<Config, 'bareOtlpOnBase' | 'observeUrl' | 'baseUrl' | 'corsOrigins'>,
  { ingest, read, documentation, apiDocument }: PublicDependencies,
): Route[] {
  const bare =
    bareOtlpOnBase === 'serve'
      ? ingestRoutes(BARE_PATHS, ingest, corsOrigins)
      : goneRoutes(observeUrl, baseUrl, ingest.refused);
  return [
    ...ingestRoutes(BASE_PATHS, ingest, corsOrigins),
    ...bare,
    ...readRoutes(read),
    ...documentationRoutes(documentation),
    apiDocumentRoute(apiDocument),
  ];
}

/** The addresses of the base and observe hosts: one if they share a port. */
function publicAddresses({
  host,
  port,
  observePort,
}: Pick<Config, 'host' | 'port' | 'observePort'>): readonly [ListenAddress, ...ListenAddress[]] {
  const base = { setting: 'PORT', host, port };
  if (port === observePort && port !== 0) return [base];
  return [base, { setting: 'OBSERVE_PORT', host, port: observePort }];
}

function dashboardRoutes({
  app,
  replicaApp,
}: Pick<SiteDependencies, 'app' | 'replicaApp'>): Route[] {
  const routes = appRoutes(app);
  return replicaApp === null ? routes : readYourWrites(routes, appRoutes(replicaApp), app.cookies);
}

const isHttps = (url: string): boolean => new URL(url).protocol === 'https:';

/** In the order of `publicAddresses`; on a shared port the Host header decides. */
export function publicListeners(config: Config, site: SiteDependencies): ListenerSettings[] {
  const { baseUrl, observeUrl, trustedProxyHops: trustedHops } = config;
  const { ingest, app, cli, mcp, assets, refused } = site;
  const onUnrouted: ListenerSettings['onUnrouted'] = (exchange, error) =>
    refused.noteUnrouted(exchange, error);
  const { host: authority, hostname } = new URL(observeUrl);
  const pages = unknownPages(app);
  const shared = { trustedHops, onUnrouted };
  const onBase = (exchange: Exchange) =>
    nearMissAnswer(exchange, { paths: BASE_PATHS, url: baseUrl });
  const onObserve = (exchange: Exchange) =>
    nearMissAnswer(exchange, { paths: BARE_PATHS, url: observeUrl });
  const probe = probeRoutes(site);
  const ofPeople = [...dashboardRoutes(site), ...cliRoutes(cli), ...mcpRoutes(mcp)];
  const forPeople = [...ofPeople, ...assetRoutes(assets)];
  const base = [...publicRoutes(config, site), ...forPeople, ...probe];
  const observe = [...ingestRoutes(BARE_PATHS, ingest, config.corsOrigins), ...probe];
  const [first, second] = publicAddresses(config);
  if (second !== undefined) {
    return [
      {
        ...first,
        ...shared,
        answerUnknown: onBase,
        answerBrowser: pages,
        isBehindTls: isHttps(baseUrl),
        sites: new Map([['', base]]),
      },
      {
        ...second,
        ...shared,
        answerUnknown: onObserve,
        isBehindTls: isHttps(observeUrl),
        sites: new Map([['', observe]]),
      },
    ];
  }
  const sites = new Map([
    ['', base],
    [authority, observe],
  ]);
  // Proxies forward the Host header without the port; where the names differ, the name is enough.
  if (hostname !== new URL(baseUrl).hostname) sites.set(hostname, observe);
  const isObserve = ({ host: named }: Exchange) => sites.get(named.toLowerCase()) === observe;
  const answerUnknown = (exchange: Exchange) =>
    isObserve(exchange) ? onObserve(exchange) : onBase(exchange);
  const answerBrowser: ListenerSettings['answerBrowser'] = (exchange, error, headers) =>
    !isObserve(exchange) && pages(exchange, error, headers);
  return [
    { ...first, ...shared, answerUnknown, answerBrowser, isBehindTls: isHttps(baseUrl), sites },
  ];
}

/** The listener for the operator, on the loopback interface unless `ADMIN_HOST` names another. */
export function adminListener(
  {
    adminHost,
    adminPort,
    adminAllowedHosts,
  }: Pick<Config, 'adminHost' | 'adminPort' | 'adminAllowedHosts'>,
  metrics: MetricsText,
  probes: ProbeDependencies,
): ListenerSettings {
  return {
    setting: 'ADMIN_PORT',
    host: adminHost,
    port: adminPort,
    checkCaller: createCallerCheck({
      address: adminHost,
      allowedHosts: adminAllowedHosts,
      setting: 'ADMIN_ALLOWED_HOSTS',
    }),
    sites: new Map([['', [metricsRoute(metrics), ...probeRoutes(probes)]]]),
  };
}
