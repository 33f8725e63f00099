/**
 * Pages of other origins that may send telemetry (`CORS_ORIGINS`, https://fetch.spec.whatwg.org,
 * "CORS protocol"): preflights and the headers of answers, on the OTLP endpoints alone. Without an
 * origin in the list nothing of this is served.
 *
 * Credentials are never allowed: a key comes in `Authorization`, and no cookie opens an endpoint.
 */
import { DEDUPLICATE_HEADER } from '../../otlp/deduplicate-header.ts';
import type { Answer, Exchange, HeaderList } from '../transport/exchange.ts';
import type { Route } from '../transport/router.ts';

/** Exact origins, such as `https://shop.example`. */
export type AllowedOrigins = ReadonlySet<string>;

type FromOrigin = Pick<Exchange, 'origin'>;

/** Headers that exporters send, and headers that tracing libraries add to the requests of a page. */
const REQUEST_HEADERS = [
  'authorization',
  'content-type',
  'content-encoding',
  'user-agent',
  DEDUPLICATE_HEADER,
  'traceparent',
  'tracestate',
  'baggage',
].join(', ');
/** Chromium remembers a preflight for two hours at most. */
const MAX_AGE_SECONDS = 7200;

const TEXT_TYPE = 'text/plain; charset=utf-8';
/** An answer is another one for another origin, so no cache may give it to both. */
const VARY = ['vary', 'origin'] as const;
const NONE: HeaderList = [];

export function crossOriginHeaders(allowed: AllowedOrigins, { origin }: FromOrigin): HeaderList {
  if (allowed.size === 0) return NONE;
  if (!allowed.has(origin)) return [VARY];
  return [
    VARY,
    ['access-control-allow-origin', origin],
    ['access-control-expose-headers', 'retry-after'],
  ];
}

/**
 * The answer to a preflight, before any authentication: browsers send none with it. An origin that is
 * not in the list gets no permission, and its browser then sends nothing.
 */
export function preflightAnswer(allowed: AllowedOrigins, { origin }: FromOrigin): Answer {
  const permission: HeaderList = allowed.has(origin)
    ? [
        ['access-control-allow-origin', origin],
        ['access-control-allow-methods', 'POST'],
        ['access-control-allow-headers', REQUEST_HEADERS],
        ['access-control-max-age', String(MAX_AGE_SECONDS)],
        // Of a public page and a server in a private network (Private Network Access).
        ['access-control-allow-private-network', 'true'],
      ]
    : NONE;
  return { status: 200, contentType: TEXT_TYPE, headers: [VARY, ...permission], body: '' };
}

/** The routes that answer preflights; none without an allowed origin. */
export function preflightRoutes(paths: readonly string[], allowed: AllowedOrigins): Route[] {
  if (allowed.size === 0) return [];
  return paths.map((path) => ({
    method: 'OPTIONS',
    path,
    handler: (exchange) => exchange.answer(preflightAnswer(allowed, exchange)),
  }));
}
