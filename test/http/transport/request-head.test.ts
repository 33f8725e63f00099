/**
 * Heads as bytes on a socket: an ambiguous one is refused, and nothing that follows it is treated
 * as a request.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { statusAnswer } from '../../../src/http/ingest/ingest-routes.ts';
import { json } from '../../../src/http/transport/answers.ts';
import type { Exchange } from '../../../src/http/transport/exchange.ts';
import { FORWARDED_CHARS_MAX } from '../../../src/http/transport/request-head.ts';
import { type Listener, openListener } from '../../../src/http/transport/server.ts';
import { openSocket, statuses } from '../../support/sockets.ts';

/**
 * uWebSockets.js has one build for Node 20, and another for Node 22 and newer, which refuses by itself
 * what the older one hands on or leaves unanswered. docs/errors.md has both columns.
 */
const REFUSES_BY_ITSELF = Number(process.versions.node.split('.')[0]) >= 22;
const LIMITS = { bytesMax: 1000, deadlineMs: 10_000, reserve: () => true };
/** RFC 9110, section 5.6.2: the characters of a header's name that are no letters and no digits. */
const PUNCTUATION = [..."!#$%&'*+-.^_`|~"];
/** What may not be in one; a colon ends it. */
const SEPARATORS = [...'"(),/;<=>?@[\\]{} \t\x01\x7f\x80\xff'];
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

