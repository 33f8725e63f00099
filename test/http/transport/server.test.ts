/**
 * Listeners over real sockets: who answers what under which host, what a fault of a handler
 * becomes, how a listener stops, and what a taken port says.
 */
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { OperatorError, SluiceError } from '../../../src/errors.ts';
import { json } from '../../../src/http/transport/answers.ts';
import type { Exchange } from '../../../src/http/transport/exchange.ts';
import type { Route } from '../../../src/http/transport/router.ts';
import { type Listener, openListener } from '../../../src/http/transport/server.ts';
import { head, openSocket, type RawSocket, statuses } from '../../support/sockets.ts';

let listeners: Listener[];
let sockets: RawSocket[];
let failures: unknown[][];
let held: Exchange[];

beforeEach(() => {
  listeners = [];
  sockets = [];
  failures = [];
  held = [];
});
afterEach(async () => {
  vi.useRealTimers();
  for (const { socket } of sockets) socket.destroy();
  for (const listener of listeners) await listener.close();
});

const get = (path: string, handler: Route['handler']): Route => ({ method: 'GET', path, handler });
const says = (name: string): Route => get('/who', (exchange) => exchange.answer(json(name)));

const ROUTES: readonly Route[] = [
  says('base'),
  get('/hold', (exchange) => void held.push(exchange)),
  get('/throws', () => {
    throw new Error('secret of the customer');
  }),
  get('/rejects', async () => {
    await Promise.reject(new Error('secret of the customer'));
  }),
  get('/refuses', () => {
    throw new SluiceError('overloaded', 'Later.', { retryAfterSeconds: 7 });
  }),
  get('/things/{id}', (exchange, { id }) => exchange.answer(json(id))),
  { method: 'POST', path: '/both', handler: (exchange) => exchange.answer(json('posted')) },
  get('/both', (exchange) => exchange.answer(json('got'))),
];

async function listen(
  sites: ReadonlyMap<string, readonly Route[]> = new Map([['', ROUTES]]),
  port = 0,
  isBehindTls = false,
): Promise<Listener> {
  const listener = await openListener(
    { setting: 'OBSERVE_PORT', host: '127.0.0.1', port, sites, isBehindTls },
    {
      requestFailed: (...facts) => void failures.push(facts),
      requestUnavailable: () => {},
    },
  );
  listeners.push(listener);
  return listener;
}

async function connect({ port }: Listener): Promise<RawSocket> {
  const socket = await openSocket(port);
  sockets.push(socket);
  return socket;
}

interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

async function ask(
  { port }: Listener,
  path: string,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'OPTIONS' = 'GET',
): Promise<Answered> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

describe('dispatch', () => {
  test('an unknown path is a problem', async () => {
    const { status, headers, body } = await ask(await listen(), '/nothing');
    expect(status).toBe(404);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(body).toEqual({
      type: '/docs/errors#not_found',
      title: 'Not found',
      status: 404,
      detail: 'Nothing is served at this path.',
      reason: 'not_found',
    });
  });

  test.each([
    ['POST', '/who', 'GET, HEAD'],
    ['PUT', '/both', 'GET, HEAD, POST'],
    ['DELETE', '/things/1', 'GET, HEAD'],
    ['OPTIONS', '/who', 'GET, HEAD'],
  ] as const)('%s %s is 405 and says what is allowed', async (method, path, allow) => {
    const { status, headers, body } = await ask(await listen(), path, method);
    expect(status).toBe(405);
    expect(headers.get('allow')).toBe(allow);
    expect(body).toMatchObject({ type: '/docs/errors#method_not_allowed', status: 405 });
  });

  test('parameters are decoded; what cannot be decoded is unknown', async () => {
    const listener = await listen();
    expect((await ask(listener, '/things/a%20b%2F%C3%A9')).body).toBe('a b/é');
    expect((await ask(listener, '/things/%zz')).status).toBe(404);
    expect((await ask(listener, '/things/%C3')).status).toBe(404);
  });

  test.each(['/throws', '/rejects'])(
    '%s: a fault is reported, answered 500 with an id and not disclosed',
    async (path) => {
      const { status, headers, body } = await ask(await listen(), path);
      expect(status).toBe(500);
      expect(headers.get('retry-after')).toBeNull();
      expect(JSON.stringify(body)).not.toContain('secret');
      const { id } = body as { id: string };
      expect(failures).toEqual([
        ['dispatch', new Error('secret of the customer'), { method: 'GET', route: path, id }],
      ]);
    },
  );

  test('a refusal that a handler throws keeps its line of the table', async () => {
    const { status, headers, body } = await ask(await listen(), '/refuses');
    expect(status).toBe(503);
    expect(headers.get('retry-after')).toBe('7');
    expect(body).toMatchObject({ type: '/docs/errors#overloaded', detail: 'Later.' });
  });
});

