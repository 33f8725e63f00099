/**
 * One request and its answer over real sockets: bodies in every kind of pieces, refusals while a
 * body is still coming, clients that leave, and what HTTP/1.1 asks of connections.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SluiceError } from '../../../src/errors.ts';
import { json, problem, toSluiceError } from '../../../src/http/transport/answers.ts';
import type { BodyLimits, Exchange } from '../../../src/http/transport/exchange.ts';
import type { Handler } from '../../../src/http/transport/router.ts';
import { type Listener, openListener } from '../../../src/http/transport/server.ts';
import { head, openSocket, type RawSocket, statuses } from '../../support/sockets.ts';

const ROOMY: BodyLimits = { bytesMax: 1 << 30, deadlineMs: 60_000, reserve: () => true };
const MIB = 1024 * 1024;

let listener: Listener;
let sockets: RawSocket[];
/** bodies the handlers have read to their end; null for a client that left */
let bodies: (string | null)[];
let failures: unknown[];
let limits: BodyLimits;
/** what `/gated` handlers wait for before they do anything */
let gate: Promise<void>;
let openGate: () => void;
let gated: Exchange[];
/** the bodies that `/beginning` read, and what it kept of them */
let beginnings: { exchange: Exchange; body: Buffer; kept: Buffer }[];
/** what `/text` answers */
let text: string;

async function readAndEcho(exchange: Exchange): Promise<void> {
  try {
    const body = await exchange.readBody(limits);
    bodies.push(body?.toString('latin1') ?? null);
    if (body !== null) exchange.answer({ status: 200, contentType: 'text/plain', body });
  } catch (thrown) {
    exchange.answer(problem(toSluiceError(thrown, 'read')));
  }
}

const HANDLERS: Readonly<Record<string, Handler>> = {
  '/echo': readAndEcho,
  '/gated': async (exchange) => {
    gated.push(exchange);
    await gate;
    await readAndEcho(exchange);
  },
  '/beginning': async (exchange) => {
    const body = await exchange.readBody(limits);
    if (body === null) return;
    const kept = exchange.keepBeginning(body, 4 * 1024);
    beginnings.push({ exchange, body, kept });
    await gate;
    exchange.answer({ status: 200, contentType: 'text/plain', body: kept });
    exchange.releaseBody();
  },
  '/refuse': (exchange) => exchange.answer(problem(new SluiceError('rate_limited', 'No more.'))),
  '/refuse-later': async (exchange) => {
    gated.push(exchange);
    await gate;
    exchange.answer(problem(new SluiceError('rate_limited', 'No more.')));
  },
};

beforeEach(async () => {
  sockets = [];
  bodies = [];
  failures = [];
  gated = [];
  beginnings = [];
  limits = ROOMY;
  gate = new Promise((resolve) => {
    openGate = resolve;
  });
  const posts = Object.entries(HANDLERS).map(
    ([path, handler]) => ({ method: 'POST', path, handler }) as const,
  );
  const gets = [
    {
      method: 'GET',
      path: '/hello',
      handler: (exchange: Exchange) => exchange.answer(json({ hello: exchange.query })),
    },
    {
      method: 'GET',
      path: '/text',
      handler: (exchange: Exchange) =>
        exchange.answer({ status: 200, contentType: 'text/plain', body: text }),
    },
    { method: 'GET', path: '/large', handler: (exchange: Exchange) => exchange.answer(LARGE) },
    {
      method: 'GET',
      path: '/twice',
      handler: (exchange: Exchange) => {
        exchange.answer(json('first'));
        exchange.answer(json('second'));
      },
    },
  ] as const;
  listener = await openListener(
    { setting: 'PORT', host: '127.0.0.1', port: 0, sites: new Map([['', [...posts, ...gets]]]) },
    { requestFailed: (_place, error) => void failures.push(error), requestUnavailable: () => {} },
  );
});

afterEach(async () => {
  vi.useRealTimers();
  for (const { socket } of sockets) socket.destroy();
  openGate();
  listener.drain();
  await listener.close();
  expect(failures).toEqual([]);
});

const LARGE = { status: 200, contentType: 'text/plain', body: 'x'.repeat(5 * MIB) };

async function open(): Promise<RawSocket> {
  const socket = await openSocket(listener.port);
  sockets.push(socket);
  return socket;
}

/** Waits until what handlers leave behind is as said. */
async function eventually(condition: () => boolean): Promise<void> {
  await vi.waitUntil(condition, { timeout: 20_000, interval: 5 });
}

/**
 * Sends a message again and again over one connection, each time in two pieces, cut one
 * byte further.
 *
 * @returns how often it was sent
 */
