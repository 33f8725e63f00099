/**
 * The ingest endpoints over real sockets: every refusal with its status, headers and body, every
 * encoding taken, partial success, rate limits. contracts: key, rate, type, encoding, length, body.
 */
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { digestKey } from '../../src/db/people/keys.ts';
import { findFreePort } from '../support/sockets.ts';
import { spansWithIds } from '../support/stored-blocks.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  type Answer,
  type Gateway,
  openGateway,
  otlpHeaders,
  post,
  rawSpan,
  request,
  storedSpanIds,
  traceBody,
} from './gateway.ts';

const BODY_BYTES_MAX = 64 * 1024;
const DECODED_BYTES_MAX = 128 * 1024;
const SIGNALS = ['traces', 'metrics', 'logs'] as const;
const BASE_PATHS = {
  traces: '/platform/v1/ingest/otel',
  metrics: '/platform/v1/ingest/otel/metrics',
  logs: '/platform/v1/ingest/otel/logs',
} as const;

let gateway: Gateway;
let tracesUrl: string;
beforeAll(async () => {
  // Named ports, because a 410 names the address the server is configured to have.
  gateway = await openGateway({
    PORT: String(await findFreePort()),
    OBSERVE_PORT: String(await findFreePort()),
    MAX_BODY_BYTES: String(BODY_BYTES_MAX),
    MAX_DECODED_BODY_BYTES: String(DECODED_BYTES_MAX),
  });
  tracesUrl = `${gateway.server.observeUrl}/v1/traces`;
});
afterAll(() => gateway.close());

/** Asserts a google.rpc.Status answer and gives its message. */
function statusMessage(answer: Answer, status: number, code: number): string {
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toBe('application/json');
  const body = JSON.parse(answer.text) as { code: number; message: string };
  expect(body.code).toBe(code);
  return body.message;
}

function send(headers: Record<string, string>, body: Buffer | string): Promise<Answer> {
  return request(tracesUrl, {
    method: 'POST',
    headers: { ...otlpHeaders(gateway.keys.agent), ...headers },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  });
}

describe('who may send', () => {
  const cases = SIGNALS.flatMap((signal) => [
    { host: 'observe' as const, path: `/v1/${signal}` },
    { host: 'base' as const, path: BASE_PATHS[signal] },
  ]);

  test.each(cases)('$host $path: 401 without a valid key, 403 with one to read', async (at) => {
    const { baseUrl, observeUrl } = gateway.server;
    const url = `${at.host === 'base' ? baseUrl : observeUrl}${at.path}`;
    const bare = await request(url, { method: 'POST', body: '{}' });
    statusMessage(bare, 401, 16);
    expect(bare.headers.get('www-authenticate')).toBe('Bearer');
    const wrong = await post(url, `${gateway.keys.agent}x`, {});
    statusMessage(wrong, 401, 16);
    expect(wrong.headers.get('www-authenticate')).toBe('Bearer');
    const reader = await post(url, gateway.keys.workspace, {});
    expect(statusMessage(reader, 403, 7)).toContain('an agent key');
    expect(await post(url, gateway.keys.agent, {})).toMatchObject({ status: 200, text: '{}' });
  });

  test('a scheme other than Bearer is no credential', async () => {
    statusMessage(await send({ authorization: 'Basic YTpi' }, '{}'), 401, 16);
  });

  test('a revoked key stops working while the server runs', async () => {
    const key = await gateway.addKey('agent', 1000);
    expect((await post(tracesUrl, key, {})).status).toBe(200);
    await gateway.database.query(
      'UPDATE api_keys SET revoked_at = now() WHERE secret_sha256 = $1',
      [digestKey(key)],
    );
    await waitFor(async () => (await post(tracesUrl, key, {})).status === 401, {
      withinMs: 15_000,
      what: 'the revoked key is refused',
    });
  });
});

describe('where it is served', () => {
  test.each(SIGNALS)('the base host answers 410 for /v1/%s, without a key too', async (signal) => {
    const { baseUrl, observeUrl } = gateway.server;
    const answer = await request(`${baseUrl}/v1/${signal}`, { method: 'POST', body: 'anything' });
    const message = statusMessage(answer, 410, 5);
    expect(JSON.parse(answer.text)).toEqual({
      code: 5,
      message,
      type: '/docs/errors#bare_path_gone',
      title: 'Not served on this host',
      status: 410,
      detail: message,
      served_path: BASE_PATHS[signal],
      served_url: `${baseUrl}${BASE_PATHS[signal]}`,
    });
    expect(message).toContain(observeUrl);
  });

  test('the observe host serves nothing but ingest and probes', async () => {
    for (const path of ['/platform/v1/atr/rules', '/platform/v1/ingest/otel', '/', '/app']) {
      const answer = await request(`${gateway.server.observeUrl}${path}`);
      expect(answer.status, path).toBe(404);
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
    }
  });

  test('another method is 405 with Allow', async () => {
    const { baseUrl, observeUrl } = gateway.server;
    const cases = [
      [`${observeUrl}/v1/traces`, 'GET', 'POST'],
      [`${baseUrl}/platform/v1/ingest/otel`, 'PUT', 'POST'],
      [`${observeUrl}/health`, 'POST', 'GET, HEAD'],
      [`${baseUrl}/platform/v1/risk-findings`, 'DELETE', 'GET, HEAD'],
    ] as const;
    for (const [url, method, allow] of cases) {
      const answer = await request(url, { method });
      expect(answer.status, url).toBe(405);
      expect(answer.headers.get('allow'), url).toBe(allow);
    }
  });
});

