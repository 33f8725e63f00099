/** What each answer of the server means for a request: accepted, refused, denied, or to be sent again. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { createUpstream, parseRetryAfter, type Upstream } from '../../src/relay/upstream.ts';

const REQUEST = { signal: 'traces', body: Buffer.from('x'), deduplicates: true } as const;

let server: Server;
let upstream: Upstream;
let paths: string[];
/** The connections of the requests, in order. */
let sockets: Socket[];
/** Which request, from 1, the server answers by closing its connection. */
let isCutOff: (request: number) => boolean;
let answer: { readonly status: number; readonly headers?: Record<string, string>; body?: string };
beforeEach(async () => {
  paths = [];
  sockets = [];
  isCutOff = () => false;
  server = createServer((request, response) => {
    paths.push(request.url ?? '');
    sockets.push(request.socket);
    if (isCutOff(paths.length)) {
      request.socket.destroy();
      return;
    }
    request.resume();
    request.on('end', () => {
      const { status, headers = {}, body = '{}' } = answer;
      response.writeHead(status, headers).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  upstream = createUpstream({ url, key: () => 'key', userAgent: 'a test' });
});
afterEach(async () => {
  upstream.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const KINDS = {
  accepted: [200],
  refused: [400, 413, 415, 422],
  denied: [
    201, 202, 204, 301, 304, 308, 401, 402, 403, 404, 405, 406, 407, 409, 411, 412, 414, 421, 428,
    431, 451,
  ],
  unavailable: [408, 429, 500, 501, 502, 503, 504, 507, 599],
} as const;

describe.each(Object.entries(KINDS))('%s', (kind, statuses) => {
  test.each(statuses)('is what %i means, and nothing is sent again', async (status) => {
    answer = { status };
    expect(await upstream.send(REQUEST)).toMatchObject({ kind });
    expect(paths).toEqual(['/v1/traces']);
  });
});

test.each([408, 429, 503])('how long to wait after %i is what the server says', async (status) => {
  answer = { status, headers: { 'retry-after': '7' } };
  expect(await upstream.send(REQUEST)).toEqual({
    kind: 'unavailable',
    reason: String(status),
    retryAfterMs: 7000,
  });
});

test('410 is answered by the base host: its own path is tried, once', async () => {
  answer = { status: 410 };
  for (const _ of [1, 2]) expect(await upstream.send(REQUEST)).toMatchObject({ kind: 'denied' });
  const own = '/platform/v1/ingest/otel';
  expect(paths).toEqual(['/v1/traces', own, own]);
});

test.each([
  [65_536, true],
  [65_537, false],
])('of an answer of %i bytes the message is read: %s; the status counts', async (bytes, isRead) => {
  answer = { status: 400, body: JSON.stringify({ message: '' }).padEnd(bytes) };
  const outcome = await upstream.send(REQUEST);
  const body = isRead ? { message: '' } : null;
  expect(outcome).toEqual({ kind: 'refused', answer: { status: 400, body } });
});

test.each([
  ['999999999', 999_999_999_000],
  ['1000000000', null],
  [' 7 ', 7000],
  ['1.5', null],
  ['2026-11-20T00:00:00Z', null],
  ['20 Nov 2026 00:00:00 GMT', null],
])('Retry-After %j is %j ms', (text, ms) => {
  expect(parseRetryAfter(text, 0)).toBe(ms);
});

describe('a connection that the server closes while it is used', () => {
  beforeEach(() => {
    answer = { status: 200 };
  });

  test('again: the request is sent once more, on another connection', async () => {
    expect(await upstream.send(REQUEST)).toMatchObject({ kind: 'accepted' });
    isCutOff = (request) => request === 2;
    expect(await upstream.send(REQUEST)).toMatchObject({ kind: 'accepted' });
    expect(paths).toHaveLength(3);
    expect(sockets[1]).toBe(sockets[0]);
    expect(sockets[2]).not.toBe(sockets[0]);
  });

  test('again, with others that are as old: the request is sent on a new one', async () => {
    await Promise.all([upstream.send(REQUEST), upstream.send(REQUEST)]);
    const old = [...sockets];
    isCutOff = (request) => old.includes(sockets[request - 1] as Socket);
    expect(await upstream.send(REQUEST)).toMatchObject({ kind: 'accepted' });
    expect(paths).toHaveLength(4);
    expect(old).not.toContain(sockets[3]);
  });

  test('again, and then a new one too: the request is not sent a third time', async () => {
    await upstream.send(REQUEST);
    isCutOff = () => true;
    expect(await upstream.send(REQUEST)).toMatchObject({
      kind: 'unavailable',
      reason: 'ECONNRESET',
    });
    expect(paths).toHaveLength(3);
  });

  test('again: closing breaks off what is sent once more', async () => {
    await upstream.send(REQUEST);
    isCutOff = (request) => {
      if (request === 3) upstream.close();
      return request === 2;
    };
    expect(await upstream.send(REQUEST)).toMatchObject({ kind: 'unavailable' });
    expect(paths).toHaveLength(3);
  });

  test('for the first time: the request is not sent again here', async () => {
    isCutOff = () => true;
    expect(await upstream.send(REQUEST)).toMatchObject({
      kind: 'unavailable',
      reason: 'ECONNRESET',
    });
    expect(paths).toHaveLength(1);
  });
});