async function sendCutEverywhere(message: string): Promise<number> {
  const client = await open();
  // uWebSockets.js answers 505 to a request line in two segments; no client sends one.
  const first = message.indexOf('\r\n') + 1;
  for (let cut = first; cut < message.length; cut += 1) {
    await client.send(message.slice(0, cut));
    await new Promise(setImmediate);
    await client.send(message.slice(cut));
    await eventually(() => bodies.length === cut - first + 1);
  }
  return message.length - first;
}

describe('bodies', () => {
  test('of a declared length, whole', async () => {
    const client = await open();
    await client.send(`${head('POST', '/echo', 'Content-Length: 5')}hello`);
    const answer = await client.until('hello');
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer.toLowerCase()).toContain('content-type: text/plain\r\n');
    expect(answer.toLowerCase()).toContain('content-length: 5\r\n');
    expect(answer.toLowerCase()).not.toContain('connection: close');
  });

  test('of no length at all', async () => {
    const client = await open();
    await client.send(head('POST', '/echo', 'Content-Length: 0'));
    expect((await client.closed()).toLowerCase()).toContain('content-length: 0\r\n');
    const other = await open();
    await other.send(head('POST', '/echo'));
    await other.until(/200 OK[\s\S]*\r\n\r\n$/);
    expect(bodies).toEqual(['', '']);
  });

  test('cut at every offset, on one connection', async () => {
    const message = `${head('POST', '/echo', 'Content-Length: 10')}0123456789`;
    const cuts = await sendCutEverywhere(message);
    expect(bodies).toEqual(Array.from({ length: cuts }, () => '0123456789'));
  });

  test('in chunks, cut at every offset', async () => {
    const chunks = '5\r\nhello\r\n0A\r\n, everyone\r\n0\r\n\r\n';
    const message = head('POST', '/echo', 'Transfer-Encoding: chunked') + chunks;
    const cuts = await sendCutEverywhere(message);
    expect(bodies).toEqual(Array.from({ length: cuts }, () => 'hello, everyone'));
  });

  test('of megabytes, declared and chunked', async () => {
    const client = await open();
    const body = Buffer.alloc(3 * MIB, 'abc');
    await client.send(head('POST', '/echo', `Content-Length: ${body.length}`));
    await client.send(body);
    await eventually(() => bodies.length === 1);
    await client.send(head('POST', '/echo', 'Transfer-Encoding: chunked'));
    for (let at = 0; at < body.length; at += MIB) {
      await client.send(`${MIB.toString(16)}\r\n`);
      await client.send(body.subarray(at, at + MIB));
      await client.send('\r\n');
    }
    await client.send('0\r\n\r\n');
    await eventually(() => bodies.length === 2);
    expect(bodies.map((read) => read === body.toString('latin1'))).toEqual([true, true]);
  });

  test('of which a beginning is kept: the rest of its memory is the next one’s', async () => {
    const client = await open();
    const other = await open();
    const body = 'b'.repeat(MIB);
    await client.send(`${head('POST', '/beginning', `Content-Length: ${MIB}`)}${body}`);
    await eventually(() => beginnings.length === 1);
    await other.send(`${head('POST', '/beginning', `Content-Length: ${MIB}`)}${'c'.repeat(MIB)}`);
    await eventually(() => beginnings.length === 2);
    const [first, second] = beginnings;
    expect(second?.body.buffer).toBe(first?.body.buffer);
    expect(first?.kept.toString()).toBe('b'.repeat(4 * 1024));
    expect(second?.kept.toString()).toBe('c'.repeat(4 * 1024));
  });

  test('that came before they were read', async () => {
    const client = await open();
    const body = 'x'.repeat(2 * MIB);
    const sent = client.send(head('POST', '/gated', `Content-Length: ${body.length}`) + body);
    await eventually(() => gated.length === 1);
    openGate();
    await sent;
    await eventually(() => bodies.length === 1);
    expect(bodies[0] === body).toBe(true);
  });

  test('that were complete before they were read', async () => {
    const client = await open();
    await client.send(`${head('POST', '/gated', 'Content-Length: 5')}hello`);
    await eventually(() => gated.length === 1);
    openGate();
    await client.until(/\r\n\r\nhello$/);
  });
});

describe('a text in an answer', () => {
  test.each([
    ['ASCII', 'plain'],
    ['Latin-1', 'Ünïcödé'],
    ['more than Latin-1', 'é€\u{1F600}'],
    ['Latin-1, more than the kernel takes at once', 'é'.repeat(4 * MIB)],
  ])('%s is sent as UTF-8', async (_what, sent) => {
    text = sent;
    const response = await fetch(`http://127.0.0.1:${listener.port}/text`);
    expect(Number(response.headers.get('content-length'))).toBe(Buffer.byteLength(sent));
    const received = Buffer.from(await response.arrayBuffer());
    expect(received.equals(Buffer.from(sent))).toBe(true);
  });
});