describe('what is taken', () => {
  test('protobuf is 415 and names the setting of the exporter', async () => {
    for (const type of ['application/x-protobuf', 'text/plain']) {
      const message = statusMessage(await send({ 'content-type': type }, 'x'), 415, 3);
      expect(message).toContain('OTEL_EXPORTER_OTLP_PROTOCOL=http/json');
    }
    const parameter = { 'content-type': 'application/json; charset=utf-8' };
    expect((await send(parameter, '{}')).status).toBe(200);
  });

  test('the key is checked before anything else', async () => {
    const headers = { authorization: '', 'content-type': 'text/plain', 'content-encoding': 'br' };
    statusMessage(await send(headers, 'x'.repeat(BODY_BYTES_MAX + 1)), 401, 16);
  });

  test.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['identity', (bytes: Buffer) => bytes],
  ] as const)('a %s body', async (encoding, encode) => {
    const span = rawSpan();
    const body = encode(Buffer.from(JSON.stringify(traceBody([span]))));
    const answer = await send({ 'content-encoding': encoding }, body);
    expect(answer).toMatchObject({ status: 200, text: '{}' });
    expect(await storedSpanIds(gateway.database, [span.spanId])).toEqual(new Set([span.spanId]));
  });

  test('an encoding that is not taken is 415 and names those that are', async () => {
    const message = statusMessage(await send({ 'content-encoding': 'br' }, '{}'), 415, 3);
    expect(message).toContain('gzip');
  });

  test('bytes that are not what Content-Encoding says are 400', async () => {
    statusMessage(await send({ 'content-encoding': 'gzip' }, '{}'), 400, 3);
    const cut = gzipSync(JSON.stringify(traceBody([rawSpan()]))).subarray(0, -9);
    statusMessage(await send({ 'content-encoding': 'gzip' }, cut), 400, 3);
  });
});

/**
 * Sends without a declared length until the server answers; gives the status and how much went out.
 */
function sendChunked(chunk: Buffer, chunksMax: number): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(tracesUrl, {
      method: 'POST',
      headers: otlpHeaders(gateway.keys.agent),
    });
    outgoing.once('error', reject);
    outgoing.once('response', (incoming) => {
      const parts: Buffer[] = [];
      incoming.on('data', (part: Buffer) => parts.push(part));
      incoming.once('end', () => {
        outgoing.destroy();
        resolve({ status: incoming.statusCode ?? 0, body: Buffer.concat(parts).toString() });
      });
    });
    for (let sent = 0; sent < chunksMax; sent += 1) outgoing.write(chunk);
    outgoing.end();
  });
}

describe('how much is taken', () => {
  const PADDING = ' '.repeat(BODY_BYTES_MAX - 2);

  test('a body at the limit is taken, one byte more is 413', async () => {
    expect((await send({}, `{${PADDING}}`)).status).toBe(200);
    const message = statusMessage(await send({}, `{ ${PADDING}}`), 413, 3);
    expect(message).toContain(String(BODY_BYTES_MAX));
  });

  test('a client that writes all of a too large body before it reads sees the 413', async () => {
    statusMessage(await send({}, Buffer.alloc(32 * 1024 * 1024, ' ')), 413, 3);
  });

  test('a declared length that nobody would read to its end is 413 at once', async () => {
    const { hostname, port } = new URL(tracesUrl);
    const socket = connect(Number(port), hostname);
    const head = Object.entries({ host: 'x', ...otlpHeaders(gateway.keys.agent) });
    const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    socket.write(`POST /v1/traces HTTP/1.1\r\n${lines}content-length: 1000000000\r\n\r\n`);
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toMatch(/^connection: close\r$/im);
  });

  test('a body without a length is 413 when it grows past the limit', async () => {
    const answer = await sendChunked(Buffer.alloc(16 * 1024, ' '), 8);
    expect(answer.status).toBe(413);
    expect(JSON.parse(answer.body)).toMatchObject({ code: 3 });
    expect((await sendChunked(Buffer.from('{}'), 1)).status).toBe(200);
  });

  test('a small body that inflates past the limit is 413', async () => {
    const bomb = gzipSync(Buffer.alloc(DECODED_BYTES_MAX + 1, ' '));
    expect(bomb.length).toBeLessThan(1024);
    const message = statusMessage(await send({ 'content-encoding': 'gzip' }, bomb), 413, 3);
    expect(message).toContain(String(DECODED_BYTES_MAX));
  });
});

