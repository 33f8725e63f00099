/** Which paths were meant for telemetry, and what a request to one of them is answered. */
import { expect, test } from 'vitest';

import { BARE_PATHS, BASE_PATHS } from '../../../src/http/ingest/ingest-routes.ts';
import { intendedSignal, nearMissAnswer } from '../../../src/http/ingest/near-misses.ts';

test.each([
  ['/platform/v1/ingest/otel/v1/traces', 'traces'],
  ['/platform/v1/ingest/otel/v1/logs/', 'logs'],
  ['/platform/v1/ingest/otel/traces', 'traces'],
  ['/platform/v1/ingest/v1/metrics', 'metrics'],
  ['/platform/v1/ingest/metrics', 'metrics'],
  ['/platform/v1/ingest/otel/', 'traces'],
  ['/platform/v1/ingest/otel/metrics/', 'metrics'],
  ['/platform/v1/ingest', 'traces'],
  ['/platform/ingest/otel', 'traces'],
  ['/otel/v1/metrics', 'metrics'],
  ['/otel', 'traces'],
  ['/v1/traces/', 'traces'],
  ['//v1/traces', 'traces'],
  ['/V1/Traces', 'traces'],
  ['/v1/traces/v1/traces', 'traces'],
  ['/v1/logs/v1/traces', 'traces'],
  ['/traces', 'traces'],
  ['/collector/v1/logs', 'logs'],
  ['/', null],
  ['/v1', null],
  ['/platform/v1', null],
  ['/platform/v1/runs', null],
  ['/v1/profiles', null],
  ['/v1/tracesx', null],
  ['/xv1x/traces', null],
  ['/app/v1/traces', null],
  ['/application/v1/traces', 'traces'],
  [`/${'a'.repeat(501)}/v1/traces`, 'traces'],
  [`/${'a'.repeat(502)}/v1/traces`, null],
])('%s is meant for %s', (path, signal) => {
  expect(intendedSignal(path)).toBe(signal);
});

test('only what is sent gets the path to use', () => {
  const served = { paths: BASE_PATHS, url: 'https://base.example' };
  expect(nearMissAnswer({ method: 'GET', path: '/v1/traces/' }, served)).toBeNull();
  const answer = nearMissAnswer({ method: 'POST', path: '/otel/v1/logs' }, served);
  expect(answer).toMatchObject({ status: 404, contentType: 'application/json' });
  expect(JSON.parse(String(answer?.body))).toMatchObject({
    code: 5,
    status: 404,
    type: '/docs/errors#not_found',
    served_path: '/platform/v1/ingest/otel/logs',
    served_url: 'https://base.example/platform/v1/ingest/otel/logs',
    message: expect.stringContaining('OTEL_EXPORTER_OTLP_LOGS_ENDPOINT'),
  });
  const bare = { paths: BARE_PATHS, url: 'http://observe.example:4318' };
  const observed = nearMissAnswer({ method: 'POST', path: '/platform/v1/ingest/otel' }, bare);
  expect(JSON.parse(String(observed?.body))).toMatchObject({
    served_path: '/v1/traces',
    served_url: 'http://observe.example:4318/v1/traces',
  });
});