describe('limits', () => {
  const large = 'x'.repeat(1000);

  test.each([
    ['declared', head('POST', '/echo', 'Content-Length: 1000') + large],
    [
      'chunked',
      `${head('POST', '/echo', 'Transfer-Encoding: chunked')}3e8\r\n${large}\r\n0\r\n\r\n`,
    ],
  ])('a body above the limit, %s: 413, and the connection lives on', async (_how, message) => {
    limits = { ...ROOMY, bytesMax: 999 };
    const client = await open();
    await client.send(message);
    await client.until(/413 Payload Too Large|413 Content Too Large/);
    limits = { ...ROOMY, bytesMax: 1000 };
    await client.send(message);
    await client.until(large);
    expect(statuses(client.received())).toEqual([413, 200]);
  });

  test('no room for a chunk: 503 with Retry-After', async () => {
    limits = { ...ROOMY, reserve: (bytes) => bytes < 3 };
    const client = await open();
    await client.send(head('POST', '/echo', 'Content-Length: 3'));
    await client.send('abc');
    const answer = await client.until('503 Service Unavailable');
    expect(answer.toLowerCase()).toContain('retry-after: 1\r\n');
  });

  test('a chunked body that stops: 503, and the connection is closed', async () => {
    limits = { ...ROOMY, deadlineMs: 20 };
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const client = await open();
    await client.send(`${head('POST', '/echo', 'Transfer-Encoding: chunked')}5\r\n01234\r\n`);
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1), { timeout: 20_000 });
    vi.advanceTimersByTime(20);
    // The refusal itself waits for the rest of the body, as long as DRAIN_MS_MAX.
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1), { timeout: 20_000 });
    vi.advanceTimersByTime(5000);
    const answer = await client.closed();
    expect(statuses(answer)).toEqual([503]);
    expect(answer.match(/^connection: close\r$/gim)).toHaveLength(1);
  });

  test('a body that ends after its deadline: 503, and the connection lives on', async () => {
    limits = { ...ROOMY, deadlineMs: 20 };
    const client = await open();
    await client.send(`${head('POST', '/echo', 'Content-Length: 10')}01234`);
    await client.until('503 Service Unavailable');
    await client.send('56789');
    limits = ROOMY;
    await client.send(`${head('POST', '/echo', 'Content-Length: 2')}ok`);
    await client.until(/\r\n\r\nok$/);
  });
});

async function answered(client: Awaited<ReturnType<typeof open>>): Promise<void> {
  await client.send(`${head('POST', '/echo', 'Content-Length: 2')}ok`);
  await client.until(/\r\n\r\nok$/);
}

describe('an answer while the body is still coming', () => {
  test('is at once, the rest is dropped, and the connection lives on', async () => {
    const client = await open();
    await client.send(`${head('POST', '/refuse', `Content-Length: ${MIB}`)}01234`);
    const answer = await client.until('429 Too Many Requests');
    expect(answer.toLowerCase()).not.toContain('connection: close');
    await client.send('x'.repeat(MIB / 2));
    await client.send('x'.repeat(MIB / 2 - 5));
    // uWebSockets.js answers 505 when a read of its ends within " HTTP/1.1" of the next request: what
    // was sent before has been read once the event loop has gone round for other connections.
    for (let turn = 0; turn < 3; turn += 1) await answered(await open());
    await answered(client);
  });

  test('drops a body that had been paused', async () => {
    const client = await open();
    const body = 'x'.repeat(MIB / 2);
    const sent = client.send(
      head('POST', '/refuse-later', `Content-Length: ${body.length}`) + body,
    );
    await eventually(() => gated.length === 1);
    openGate();
    await sent;
    await client.until('429 Too Many Requests');
    await client.send(`${head('POST', '/echo', 'Content-Length: 2')}ok`);
    await client.until(/\r\n\r\nok$/);
  });

  test('waits for a body of unknown length, and the connection lives on', async () => {
    const client = await open();
    await client.send(`${head('POST', '/refuse', 'Transfer-Encoding: chunked')}5\r\n01234\r\n`);
    await client.send('0\r\n\r\n');
    const answer = await client.until('429 Too Many Requests');
    expect(answer.toLowerCase()).not.toContain('connection: close');
    await client.send(`${head('POST', '/echo', 'Content-Length: 2')}ok`);
    await client.until(/\r\n\r\nok$/);
  });

  test('reaches a client that writes all of a large body before it reads', async () => {
    const client = await open();
    client.socket.pause();
    const body = Buffer.alloc(20 * MIB, 'x');
    await client.send(head('POST', '/refuse-later', `Content-Length: ${body.length}`));
    const sent = client.send(body);
    await eventually(() => gated.length === 1);
    openGate();
    await sent;
    client.socket.resume();
    await client.until('429 Too Many Requests');
  });

  test('is at once when more is declared than would be dropped', async () => {
    const client = await open();
    await client.send(head('POST', '/refuse', `Content-Length: ${65 * MIB}`));
    const answer = await client.closed();
    expect(statuses(answer)).toEqual([429]);
    expect(answer.toLowerCase()).toContain('connection: close\r\n');
  });

  test('does not wait for chunks without end', async () => {
    const client = await open();
    await client.send(head('POST', '/refuse', 'Transfer-Encoding: chunked'));
    const chunk = `100000\r\n${'x'.repeat(MIB)}\r\n`;
    let sent = 0;
    while (!client.socket.closed && sent < 100) {
      await Promise.race([client.send(chunk).catch(() => undefined), client.closed()]);
      sent += 1;
    }
    await client.closed();
    expect(sent).toBeGreaterThan(64);
    expect(sent).toBeLessThan(100);
  });

  test('does not wait for long for chunks that never come', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const client = await open();
    await client.send(head('POST', '/refuse', 'Transfer-Encoding: chunked'));
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1), { timeout: 20_000 });
    expect(client.received()).toBe('');
    vi.advanceTimersByTime(5000);
    expect(statuses(await client.closed())).toEqual([429]);
  });
});

