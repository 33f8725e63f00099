/**
 * Telemetry from a page of another origin: OpenTelemetry's exporter for browsers, bundled, in a real
 * browser. The page of a listed origin sends; the browser refuses for one that is not listed.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { openBrowser } from '../support/chromium.ts';
import { chromiumPath } from '../support/programs.ts';
import { storedSpans } from '../support/stored-blocks.ts';
import { type Gateway, openGateway } from './gateway.ts';

const LISTED = 'https://shop.example';
const TRACES = '/v1/traces';

/** The page's script: sends one span and puts the outcome into `window.sent`. */
const PAGE_SCRIPT = `
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';

window.send = (url, key, spanId) => new Promise((resolve) => {
  const exporter = new OTLPTraceExporter({
    url, headers: { authorization: 'Bearer ' + key }, timeoutMillis: 3000,
  });
  const context = { traceId: 'c'.repeat(32), spanId, traceFlags: 1 };
  exporter.export([{
    name: 'a click', kind: 0, spanContext: () => context, attributes: {}, links: [], events: [],
    startTime: [1795176000, 0], endTime: [1795176001, 0], duration: [1, 0], ended: true,
    status: { code: 0 }, resource: { attributes: { 'service.name': 'page' } },
    instrumentationScope: { name: 'page' },
    droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0,
  }], ({ code, error }) => resolve(code === 0 ? 'sent' : String(error)));
});
`;

async function bundlePage(): Promise<string> {
  const entry = 'virtual:page';
  const bundle = await rolldown({
    input: entry,
    platform: 'browser',
    plugins: [
      {
        name: 'page',
        resolveId: (id) => (id === entry ? new URL('page.js', import.meta.url).pathname : null),
        load: (id) => (id.endsWith('/page.js') ? PAGE_SCRIPT : null),
      },
    ],
  });
  const { output } = await bundle.generate({ format: 'esm' });
  await bundle.close();
  return output[0].code;
}

/** Serves the page from an origin of its own. */
async function servePage(script: string): Promise<Server> {
  const server = createServer((request, response) => {
    const isScript = request.url === '/page.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? script : '<script type="module" src="/page.js"></script>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

const originOf = (server: Server): string =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

let listed: Server;
let unlisted: Server;
let gateway: Gateway;
beforeAll(async () => {
  const script = await bundlePage();
  listed = await servePage(script);
  unlisted = await servePage(script);
  gateway = await openGateway({ CORS_ORIGINS: `${LISTED}, ${originOf(listed)}` });
});
afterAll(async () => {
  listed.close();
  unlisted.close();
  await gateway.close();
});

describe.skipIf(chromiumPath === null)('a page in a browser', () => {
  test('sends from a listed origin; from another one the browser refuses', async () => {
    const { context, close } = await openBrowser();
    try {
      const send = async (server: Server, key: string, spanId: string): Promise<string> => {
        const page = await context.newPage();
        await page.goto(originOf(server));
        await page.waitForFunction('window.send !== undefined');
        const call = JSON.stringify([gateway.server.observeUrl + TRACES, key, spanId]);
        return await page.evaluate<string>(`window.send(...${call})`);
      };
      const { agent } = gateway.keys;
      expect(await send(listed, agent, '000000000000000a')).toBe('sent');
      expect(await send(unlisted, agent, '000000000000000b')).not.toBe('sent');
      // A refusal can be read by the page: the exporter names its status.
      expect(await send(listed, 'sluice_live_wrong', '000000000000000c')).toContain('401');
    } finally {
      await close();
    }
    const spans = await storedSpans(gateway.database);
    expect(spans.map(({ record }) => record.spanId)).toEqual(['000000000000000a']);
  });
});

describe('answers', () => {
  const ask = (url: string, method: string, key: string, origin = LISTED) =>
    fetch(url, {
      method,
      headers: {
        origin,
        ...(method === 'OPTIONS'
          ? { 'access-control-request-method': 'POST' }
          : { 'content-type': 'application/json', authorization: `Bearer ${key}` }),
      },
      ...(method === 'POST' ? { body: '{}' } : {}),
    });
  const allowed = ({ headers }: Response) => headers.get('access-control-allow-origin');

  test.each(['/v1/traces', '/v1/metrics', '/v1/logs'])(
    'a preflight of %s needs no key',
    async (path) => {
      const answer = await ask(gateway.server.observeUrl + path, 'OPTIONS', '');
      expect(answer.status).toBe(200);
      expect(allowed(answer)).toBe(LISTED);
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
    },
  );

  test('refusals have the headers too: 401, 405, 415 and 429', async () => {
    const url = gateway.server.observeUrl + TRACES;
    const limited = await gateway.addKey('agent', 1);
    const statuses = [
      await ask(url, 'POST', 'wrong'),
      await ask(url, 'PUT', limited),
      await fetch(url, {
        method: 'POST',
        headers: { origin: LISTED, authorization: `Bearer ${gateway.keys.agent}` },
        body: 'x',
      }),
      await ask(url, 'POST', limited),
      await ask(url, 'POST', limited),
    ].map((answer) => [answer.status, allowed(answer)]);
    expect(statuses).toEqual([401, 405, 415, 200, 429].map((status) => [status, LISTED]));
    const last = await ask(url, 'POST', limited);
    expect(last.headers.get('access-control-expose-headers')).toBe('retry-after');
    expect(last.headers.get('retry-after')).not.toBeNull();
  });

  test('nothing else has them: the API, the dashboard, the probes', async () => {
    const { baseUrl, observeUrl } = gateway.server;
    for (const url of [
      `${baseUrl}/platform/v1/runs`,
      `${baseUrl}/app/sign-in`,
      `${baseUrl}/openapi.json`,
      `${observeUrl}/health`,
    ]) {
      const answer = await ask(url, 'GET', gateway.keys.workspace);
      expect([url, allowed(answer), answer.headers.get('vary')]).toEqual([url, null, null]);
      expect((await ask(url, 'OPTIONS', '')).status, url).toBe(405);
    }
  });
});