describe('what is in it', () => {
  test('an undecodable body is 400 with a google.rpc.Status', async () => {
    statusMessage(await send({}, '{"resourceSpans":['), 400, 3);
    statusMessage(await send({}, ''), 400, 3);
    const answer = await send({}, '{"resourceSpans":[{"scopeSpans":5}]}');
    statusMessage(answer, 400, 3);
    const field = 'resourceSpans[0].scopeSpans';
    const message = `${field} must be a JSON array`;
    expect(JSON.parse(answer.text)).toEqual({
      code: 3,
      message,
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: [{ field, description: message }],
        },
      ],
    });
  });

  test('bad records are counted and named, their neighbours stored', async () => {
    const good = [rawSpan(), rawSpan()];
    const bad = [
      rawSpan({ traceId: 'nothing' }),
      rawSpan({ kind: 40_000 }),
      rawSpan({ kind: 'x' }),
    ];
    const mixed = [good[0], bad[0], bad[1], good[1], bad[2]];
    const answer = await post(tracesUrl, gateway.keys.agent, traceBody(mixed));
    expect(answer.status).toBe(200);
    const { partialSuccess } = JSON.parse(answer.text) as {
      partialSuccess: { rejectedSpans: string; errorMessage: string };
    };
    expect(partialSuccess.rejectedSpans).toBe('3');
    expect(partialSuccess.errorMessage).toContain(
      'bad_trace_id (1, first at resourceSpans[0].scopeSpans[0].spans[1].traceId)',
    );
    expect(partialSuccess.errorMessage).toContain(
      'bad_kind (2, first at resourceSpans[0].scopeSpans[0].spans[2].kind)',
    );
    const ids = [...good, ...bad].map(({ spanId }) => spanId);
    expect(await storedSpanIds(gateway.database, ids)).toEqual(
      new Set(good.map(({ spanId }) => spanId)),
    );
  });

  test('a span with a parent of zeros and links without ids is stored, and finishes its run', async () => {
    const links = [
      { traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceState: 'a=b' },
      { traceId: '', spanId: 'x' },
      {},
    ];
    const root = rawSpan({ parentSpanId: '0'.repeat(16), links, flags: '1e0' });
    const answer = await post(tracesUrl, gateway.keys.agent, traceBody([root]));
    expect([answer.status, answer.text]).toEqual([200, '{}']);
    const [stored] = await spansWithIds(gateway.database, [root.spanId]);
    expect(stored?.record).toEqual(root);
    const { rows } = await gateway.database.query('SELECT state FROM runs WHERE run_id = $1', [
      root.traceId,
    ]);
    expect(rows).toEqual([{ state: 'completed' }]);
  });

  test('the rejected count is named for the signal', async () => {
    const { observeUrl } = gateway.server;
    const logs = { resourceLogs: [{ scopeLogs: [{ logRecords: [{ severityNumber: 'x' }] }] }] };
    const point = { asInt: '1' };
    const metric = { name: 'm', gauge: { dataPoints: [point] } };
    const metrics = { resourceMetrics: [{ scopeMetrics: [{ metrics: [metric] }] }] };
    const { agent } = gateway.keys;
    expect(JSON.parse((await post(`${observeUrl}/v1/logs`, agent, logs)).text)).toMatchObject({
      partialSuccess: { rejectedLogRecords: '1' },
    });
    expect(JSON.parse((await post(`${observeUrl}/v1/metrics`, agent, metrics)).text)).toMatchObject(
      { partialSuccess: { rejectedDataPoints: '1' } },
    );
  });

  test('characters that PostgreSQL cannot store are stored as they were sent', async () => {
    const span = rawSpan({ name: 'chat \u0000 \ud800' });
    expect((await post(tracesUrl, gateway.keys.agent, traceBody([span]))).text).toBe('{}');
    const [stored] = await spansWithIds(gateway.database, [span.spanId]);
    expect(stored?.record.name).toBe('chat \u0000 \ud800');
  });
});

test('a key past its limit is 429 with Retry-After; other keys are not', async () => {
  const key = await gateway.addKey('agent', 3);
  const statuses: number[] = [];
  for (let count = 0; count < 3; count += 1) statuses.push((await post(tracesUrl, key, {})).status);
  expect(statuses).toEqual([200, 200, 200]);
  const answer = await post(tracesUrl, key, {});
  expect(statusMessage(answer, 429, 8)).toContain('3 requests per minute');
  const seconds = Number(answer.headers.get('retry-after'));
  expect(seconds).toBeGreaterThanOrEqual(1);
  expect(seconds).toBeLessThanOrEqual(60);
  // Counted before the type is looked at: a misconfigured exporter cannot hammer for nothing.
  const protobuf = { ...otlpHeaders(key), 'content-type': 'application/x-protobuf' };
  const refused = await request(tracesUrl, { method: 'POST', headers: protobuf, body: 'x' });
  expect(refused.status).toBe(429);
  expect((await post(tracesUrl, gateway.keys.agent, {})).status).toBe(200);
});