const HOST_TWICE: readonly (readonly [string, readonly string[]])[] = [
  ['host', ['Host: a', 'Host: b']],
  ['host', ['Host: a', 'Host: a']],
  ['host', ['Host: a', 'hOsT: b']],
  ['host', ['Host:', 'Host: b']],
];
const TWICE: readonly (readonly [string, readonly string[]])[] = [
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
  test.each([...HOST_TWICE, ...TWICE])(
    '%s: %j is 400, and the connection ends',
    async (name, lines) => {
      const answer = await refused(headOf('/read', lines));
      expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
      expect(answer).toMatch(/\r\nconnection: close\r\n/i);
      if (name === 'host' && REFUSES_BY_ITSELF) {
        expect(answer).toContain('<h1>Bad Request</h1>');
        return;
      }
      expect(answer).toContain(`"detail":"The header ${name} may come only once."`);
      expect(answer).toContain('"type":"/docs/errors#bad_request"');
    },
  );

  test.each([...HOST_TWICE, ...TWICE])('%s: %j hides no request', async (_name, lines) => {
    await refused(`${headOf('/read', lines)}hello${HIDDEN}`);
    await refused(`${headOf('/read', lines)}${HIDDEN}`);
  });

  test('is answered with a google.rpc.Status on the paths of exporters', async () => {
    const lines = ['Host: a', 'Content-Type: text/plain', 'Content-Type: text/plain'];
    const answer = await refused(headOf('/ingest', lines));
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(answer).toMatch(/\r\n\r\n{"code":3,"message":"The header content-type may come only/);
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

describe('names of headers', () => {
  let seen: (readonly [string, string])[];
  let named: Listener;
  beforeAll(async () => {
    const show = (exchange: Exchange): void => {
      seen.push([exchange.authorization ?? '', exchange.forwardedFor]);
      exchange.answer(json('seen'));
    };
    named = await openListener(
      {
        setting: 'PORT',
        host: '127.0.0.1',
        port: 0,
        sites: new Map([['', [{ method: 'GET', path: '/see', handler: show }]]]),
      },
      {
        requestFailed: (_place, error) => expect.unreachable(String(error)),
        requestUnavailable: () => {},
      },
    );
  });
  beforeEach(() => {
    seen = [];
  });
  afterAll(() => named.close());

  const lines = (name: string): string =>
    `GET /see HTTP/1.1\r\nHost: a\r\n${name}: 1\r\nAuthorization: Bearer x\r\n\r\n`;

  test.each(PUNCTUATION)('%s is answered, and so is what follows it', async (character) => {
    const names = [`X${character}Foo`, `${character}x`, `X-Very-Long-${character}9${character}`];
    const client = await openSocket(named.port);
    for (const name of names) await client.send(lines(name));
    await client.until(/(?:"seen"[\s\S]*){3}/);
    expect(seen).toEqual(names.map(() => ['Bearer x', '']));
    client.abort();
  });

  test('a head that arrives byte by byte', async () => {
    const client = await openSocket(named.port);
    client.socket.setNoDelay(true);
    for (const byte of lines('X_Foo.Bar^~')) await client.send(byte);
    await client.until('"seen"');
    expect(seen).toEqual([['Bearer x', '']]);
    client.abort();
  });

  test.each([FORWARDED_CHARS_MAX, FORWARDED_CHARS_MAX + 1])(
    'of X-Forwarded-For with %i characters the last ones are read',
    async (length) => {
      const chain = Array.from({ length }, (_, at) => at % 10).join('');
      const client = await openSocket(named.port);
      await client.send(lines('X').replace('X: 1', `X-Forwarded-For: ${chain}`));
      await client.until('"seen"');
      expect(seen).toEqual([['Bearer x', chain.slice(-FORWARDED_CHARS_MAX)]]);
      client.abort();
    },
  );

  test('a name with an underscore is another one than that with a hyphen', async () => {
    const client = await openSocket(named.port);
    const text = lines('X_Forwarded_For').replace('Bearer x\r\n', '$&Content_Length: 9\r\n');
    await client.send(text + text);
    await client.until(/(?:"seen"[\s\S]*){2}/);
    expect(seen).toEqual([
      ['Bearer x', ''],
      ['Bearer x', ''],
    ]);
    client.abort();
  });

  test('no other character is taken for one', async () => {
    const clients = await Promise.all(SEPARATORS.map(() => openSocket(named.port)));
    for (const [at, client] of clients.entries()) {
      await client.send(Buffer.from(lines(`X${SEPARATORS[at]}Foo`), 'latin1'));
    }
    await (await fetch(`http://127.0.0.1:${named.port}/see`)).text();
    expect(seen).toEqual([['', '']]);
    for (const client of clients) {
      expect(statuses(client.received()).filter((status) => status !== 400)).toEqual([]);
      client.abort();
    }
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

  /** A head of so many bytes. */
  const headOfBytes = (bytes: number): string => {
    const rest = headOf('/read', ['Host: a', 'X-Padding: ']).length;
    return headOf('/read', ['Host: a', `X-Padding: ${'x'.repeat(bytes - rest)}`]);
  };
  /** What a head of so many bytes is answered that arrives in pieces. */
  async function statusOf(bytes: number, pieceBytes: number): Promise<number> {
    const client = await openSocket(listener.port);
    client.socket.setNoDelay(true);
    const head = headOfBytes(bytes);
    for (let at = 0; at < bytes; at += pieceBytes) {
      await client.send(head.slice(at, at + pieceBytes));
      // Once a later request is answered, this piece has been read alone.
      await (await fetch(`http://127.0.0.1:${listener.port}/nothing`)).text();
    }
    const answer = await client.until('\r\n\r\n');
    client.abort();
    return statuses(answer)[0] ?? 0;
  }

  test('a head of more than 16 KiB; on Node 20 only one that arrives in pieces', async () => {
    const [piece, whole] = [1400, 1 << 20];
    expect(await statusOf(16_384, whole)).toBe(200);
    expect(await statusOf(16_384, piece)).toBe(200);
    expect(await statusOf(16_400, whole)).toBe(REFUSES_BY_ITSELF ? 431 : 200);
    expect(await statusOf(16_400, piece)).toBe(431);
  });

  // The build for Node 20 does not answer them, and closes the connection after ten seconds.
  test.each([
    ['a space before a colon', 'Host : a', 400],
    ['a control character', 'X: \x01', 400],
    ['a folded line', 'X: a\r\n b', 400],
    ['99 header lines', Array.from({ length: 98 }, () => 'X: a').join('\r\n'), 431],
  ])('%s', async (_what, line, status) => {
    const client = await openSocket(listener.port);
    await client.send(headOf('/read', ['Host: a', line]));
    if (REFUSES_BY_ITSELF) expect(statuses(await client.closed())).toEqual([status]);
    client.abort();
    expect(bodies).toEqual([]);
  });
});
