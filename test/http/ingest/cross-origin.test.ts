/** Which headers pages of other origins get: with the preflight, and with the answer. */
import { describe, expect, test } from 'vitest';
import {
  crossOriginHeaders,
  preflightAnswer,
  preflightRoutes,
} from '../../../src/http/ingest/cross-origin.ts';
import { listenersOf } from '../../support/served-routes.ts';

const SHOP = 'https://shop.example';
const ALLOWED = new Set([SHOP, 'http://localhost:5173']);
const from = (origin: string) => ({ origin });
const NOT_ALLOWED = [
  '',
  'null',
  'http://shop.example',
  'https://shop.example:8443',
  'https://shop.example.evil.example',
  'https://SHOP.example',
  '*',
];

describe('an allowed origin', () => {
  test.each([...ALLOWED])('%s may send, without credentials', (origin) => {
    const headers = Object.fromEntries(preflightAnswer(ALLOWED, from(origin)).headers ?? []);
    expect(headers).toEqual({
      vary: 'origin',
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers':
        'authorization, content-type, content-encoding, user-agent, sluice-deduplicate, ' +
        'traceparent, tracestate, baggage',
      'access-control-max-age': '7200',
      'access-control-allow-private-network': 'true',
    });
    expect(Object.fromEntries(crossOriginHeaders(ALLOWED, from(origin)))).toEqual({
      vary: 'origin',
      'access-control-allow-origin': origin,
      'access-control-expose-headers': 'retry-after',
    });
  });
});

describe('any other origin', () => {
  test.each(NOT_ALLOWED)('%j gets no permission', (origin) => {
    const vary = [['vary', 'origin']];
    expect(preflightAnswer(ALLOWED, from(origin)).headers).toEqual(vary);
    expect(crossOriginHeaders(ALLOWED, from(origin))).toEqual(vary);
  });
});

test('without an allowed origin nothing is served and nothing is added', () => {
  expect(preflightRoutes(['/v1/traces'], new Set())).toEqual([]);
  expect(crossOriginHeaders(new Set(), from(SHOP))).toEqual([]);
});

test('preflights are answered on the OTLP endpoints alone', () => {
  const preflights = (settings: Record<string, string>) =>
    listenersOf(settings).flatMap(({ sites }) =>
      [...sites.values()].flat().flatMap(({ method, path }) => (method === 'OPTIONS' ? path : [])),
    );
  const base = '/platform/v1/ingest/otel';
  const bare = ['/v1/traces', '/v1/metrics', '/v1/logs'];
  expect(preflights({ CORS_ORIGINS: SHOP })).toEqual([
    base,
    `${base}/metrics`,
    `${base}/logs`,
    ...bare,
  ]);
  expect(preflights({})).toEqual([]);
});
