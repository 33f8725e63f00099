/**
 * Clients that send requests and do not read: the memory for their answers is bounded per
 * connection and in total, and a client that is only slow gets every byte.
 */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { json } from '../../../src/http/transport/answers.ts';
import { BodyMemory } from '../../../src/http/transport/body-memory.ts';
import type { Answer, Exchange } from '../../../src/http/transport/exchange.ts';
import { type Listener, openListener } from '../../../src/http/transport/server.ts';
import { UnsentAnswers } from '../../../src/http/transport/unsent-answers.ts';
import { head, openSocket, type RawSocket, statuses } from '../../support/sockets.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const WITHIN = { timeout: 20_000, interval: 5 };
/** More than the kernel buffers for both ends of a connection. */
const KERNEL_BYTES_MAX = 64 * MIB;

let listener: Listener;
let sockets: RawSocket[] = [];
let exchanges: Exchange[] = [];
let unsent: UnsentAnswers;

const FIXED: Answer = {
  status: 200,
  contentType: 'text/plain',
  body: Buffer.alloc(80 * KIB, 'x'),
  isShared: true,
};
const SMALL: Answer = { ...FIXED, body: 'z'.repeat(2 * KIB), isShared: false };
const MADE: Answer = { status: 200, contentType: 'text/plain', body: 'y'.repeat(8 * MIB) };

async function listen(unsentBytesMax?: number): Promise<void> {
  unsent = new UnsentAnswers(unsentBytesMax);
  const answers: Readonly<Record<string, Answer>> = {
    '/fixed': FIXED,
    '/made': MADE,
    '/small': SMALL,
  };
  const routes = Object.entries(answers).map(([path, answer]) => ({
    method: 'GET' as const,
    path,
    handler: (exchange: Exchange) => {
      exchanges.push(exchange);
      exchange.answer(answer);
    },
  }));
  const later = {
    method: 'GET' as const,
    path: '/later',
    handler: async (exchange: Exchange) => {
      exchanges.push(exchange);
      await new Promise(setImmediate);
      exchange.answer(json('late'));
    },
  };
  listener = await openListener(
    {
      setting: 'PORT',
      host: '127.0.0.1',
      port: 0,
      sites: new Map([['', [...routes, later]]]),
    },
    {
      requestFailed: (_place, error) => expect.unreachable(String(error)),
      requestUnavailable: () => {},
    },
    { unsent, memory: new BodyMemory() },
  );
}

afterEach(async () => {
  vi.useRealTimers();
  for (const { socket } of sockets) socket.destroy();
  await listener.close();
  sockets = [];
  exchanges = [];
});

/** A connection that reads nothing until it is resumed. */
async function openDeaf(): Promise<RawSocket> {
  const client = await openSocket(listener.port);
  client.socket.pause();
  sockets.push(client);
  return client;
}

const settled = (): boolean => exchanges.every((exchange) => !exchange.isOpen);

describe('a connection that asks and reads nothing', () => {
  test('gets what its kernel takes of 2,000 answers, and is cut', async () => {
    await listen();
    const client = await openDeaf();
    const before = process.memoryUsage().rss;
    await client.send(head('GET', '/fixed').repeat(2000));
    await vi.waitUntil(() => exchanges.length > 0 && settled(), WITHIN);
    expect(exchanges.length * 80 * KIB).toBeLessThan(KERNEL_BYTES_MAX);
    expect(process.memoryUsage().rss - before).toBeLessThan(KERNEL_BYTES_MAX);
    client.socket.resume();
    expect(statuses(await client.closed()).length).toBeLessThanOrEqual(exchanges.length);
  });

  test.each([
    ['/small', 2 * KIB, 60_000],
    ['/fixed', 80 * KIB, 2000],
    ['/made', 8 * MIB, 20],
  ])('of %s, request by request: gets what its kernel takes', async (path, bytes, requests) => {
    await listen();
    const client = await openDeaf();
    const before = process.memoryUsage().rss;
    for (let sent = 0; sent < requests; sent += 1) {
      if (client.socket.destroyed) break;
      client.socket.write(head('GET', path));
      await new Promise(setImmediate);
    }
    await vi.waitUntil(settled, WITHIN);
    expect((exchanges.length - 1) * bytes).toBeLessThan(KERNEL_BYTES_MAX);
    expect(process.memoryUsage().rss - before).toBeLessThan(KERNEL_BYTES_MAX);
  });

  test('of HEAD, which no body can hold up, gets one answer', async () => {
    await listen();
    const client = await openDeaf();
    await client.send(head('HEAD', '/fixed'));
    await vi.waitUntil(() => exchanges.length === 1 && settled(), WITHIN);
    client.socket.resume();
    const answer = await client.closed();
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer.toLowerCase()).toContain(`\r\ncontent-length: ${80 * KIB}\r\n`);
    expect(answer.match(/\r\nconnection: close\r\n/gi)).toHaveLength(1);
    expect(answer).toMatch(/\r\ndate: [^\r]* GMT\r\n[\s\S]*\r\n\r\n$/i);
    expect(answer.match(/\r\n\r\n/g)).toHaveLength(1);
  });
});

describe('a reader that is slow', () => {
  test('gets every byte of what it waited for, and asks again', async () => {
    await listen();
    const client = await openDeaf();
    await client.send(head('GET', '/made'));
    await vi.waitUntil(() => unsent.heldBytes === 8 * MIB, WITHIN);
    expect(exchanges[0]?.isOpen).toBe(true);
    client.socket.resume();
    await vi.waitUntil(settled, WITHIN);
    expect(unsent.heldBytes).toBe(0);
    await vi.waitUntil(() => client.received().length > 8 * MIB, WITHIN);
    expect(client.received().slice(-8 * MIB)).toBe(MADE.body);
    await client.send(head('GET', '/later'));
    await client.until(/"late"$/);
  });

  test('holds nothing of what is in memory anyway', async () => {
    await listen();
    const client = await openDeaf();
    await client.send(head('GET', '/fixed').repeat(200));
    await vi.waitUntil(() => exchanges.length > 0 && settled(), WITHIN);
    expect(unsent.heldBytes).toBe(0);
  });

  test('is cut when its answer takes too long', async () => {
    await listen();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const client = await openDeaf();
    await client.send(head('GET', '/made'));
    await vi.waitUntil(() => unsent.heldBytes > 0, WITHIN);
    vi.advanceTimersByTime(120_000);
    expect(settled()).toBe(true);
    expect(unsent.heldBytes).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is waited for by a stop', async () => {
    await listen();
    const client = await openDeaf();
    await client.send(head('GET', '/made'));
    await vi.waitUntil(() => unsent.heldBytes > 0, WITHIN);
    listener.drain();
    const closed = listener.close();
    client.socket.resume();
    await closed;
    const answer = await client.closed();
    expect(answer.slice(-8 * MIB)).toBe(MADE.body);
  });
});

test('of many connections the oldest is cut when they hold too much', async () => {
  await listen(20 * MIB);
  for (let number = 1; number <= 5; number += 1) {
    const client = await openDeaf();
    await client.send(head('GET', '/made'));
    await vi.waitUntil(() => exchanges.length === number, WITHIN);
  }
  expect(unsent.heldBytes).toBe(16 * MIB);
  expect(exchanges.map(({ isOpen }) => isOpen)).toEqual([false, false, false, true, true]);
});