describe('a client that leaves', () => {
  test('in the middle of its body: the reading ends with null', async () => {
    const client = await open();
    let reserved = 0;
    const reserve = (bytes: number): boolean => {
      reserved += bytes;
      return true;
    };
    limits = { ...ROOMY, reserve };
    await client.send(`${head('POST', '/echo', 'Content-Length: 10')}01234`);
    await eventually(() => reserved === 5);
    client.abort();
    await eventually(() => bodies.length === 1);
    expect(bodies).toEqual([null]);
  });

  test('before the body was read: the reading ends with null', async () => {
    const client = await open();
    await client.send(`${head('POST', '/gated', 'Content-Length: 10')}01234`);
    await eventually(() => gated.length === 1);
    // A paused connection is not looked at: that the client has left shows when it is read again.
    client.abort();
    openGate();
    await eventually(() => bodies.length === 1);
    expect(bodies).toEqual([null]);
    expect(gated[0]?.isOpen).toBe(false);
  });

  test('before its answer: the answer is dropped', async () => {
    const client = await open();
    await client.send(`${head('POST', '/gated', 'Content-Length: 5')}hello`);
    await eventually(() => gated.length === 1);
    const signal = gated[0]?.signal;
    expect(signal?.aborted).toBe(false);
    client.abort();
    await eventually(() => gated[0]?.isOpen === false);
    expect([signal?.aborted, gated[0]?.signal.aborted]).toEqual([true, true]);
    openGate();
    await eventually(() => bodies.length === 1);
  });

  test('while its refusal waits: nothing is left over', async () => {
    const client = await open();
    await client.send(head('POST', '/refuse-later', 'Content-Length: 10'));
    await eventually(() => gated.length === 1);
    openGate();
    await gate;
    client.abort();
    await eventually(() => gated[0]?.isOpen === false);
  });
});

describe('connections', () => {
  test('an answer is given once', async () => {
    const client = await open();
    await client.send(head('GET', '/twice') + head('GET', '/hello?2'));
    const answer = await client.until('{"hello":"2"}');
    expect(statuses(answer)).toEqual([200, 200]);
    expect(answer).toContain('"first"');
    expect(answer).not.toContain('"second"');
  });

  test('pipelined requests are answered in order', async () => {
    const client = await open();
    await client.send([1, 2, 3].map((number) => head('GET', `/hello?${number}`)).join(''));
    const answer = await client.until('{"hello":"3"}');
    expect([...answer.matchAll(/{"hello":"(\d)"}/g)].map(([, number]) => number)).toEqual([
      '1',
      '2',
      '3',
    ]);
  });

  test('HEAD has the headers of GET and no body, and is the last of its connection', async () => {
    const [client, other] = [await open(), await open()];
    await client.send(head('HEAD', '/hello?1'));
    const first = await client.closed();
    await other.send(head('GET', '/hello?1'));
    const second = await other.until('{"hello":"1"}');
    expect(first.toLowerCase()).toContain('content-length: 13\r\n');
    expect(first).toMatch(/\r\n\r\n$/);
    expect(second).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(second.toLowerCase()).toContain('content-length: 13\r\n');
  });

  test('an answer of megabytes arrives whole', async () => {
    const client = await open();
    await client.send(head('GET', '/large'));
    const [fields = ''] = (await client.until('\r\n\r\n')).split('\r\n\r\n');
    expect(`${fields.toLowerCase()}\r\n`).toContain(`content-length: ${5 * MIB}\r\n`);
    await eventually(() => client.received().length === fields.length + 4 + 5 * MIB);
    expect(client.received().endsWith(LARGE.body)).toBe(true);
  });
});