describe('what every answer says', () => {
  const HTTPS_ONLY = 'strict-transport-security';

  test.each(['/who', '/nothing', '/throws'])('%s: nosniff, and nothing of https', async (path) => {
    const { headers } = await ask(await listen(), path);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.has(HTTPS_ONLY)).toBe(false);
  });

  test.each(['/who', '/nothing', '/throws'])('%s: https only, behind TLS', async (path) => {
    const { headers } = await ask(await listen(undefined, 0, true), path);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get(HTTPS_ONLY)).toBe('max-age=31536000');
  });

  test('HEAD, too', async () => {
    const client = await connect(await listen(undefined, 0, true));
    await client.send(head('HEAD', '/who'));
    const answer = (await client.closed()).toLowerCase();
    expect(answer).toContain('\r\nx-content-type-options: nosniff\r\n');
    expect(answer).toContain(`\r\n${HTTPS_ONLY}: max-age=31536000\r\n`);
  });
});

describe('hosts', () => {
  const sites = new Map([
    ['', [says('base')]],
    ['observe.test:4318', [says('observe')]],
  ]);

  test.each([
    ['observe.test:4318', 'observe'],
    ['OBSERVE.test:4318', 'observe'],
    ['observe.test', 'base'],
    ['other.test', 'base'],
    ['', 'base'],
  ])('"%s" is answered by %s', async (host, name) => {
    const client = await connect(await listen(sites));
    await client.send(`GET /who HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    await client.until(`\r\n\r\n"${name}"`);
  });

  test('without a site for the rest, the rest is unknown', async () => {
    const listener = await listen(new Map([['only.test', [says('only')]]]));
    expect((await ask(listener, '/who')).status).toBe(404);
  });
});

describe('ports', () => {
  test('a port taken by another program: one line naming the setting', async () => {
    const other = createServer();
    const port = await new Promise<number>((resolve) => {
      other.listen(0, '127.0.0.1', () => {
        const address = other.address();
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
    await expect(listen(undefined, port)).rejects.toEqual(
      new OperatorError(
        `Port ${port} on 127.0.0.1 is taken or not allowed: set OBSERVE_PORT to a free port.`,
      ),
    );
    await new Promise((resolve) => other.close(resolve));
  });

  test('a port is not shared with a second listener, and free again after close', async () => {
    const { port, drain, close } = await listen();
    await expect(listen(undefined, port)).rejects.toThrow(OperatorError);
    drain();
    await close();
    listeners = [];
    expect((await listen(undefined, port)).port).toBe(port);
  });
});

describe('stopping', () => {
  test('draining takes no new connection, and answers close theirs', async () => {
    const listener = await listen();
    const [idle, busy] = [await connect(listener), await connect(listener)];
    await busy.send(head('GET', '/hold'));
    await vi.waitUntil(() => held.length === 1, { timeout: 20_000 });
    listener.drain();
    await expect(openSocket(listener.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    held[0]?.answer(json('held'));
    const answer = await busy.closed();
    expect(answer).toMatch(/\r\nconnection: close\r\n[\s\S]*"held"$/i);
    await idle.send(head('GET', '/who'));
    expect(await idle.closed()).toMatch(/\r\nconnection: close\r\n[\s\S]*"base"$/i);
  });

  test('the answer to HEAD asks for it too', async () => {
    const listener = await listen();
    const client = await connect(listener);
    listener.drain();
    await client.send(head('HEAD', '/who'));
    expect(await client.until('\r\n\r\n')).toMatch(/\r\nconnection: close\r\n/i);
  });

  test('close waits for requests under way, then closes idle connections', async () => {
    const listener = await listen();
    const [idle, busy] = [await connect(listener), await connect(listener)];
    await busy.send(head('GET', '/hold'));
    await vi.waitUntil(() => held.length === 1, { timeout: 20_000 });
    listener.drain();
    const order: string[] = [];
    const closing = listener.close().then(() => order.push('closed'));
    await new Promise(setImmediate);
    order.push('answered');
    held[0]?.answer(json('held'));
    await closing;
    expect(order).toEqual(['answered', 'closed']);
    expect(statuses(await busy.closed())).toEqual([200]);
    expect(await idle.closed()).toBe('');
  });

  test('a client that leaves ends its request, and close with it', async () => {
    const listener = await listen();
    const client = await connect(listener);
    await client.send(head('GET', '/hold'));
    await vi.waitUntil(() => held.length === 1, { timeout: 20_000 });
    listener.drain();
    const closing = listener.close();
    client.abort();
    await closing;
    expect(held[0]?.isOpen).toBe(false);
  });

  test('a request that never ends is waited for, but not for ever', async () => {
    const listener = await listen();
    const client = await connect(listener);
    await client.send(head('GET', '/hold'));
    await vi.waitUntil(() => held.length === 1, { timeout: 20_000 });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    listener.drain();
    const closing = listener.close();
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(20_000);
    await closing;
    expect(await client.closed()).toBe('');
    held[0]?.answer(json('too late'));
  });
});
