/** What each answer of the server means for a request: accepted, refused, denied, or to be sent again. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { createUpstream, parseRetryAfter, type Upstream } from '../../src/relay/upstream.ts';

const REQUEST = { signal: 'traces', body: Buffer.from('x'), deduplicates: true } as const;

let server: Server;
let upstream: Upstream;
let paths: string[];
let answer: { readonly status: number; readonly headers?: Record<string, string>; body?: string };
beforeEach(async () => {
  paths = [];
  server = createServer((request, response) => {
    paths.push(request.url ?? '');
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
