/** Sending a webhook to real servers: what is connected to, what is signed, and how failures are named. */
import { createServer, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { createAddressPolicy } from '../../src/alerts/addresses.ts';
import { postWebhook, type Resolver, signatureHeaders } from '../../src/alerts/webhook.ts';
import { type AlertReceiver, isSigned, openReceiver } from '../support/receivers.ts';

const LOCAL = createAddressPolicy(['127.0.0.1/32']);
const PUBLIC_ONLY = createAddressPolicy([]);
const never: Resolver = () => Promise.reject(new Error('nothing is to be resolved'));
const HEADERS = { 'content-type': 'application/json' };
const PARTS = { policy: LOCAL, resolve: never, nowMs: () => Date.parse('2026-10-21T07:27:30Z') };
const NO_ANSWER = { status: null, retryAfterSeconds: null, isGone: false };

let receiver: AlertReceiver;
beforeEach(async () => {
  receiver = await openReceiver();
});
afterEach(() => receiver.close());

test('the body arrives byte by byte, with its headers', async () => {
  const body = '{"text":"Grüße ✓"}';
  const result = await postWebhook(receiver.url, HEADERS, body, PARTS);
  expect(result).toEqual({ failure: null, status: 204, retryAfterSeconds: null, isGone: false });
  expect(receiver.received).toMatchObject([{ path: '/hook', body }]);
  expect(receiver.received[0]?.headers).toMatchObject({ ...HEADERS, connection: 'close' });
});

test('the signature is what Standard Webhooks says, byte by byte', () => {
  // The example of the specification.
  const key = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');
  const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
  expect(signatureHeaders([key], id, 1614265330, '{"test": 2432232314}')).toEqual({
    'webhook-id': id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('a receiver that computes the signature by itself accepts it', async () => {
  const key = Buffer.alloc(32, 7);
  const headers = signatureHeaders([key], 'finding_1', 1_800_000_000, '{"ü":1}');
  await postWebhook(receiver.url, headers, '{"ü":1}', PARTS);
  const [one] = receiver.received;
  if (one === undefined) throw new Error('nothing was received');
  expect(isSigned(one, `whsec_${key.toString('base64')}`)).toBe(true);
  const [old, other] = [Buffer.alloc(32, 8), Buffer.alloc(32, 9)];
  const both = signatureHeaders([key, old], 'finding_1', 1_800_000_000, '{"ü":1}');
  for (const known of [key, old]) {
    const secret = `whsec_${known.toString('base64')}`;
    expect(isSigned({ ...one, headers: both }, secret)).toBe(true);
  }
  expect(isSigned({ ...one, headers: both }, `whsec_${other.toString('base64')}`)).toBe(false);
  expect(isSigned({ ...one, body: '{"ü":2}' }, `whsec_${key.toString('base64')}`)).toBe(false);
});

describe('addresses', () => {
  const url = () => `http://hooks.test:${receiver.port}/hook`;

  test('a name is resolved once; Host is the name', async () => {
    const names: string[] = [];
    const resolve: Resolver = async (name) => {
      names.push(name);
      return ['127.0.0.1'];
    };
    const result = await postWebhook(url(), HEADERS, '{}', { ...PARTS, resolve });
    expect(result.failure).toBeNull();
    expect(names).toEqual(['hooks.test']);
    expect(receiver.received[0]?.headers.host).toBe(`hooks.test:${receiver.port}`);
  });

  test('a name that gives another address at the second look-up is looked up once', async () => {
    // The first is allowed, and nobody listens there; the second is the receiver's.
    const policy = createAddressPolicy(['127.0.0.2/32']);
    const answers = [['127.0.0.2'], ['127.0.0.1']];
    let lookUps = 0;
    const resolve: Resolver = async () => answers[lookUps++] ?? [];
    const target = `http://rebinding.test:${receiver.port}/`;
    const result = await postWebhook(target, HEADERS, '{}', { ...PARTS, policy, resolve });
    expect(result.failure).toBe('connection');
    expect(lookUps).toBe(1);
    expect(receiver.received).toEqual([]);
  });

  test.each([[['127.0.0.1']], [['1.1.1.1', '127.0.0.1']], [['::ffff:127.0.0.1']], [['::1']]])(
    'a name that resolves to %j is not connected to',
    async (addresses) => {
      const target = `https://inside.test:${receiver.port}/`;
      const parts = { ...PARTS, policy: PUBLIC_ONLY, resolve: async () => addresses };
      const result = await postWebhook(target, HEADERS, '{}', parts);
      expect(result).toEqual({ ...NO_ANSWER, failure: 'address_refused' });
      expect(receiver.received).toEqual([]);
    },
  );

  test('of several addresses the first that can be reached is used', async () => {
    const policy = createAddressPolicy(['127.0.0.0/8']);
    // Nobody listens at the first one.
    const parts = { ...PARTS, policy, resolve: async () => ['127.0.0.2', '127.0.0.1'] };
    expect(await postWebhook(url(), HEADERS, '{}', parts)).toMatchObject({ failure: null });
    expect(receiver.received).toHaveLength(1);
  });

  test('a number is checked like a name', async () => {
    const target = `https://127.0.0.1:${receiver.port}/`;
    const result = await postWebhook(target, HEADERS, '{}', { ...PARTS, policy: PUBLIC_ONLY });
    expect(result.failure).toBe('address_refused');
  });

  test('clear text does not leave the networks of the setting', async () => {
    const parts = { ...PARTS, resolve: async () => ['1.1.1.1'] };
    const result = await postWebhook('http://outside.test/', HEADERS, '{}', parts);
    expect(result.failure).toBe('address_refused');
  });

  test('a name that does not resolve', async () => {
    for (const resolve of [never, async () => []]) {
      const result = await postWebhook(url(), HEADERS, '{}', { ...PARTS, resolve });
      expect(result).toEqual({ ...NO_ANSWER, failure: 'dns' });
    }
  });
});

describe('answers', () => {
  const post = (timeoutMs?: number) =>
    postWebhook(receiver.url, HEADERS, '{}', {
      ...PARTS,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });

  test.each([300, 301, 302, 303, 307, 308, 399])(
    'a redirect (%i) is not followed',
    async (status) => {
      const inside = await openReceiver();
      try {
        receiver.answer = (_one, response) =>
          void response.writeHead(status, { location: inside.url }).end();
        expect(await post()).toMatchObject({ failure: 'redirect', status });
        expect(receiver.received).toHaveLength(1);
        expect(inside.received).toEqual([]);
      } finally {
        await inside.close();
      }
    },
  );

  test.each([200, 201, 202, 204, 206, 226, 299])('%i is delivered', async (status) => {
    receiver.answer = (_one, response) => void response.writeHead(status).end();
    expect(await post()).toEqual({ failure: null, status, retryAfterSeconds: null, isGone: false });
  });

  // Whatever the fault, the message is tried again; who is gone (410) is not.
  test.each([
    ...[400, 401, 403, 404, 405, 408, 409, 411, 413, 422, 425, 429, 451, 499],
    ...[500, 501, 502, 503, 504, 599],
  ])('%i is a failure that may pass', async (status) => {
    receiver.answer = (_one, response) => void response.writeHead(status).end();
    const failed = { failure: 'status', status, retryAfterSeconds: null, isGone: false };
    expect(await post()).toEqual(failed);
  });

  test.each([
    [500, undefined, null, false],
    [429, '0', 0, false],
    [429, '999999999', 999_999_999, false],
    [429, '1000000000', null, false],
    [503, 'Wed, 21 Oct 2026 07:27:31 GMT', 1, false],
    [503, 'Wed, 21 Oct 2026 07:27:30 GMT', null, false],
    [503, '2026-10-22', null, false],
    [429, '17', 17, false],
    [503, 'Wed, 21 Oct 2026 07:28:00 GMT', 30, false],
    [503, 'Wed, 21 Oct 2026 07:27:00 GMT', null, false],
    [503, '21 Oct 2026', null, false],
    [429, '-5', null, false],
    [410, undefined, null, true],
  ])('%i with Retry-After %s', async (status, header, retryAfterSeconds, isGone) => {
    receiver.answer = (_one, response) =>
      void response.writeHead(status, header === undefined ? {} : { 'retry-after': header }).end();
    expect(await post()).toEqual({ failure: 'status', status, retryAfterSeconds, isGone });
  });

  test('a body without end is not read', async () => {
    receiver.answer = (_one, response) => {
      response.writeHead(200);
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    };
    expect(await post()).toMatchObject({ failure: null, status: 200 });
  });

  test('no answer', async () => {
    receiver.answer = () => {};
    expect(await post(200)).toEqual({ ...NO_ANSWER, failure: 'timeout' });
  });

  test('nobody listens, or what answers is not HTTP or not TLS', async () => {
    const { port } = receiver;
    await receiver.close();
    expect(await post()).toEqual({ ...NO_ANSWER, failure: 'connection' });
    const server: Server = createServer((socket) => socket.end('220 mail.test ESMTP\r\n'));
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    try {
      expect(await post()).toEqual({ ...NO_ANSWER, failure: 'connection' });
      const secure = `https://127.0.0.1:${port}/`;
      const result = await postWebhook(secure, HEADERS, '{}', PARTS);
      expect(result.failure).toBe('tls');
    } finally {
      server.close();
    }
  });
});
