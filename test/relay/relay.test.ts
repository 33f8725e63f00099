/** A relay over real sockets: formats, limits, what it passes on, and what it sends to the server. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { type OpenRelay, openRelay, type RelaySettings } from '../../src/relay/relay.ts';
import { parseRetryAfter } from '../../src/relay/upstream.ts';
import { waitFor } from '../support/wait-for.ts';
import { encodeProtobuf } from './otlp-protobuf.ts';

const PROTOBUF = 'application/x-protobuf';
const JSON_TYPE = 'application/json';
const REQUEST = { resourceSpans: [{ scopeSpans: [{ spans: [{ name: 'chat', kind: 3 }] }] }] };

interface Taken {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}
interface Given {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

let folder: string;
let server: Server;
let taken: Taken[];
let given: (request: Taken) => Given;
/** what the server waits for before it answers */
let hold: () => Promise<void>;
let relay: OpenRelay;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-relay-'));
  taken = [];
  given = () => ({ status: 200, body: '{}' });
  hold = async () => {};
  server = createServer(async (incoming, response) => {
    const { url = '', headers } = incoming;
    const request = { path: url, headers, body: await buffer(incoming) };
    taken.push(request);
    await hold();
    const { status, headers: more = {}, body = '' } = given(request);
    response.writeHead(status, { 'content-type': JSON_TYPE, ...more }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  relay = await openRelay(settings());
});
afterEach(async () => {
  await relay.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

function settings(more: Partial<RelaySettings> = {}): RelaySettings {
  const { port } = server.address() as AddressInfo;
  return {
    host: '127.0.0.1',
    port: 0,
    allowedHosts: [],
    url: `http://127.0.0.1:${port}`,
    readKey: () => 'sluice_live_key',
    queueFolder: folder,
    queueBytesMax: 1024 * 1024,
    logLevel: 'silent',
    version: '9.9.9',
    ...more,
  };
}

interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

async function post(
  body: Uint8Array | string,
  type: string = PROTOBUF,
  headers: Record<string, string> = {},
  path = '/v1/traces',
): Promise<Answered> {
  const response = await fetch(`${relay.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': type, ...headers },
    body,
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, body: bytes };
}

/** What the relay sent, as JSON. */
function sentJson(index = 0): unknown {
  return JSON.parse(gunzipSync(taken[index]?.body ?? '').toString());
}

/** A message of two fields, a number (1) and a text (2), as every answer here is. */
function readAnswer(body: Uint8Array): { number: number; text: string } {
  const reader = new BinaryReader(body);
  reader.uint32();
  const number = reader.int32();
  reader.uint32();
  return { number, text: reader.string() };
}

describe('a request', () => {
  test('in protobuf is sent as JSON in gzip, with the key and without the headers of the client', async () => {
    const headers = { authorization: 'Bearer of-the-client', 'x-api-key': 'k' };
    const answer = await post(encodeProtobuf('traces', REQUEST), PROTOBUF, headers);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe(PROTOBUF);
    expect(answer.body).toHaveLength(0);
    expect(taken[0]?.path).toBe('/v1/traces');
    expect(taken[0]?.headers).toMatchObject({
      authorization: 'Bearer sluice_live_key',
      'content-type': JSON_TYPE,
      'content-encoding': 'gzip',
      'user-agent': 'sluice-relay/9.9.9',
    });
    expect(taken[0]?.headers).not.toHaveProperty('x-api-key');
    expect(taken[0]?.headers).not.toHaveProperty('sluice-deduplicate');
    expect(sentJson()).toEqual(REQUEST);
  });

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ])('in protobuf and %s', async (encoding, compress) => {
    const body = compress(encodeProtobuf('traces', REQUEST));
    expect((await post(body, PROTOBUF, { 'content-encoding': encoding })).status).toBe(200);
    expect(sentJson()).toEqual(REQUEST);
  });

  test('in JSON is sent as it is, also where it came in gzip', async () => {
    const text = JSON.stringify(REQUEST);
    const plain = await post(text, JSON_TYPE);
    expect(plain).toMatchObject({ status: 200 });
    expect(plain.body.toString()).toBe('{}');
    const zipped = gzipSync(text);
    await post(zipped, JSON_TYPE, { 'content-encoding': 'gzip' });
    expect(sentJson()).toEqual(REQUEST);
    expect(taken[1]?.body).toEqual(zipped);
  });

  test.each(['/v1/metrics', '/v1/logs'])('to %s', async (path) => {
    expect((await post('', PROTOBUF, {}, path)).status).toBe(200);
    expect(taken[0]?.path).toBe(path);
  });

  test.each([
    ['text/plain', 'x', {}, 415],
    [PROTOBUF, 'not protobuf', {}, 400],
    [JSON_TYPE, 'not JSON', {}, 400],
    [PROTOBUF, 'not gzip', { 'content-encoding': 'gzip' }, 400],
    [PROTOBUF, 'x', { 'content-encoding': 'br' }, 415],
    [PROTOBUF, '', { 'sluice-deduplicate': 'no' }, 400],
    [PROTOBUF, gzipSync(Buffer.alloc(70 * 1024 * 1024)), { 'content-encoding': 'gzip' }, 413],
    [PROTOBUF, Buffer.alloc(21 * 1024 * 1024), {}, 413],
  ])(
    'of type %s that cannot be taken is refused with its status',
    async (type, body, headers, status) => {
      const answer = await post(body, type, headers);
      expect(answer.status).toBe(status);
      expect(taken).toEqual([]);
    },
  );

  test('in protobuf that is refused is answered with google.rpc.Status in protobuf', async () => {
    const answer = await post('not protobuf');
    expect(answer.headers.get('content-type')).toBe(PROTOBUF);
    expect(readAnswer(answer.body)).toMatchObject({ number: 3 });
  });
});

describe('what the server answers is passed on', () => {
  const partialSuccess = { rejectedSpans: '2', errorMessage: 'bad_kind (2, first at …)' };

  test('a partial success, in both formats', async () => {
    given = () => ({ status: 200, body: JSON.stringify({ partialSuccess }) });
    const json = await post(JSON.stringify(REQUEST), JSON_TYPE);
    expect(JSON.parse(json.body.toString())).toEqual({ partialSuccess });
    const { body } = await post(encodeProtobuf('traces', REQUEST));
    // What the exporter of the SDK reads.
    expect(ProtobufTraceSerializer.deserializeResponse(body)).toEqual({
      partialSuccess: { rejectedSpans: 2, errorMessage: partialSuccess.errorMessage },
    });
  });

  test.each([400, 401, 403, 413])('%d with its message, in both formats', async (status) => {
    const said = { code: 16, message: 'This key is not known.' };
    given = () => ({ status, body: JSON.stringify(said) });
    const json = await post(JSON.stringify(REQUEST), JSON_TYPE);
    expect(json.status).toBe(status);
    expect(JSON.parse(json.body.toString())).toEqual(said);
    const protobuf = await post(encodeProtobuf('traces', REQUEST));
    expect(protobuf.status).toBe(status);
    expect(readAnswer(protobuf.body)).toEqual({ number: 16, text: said.message });
    expect(relay.queueBytes()).toBe(0);
  });

  test('a page of another server is not; the message names the setting', async () => {
    given = () => ({ status: 404, body: '<html>secret</html>' });
    const answer = await post(JSON.stringify(REQUEST), JSON_TYPE);
    expect(answer.status).toBe(404);
    expect(answer.body.toString()).toMatch(/SLUICE_URL/);
    expect(answer.body.toString()).not.toMatch(/secret/);
  });

  test('a redirect is not followed, with the key, nor passed on', async () => {
    given = () => ({ status: 301, headers: { location: 'http://127.0.0.1:9/' } });
    const answer = await post(JSON.stringify(REQUEST), JSON_TYPE);
    expect(answer.status).toBe(502);
    expect(answer.headers.get('location')).toBeNull();
    expect(taken).toHaveLength(1);
  });
});

test('the base host, which answers 410, is sent to at its own paths', async () => {
  given = ({ path }) => (path.startsWith('/v1/') ? { status: 410 } : { status: 200, body: '{}' });
  expect((await post('', PROTOBUF, {}, '/v1/logs')).status).toBe(200);
  expect((await post('')).status).toBe(200);
  expect(taken.map(({ path }) => path)).toEqual([
    '/v1/logs',
    '/platform/v1/ingest/otel/logs',
    '/platform/v1/ingest/otel',
  ]);
});

test.each([429, 503, 500])(
  '%d: the request is queued and sent again, byte for byte',
  async (status) => {
    given = () => (taken.length === 1 ? { status } : { status: 200, body: '{}' });
    expect((await post(encodeProtobuf('traces', REQUEST))).status).toBe(200);
    await waitFor(() => taken.length === 2 && relay.queueBytes() === 0, {
      withinMs: 20_000,
      what: 'the request is sent again',
    });
    expect(taken[1]?.body).toEqual(taken[0]?.body);
  },
);

test('a closed relay leaves the queue for the next one', async () => {
  given = () => ({ status: 503, headers: { 'retry-after': '60' } });
  await post(encodeProtobuf('traces', REQUEST));
  await post(encodeProtobuf('traces', REQUEST));
  await relay.close();
  expect(readdirSync(folder).some((name) => name.endsWith('.queue'))).toBe(true);
  given = () => ({ status: 200, body: '{}' });
  relay = await openRelay(settings());
  await waitFor(() => relay.queueBytes() === 0, { withinMs: 20_000, what: 'an empty queue' });
  expect(taken).toHaveLength(3);
});

test('Sluice-Deduplicate: off is passed on, at once, from the queue and after a restart', async () => {
  const send = (): Promise<Answered> =>
    post(encodeProtobuf('traces', REQUEST), PROTOBUF, { 'sluice-deduplicate': 'off' });
  await send();
  given = () => ({ status: 503, headers: { 'retry-after': '60' } });
  await send();
  await relay.close();
  given = () => ({ status: 200, body: '{}' });
  relay = await openRelay(settings());
  await waitFor(() => relay.queueBytes() === 0, { withinMs: 20_000, what: 'an empty queue' });
  expect(taken.map(({ headers }) => headers['sluice-deduplicate'])).toEqual(['off', 'off', 'off']);
});

test('a request in progress at a stop is queued, answered, and its connection closed', async () => {
  let release = (): void => {};
  const isReleased = new Promise<void>((resolve) => {
    release = resolve;
  });
  hold = () => isReleased;
  const answered = post(encodeProtobuf('traces', REQUEST));
  await waitFor(() => taken.length === 1, { withinMs: 20_000, what: 'the request is being sent' });
  const closed = relay.close();
  const { status, headers } = await answered;
  expect(status).toBe(200);
  expect(headers.get('connection')).toBe('close');
  release();
  await closed;
  // The server has accepted it after all: the next relay has nothing to send.
  relay = await openRelay(settings());
  expect(relay.queueBytes()).toBe(0);
});

test('a queue that is full answers 503 with Retry-After, in both formats', async () => {
  given = () => ({ status: 503, headers: { 'retry-after': '60' } });
  await relay.close();
  relay = await openRelay(settings({ queueBytesMax: 100 }));
  const first = await post(
    JSON.stringify({ padding: Array.from({ length: 99 }, Math.random) }),
    JSON_TYPE,
  );
  expect(first.status).toBe(503);
  expect(Number(first.headers.get('retry-after'))).toBeGreaterThan(0);
  const protobuf = await post(encodeProtobuf('traces', REQUEST));
  expect(protobuf.status).toBe(200);
  expect(relay.queueBytes()).toBeGreaterThan(0);
});

test('a key file that is replaced is read when the key is refused', async () => {
  await relay.close();
  const file = join(folder, 'key');
  writeFileSync(file, 'old');
  let key = 'old';
  relay = await openRelay(settings({ readKey: () => key }));
  given = ({ headers }) => ({ status: headers.authorization === 'Bearer new' ? 200 : 401 });
  expect((await post('')).status).toBe(401);
  key = 'new';
  expect((await post('')).status).toBe(200);
});

test('/health and /metrics tell of queue and server', async () => {
  given = () => ({ status: 503 });
  await post(encodeProtobuf('traces', REQUEST));
  const health = await (await fetch(`${relay.url}/health`)).json();
  expect(health).toMatchObject({
    status: 'ok',
    server: 'unavailable',
    queue_bytes_max: 1024 * 1024,
  });
  const text = await (await fetch(`${relay.url}/metrics`)).text();
  for (const line of [
    /^sluice_relay_queue_bytes [1-9]\d*$/m,
    /^sluice_relay_queue_oldest_seconds \d/m,
    /^sluice_relay_server_up 0$/m,
    /^sluice_relay_requests_total\{signal="traces",status="200"\} 1$/m,
    /^sluice_relay_queued_total\{signal="traces"\} 1$/m,
    /^sluice_relay_retries_total\{reason="503"\} \d+$/m,
  ]) {
    expect(text).toMatch(line);
  }
});

test.each([
  ['GET', '/v1/traces', 405],
  ['POST', '/health', 405],
  ['GET', '/', 404],
  ['POST', '/v1/profiles', 404],
])('%s %s is answered %d', async (method, path, status) => {
  expect((await fetch(`${relay.url}${path}`, { method })).status).toBe(status);
});

test('an address that is in use is an error of the operator that names it', async () => {
  const port = Number(new URL(relay.url).port);
  const other = mkdtempSync(join(tmpdir(), 'sluice-relay-'));
  await expect(openRelay(settings({ port, queueFolder: other }))).rejects.toThrow(
    /in use.*--listen/,
  );
  rmSync(other, { recursive: true });
});

test.each([
  [undefined, null],
  ['7', 7000],
  ['0', 0],
  ['Thu, 01 Jan 1970 00:01:00 GMT', 50_000],
  ['Thu, 01 Jan 1970 00:00:01 GMT', 0],
  ['soon', null],
  ['-1', null],
])('Retry-After %j is %j ms', (text, ms) => {
  expect(parseRetryAfter(text, 10_000)).toBe(ms);
});
