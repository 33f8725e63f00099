/**
 * Heads as bytes on a socket: an ambiguous one is refused, and nothing that follows it is treated
 * as a request.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { statusAnswer } from '../../../src/http/ingest/ingest-routes.ts';
import type { Exchange } from '../../../src/http/transport/exchange.ts';
import { json } from '../../../src/http/transport/problem.ts';
import { type Listener, openListener } from '../../../src/http/transport/server.ts';
import { openSocket } from '../../support/raw-socket.ts';

const LIMITS = { bytesMax: 1000, deadlineMs: 10_000, reserve: () => true };
/** A request that is smuggled in the body of another. */
const HIDDEN = 'GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n';

let listener: Listener;
let bodies: (string | null)[];
let isSmuggled: boolean;

beforeAll(async () => {
  const read = async (exchange: Exchange): Promise<void> => {
    const body = await exchange.readBody(LIMITS);
    bodies.push(body?.toString('latin1') ?? null);
    exchange.answer(json('read'));
  };
  const hidden = (exchange: Exchange): void => {
    isSmuggled = true;
    exchange.answer(json('hidden'));
  };
  const routes = [
    { method: 'POST', path: '/ingest', handler: read, refusal: statusAnswer },
    { method: 'POST', path: '/read', handler: read },
    { method: 'GET', path: '/hidden', handler: hidden },
  ] as const;
  listener = await openListener(
    { setting: 'PORT', host: '127.0.0.1', port: 0, sites: new Map([['', routes]]) },
    {
      requestFailed: (_place, error) => expect.unreachable(String(error)),
      requestUnavailable: () => {},
    },
  );
});
beforeEach(() => {
  bodies = [];
  isSmuggled = false;
});
afterAll(() => listener.close());

const headOf = (path: string, lines: readonly string[]): string =>
  `${[`POST ${path} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`;

/** Sends bytes and reads until the server closes. */
async function refused(bytes: string): Promise<string> {
  const client = await openSocket(listener.port);
  await client.send(Buffer.from(bytes, 'latin1'));
  const answer = await client.closed();
  expect(bodies).toEqual([]);
  expect(isSmuggled).toBe(false);
  return answer;
}

const TWICE: readonly (readonly [string, readonly string[]])[] = [
  ['host', ['Host: a', 'Host: b']],
  ['host', ['Host: a', 'Host: a']],
  ['host', ['Host: a', 'hOsT: b']],
  ['host', ['Host:', 'Host: b']],
  ['content-length', ['Host: a', 'Content-Length: 5', 'Content-Length: 40']],
  ['content-length', ['Host: a', 'Content-Length: 5', 'Content-Length: 5']],
  ['content-length', ['Host: a', 'Content-Length: 5', 'CONTENT-length: 2']],
  ['transfer-encoding', ['Host: a', 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
  ['transfer-encoding', ['Host: a', 'Transfer-Encoding: chunked', 'transfer-encoding: identity']],
  ['authorization', ['Host: a', 'Authorization: Bearer x', 'Authorization: Bearer y']],
  ['content-type', ['Host: a', 'Content-Type: application/json', 'Content-Type: text/plain']],
  ['content-encoding', ['Host: a', 'Content-Encoding: gzip', 'Content-Encoding: gzip']],
];

describe('a header that comes twice', () => {
  test.each(TWICE)('%s: %j is 400, and the connection ends', async (name, lines) => {
    const answer = await refused(headOf('/read', lines));
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect(answer).toContain(`"detail":"The header ${name} may come only once."`);
    expect(answer).toContain('"type":"/docs/errors#bad_request"');
  });

  test.each(TWICE)('%s: %j hides no request', async (_name, lines) => {
    await refused(`${headOf('/read', lines)}hello${HIDDEN}`);
    await refused(`${headOf('/read', lines)}${HIDDEN}`);
  });

  test('is answered with a google.rpc.Status on the paths of exporters', async () => {
    const answer = await refused(headOf('/ingest', ['Host: a', 'Host: b']));
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(answer).toMatch(/\r\n\r\n{"code":3,"message":"The header host may come only once\."/);
  });

  test('is refused at a path that is not served, too', async () => {
    const answer = await refused(headOf('/nothing', ['Host: a', 'Host: b']));
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('a transfer encoding', () => {
  test.each([
    'gzip',
    'identity',
    'gzip, chunked',
    'identity, chunked',
    'xchunked',
    'chunked;q=1',
    '',
  ])('"%s" is 400, and the connection ends', async (encoding) => {
    const lines = ['Host: a', `Transfer-Encoding: ${encoding}`];
    const answer = await refused(`${headOf('/read', lines)}5\r\nhello\r\n0\r\n\r\n${HIDDEN}`);
    // More data in the same segment as a refused head closes the connection.
    expect(answer).not.toContain(' 200 ');
    expect(await refused(headOf('/read', lines))).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  });

  test.each(['chunked', 'Chunked', 'CHUNKED', '\tchunked '])('"%s" is taken', async (encoding) => {
    const client = await openSocket(listener.port);
    const head = headOf('/read', ['Host: a', `Transfer-Encoding: ${encoding}`]);
    await client.send(`${head}5\r\nhello\r\n0\r\n\r\n`);
    await client.until('"read"');
    expect(bodies).toEqual(['hello']);
    client.abort();
  });
});

describe('uWebSockets.js refuses by itself', () => {
  test.each([
    ['a length beside a transfer encoding', 'Content-Length: 5\r\nTransfer-Encoding: chunked'],
    ['a transfer encoding beside a length', 'Transfer-Encoding: chunked\r\nContent-Length: 5'],
    ['a list of lengths', 'Content-Length: 5, 5'],
    ['a length with a sign', 'Content-Length: +5'],
    ['a negative length', 'Content-Length: -5'],
    ['a hexadecimal length', 'Content-Length: 0x5'],
    ['a length with a space in it', 'Content-Length: 1 5'],
  ])('%s', async (_what, lines) => {
    const answer = await refused(`${headOf('/read', ['Host: a', lines])}0\r\n\r\n${HIDDEN}`);
    expect(answer).toMatch(/^HTTP\/1\.1 (400|505) [^\r]+\r\n/);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
  });
});
