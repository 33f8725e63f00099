/**
 * Telemetry of which nothing is known, and telemetry sent to a path that is nearly right: the sender is
 * shown what was expected, by every way of decoding and again for the same body, and it is counted and shown.
 */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { findFreePort } from '../support/sockets.ts';
import { spansWithIds } from '../support/stored-blocks.ts';
import { waitFor } from '../support/wait-for.ts';
import { Browser } from './browser.ts';
import {
  type Gateway,
  openGateway,
  otlpHeaders,
  post,
  rawSpan,
  request,
  traceBody,
} from './gateway.ts';

const WITHIN_MS = 30_000;
const FIELD = {
  traces: 'rejectedSpans',
  logs: 'rejectedLogRecords',
  metrics: 'rejectedDataPoints',
};
type Signal = keyof typeof FIELD;

let gateway: Gateway;
beforeAll(async () => {
  // Answers name the hosts by their ports.
  const [PORT, OBSERVE_PORT] = [String(await findFreePort()), String(await findFreePort())];
  gateway = await openGateway({ PORT, OBSERVE_PORT });
});
afterAll(() => gateway.close());

const urlOf = (signal: Signal): string => `${gateway.server.observeUrl}/v1/${signal}`;
const warning = (signal: Signal, errorMessage: string) => ({
  partialSuccess: { [FIELD[signal]]: '0', errorMessage },
});
const LOGS_EXPECTED = 'logs were expected (resourceLogs); this body has resourceSpans';
/** Larger than what is decoded on the event loop. */
const large = (): object => traceBody([rawSpan({ name: 'x'.repeat(300_000) })]);

async function counted(): Promise<number> {
  const { text } = await request(gateway.server.metricsUrl);
  const line = /^sluice_ingest_refused_requests_total\{reason="nothing_known"\} (\d+)$/m.exec(text);
  return Number(line?.[1] ?? 0);
}

describe('a body in which nothing is known', () => {
  test.each<[string, Signal, () => object, string]>([
    ['of traces, sent to logs', 'logs', () => traceBody([rawSpan()]), LOGS_EXPECTED],
    ['the same, large', 'logs', large, LOGS_EXPECTED],
    [
      'in snake_case',
      'metrics',
      () => ({ resource_metrics: [] }),
      'metrics were expected (resourceMetrics); this body has resource_metrics',
    ],
    [
      'of an older OTLP',
      'traces',
      () => ({ resourceSpans: [{ instrumentationLibrarySpans: [{ spans: [rawSpan()] }] }] }),
      'traces were expected (scopeSpans); resourceSpans[0] has instrumentationLibrarySpans',
    ],
  ])('%s', async (_what, signal, body, message) => {
    const before = await counted();
    const sent = body();
    for (const attempt of [1, 2]) {
      const { status, text } = await post(urlOf(signal), gateway.keys.agent, sent);
      expect({ status, body: JSON.parse(text) }).toEqual({
        status: 200,
        body: warning(signal, message),
      });
      expect(await counted()).toBe(before + attempt);
    }
    const zipped = await request(urlOf(signal), {
      method: 'POST',
      headers: { ...otlpHeaders(gateway.keys.agent), 'content-encoding': 'gzip' },
      body: gzipSync(JSON.stringify(sent)),
    });
    expect(JSON.parse(zipped.text)).toEqual(warning(signal, message));
  });

  test('in a part of a body that is stored: a resend gets the same answer', async () => {
    const known = rawSpan();
    const body = {
      resourceSpans: [
        ...(traceBody([known]) as { resourceSpans: object[] }).resourceSpans,
        { scope_spans: [] },
      ],
    };
    const message = 'traces were expected (scopeSpans); resourceSpans[1] has scope_spans';
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const { text } = await post(urlOf('traces'), gateway.keys.agent, body);
      expect(JSON.parse(text)).toEqual(warning('traces', message));
    }
    expect(await spansWithIds(gateway.database, [known.spanId])).toHaveLength(1);
  });

  test('is shown with the refused requests', async () => {
    await post(urlOf('logs'), gateway.keys.agent, traceBody([rawSpan()]));
    const owner = new Browser(gateway.server.baseUrl);
    await owner.signIn(gateway.owner.email, gateway.owner.password);
    const isShown = async () =>
      (await owner.get('/app')).text.includes('Nothing known in the body');
    await waitFor(isShown, { withinMs: WITHIN_MS, what: 'the overview shows it' });
    const errors = await request(`${gateway.server.baseUrl}/docs/errors`);
    expect(errors.text).toContain('id="nothing_known"');
  });

  test.each<[string, Signal, object]>([
    ['an empty body', 'logs', {}],
    ['an empty list', 'traces', { resourceSpans: [] }],
    ['unknown keys beside known ones', 'traces', { resourceSpans: [], resource_spans: [{}] }],
  ])('%s is not one', async (_what, signal, body) => {
    const before = await counted();
    const { status, text } = await post(urlOf(signal), gateway.keys.agent, body);
    expect([status, text]).toEqual([200, '{}']);
    expect(await counted()).toBe(before);
  });
});

describe('a path that is nearly right', () => {
  const NEARLY: readonly [path: string, signal: Signal][] = [
    ['/platform/v1/ingest/otel/v1/traces', 'traces'],
    ['/v1//traces', 'traces'],
    ['/platform/v1/ingest/otel/traces', 'traces'],
    ['/platform/v1/ingest/v1/logs', 'logs'],
    ['/otel/v1/metrics', 'metrics'],
  ];

  test.each(NEARLY)('%s names the path of %s on both hosts', async (path, signal) => {
    const { baseUrl, observeUrl } = gateway.server;
    const ofBase = `/platform/v1/ingest/otel${signal === 'traces' ? '' : `/${signal}`}`;
    for (const [url, served] of [
      [baseUrl, ofBase],
      [observeUrl, `/v1/${signal}`],
    ] as const) {
      const answer = await post(`${url}${path}`, gateway.keys.agent, traceBody([]));
      const { message, ...body } = JSON.parse(answer.text);
      expect(answer.status).toBe(404);
      expect(body).toEqual({
        code: 5,
        type: '/docs/errors#not_found',
        title: 'Not found',
        status: 404,
        detail: message,
        served_path: served,
        served_url: `${url}${served}`,
      });
      const right = await post(body.served_url, gateway.keys.agent, traceBody([]));
      expect(right.status).toBe(200);
    }
  });

  test('other paths, and other methods, are 404 as before', async () => {
    const { baseUrl } = gateway.server;
    for (const [method, path] of [
      ['POST', '/platform/v1/nothing'],
      ['GET', '/otel/v1/metrics'],
    ] as const) {
      const answer = await request(`${baseUrl}${path}`, { method });
      expect(answer.status).toBe(404);
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
    }
  });
});
