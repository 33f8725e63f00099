/**
 * Bodies that are sent while they are made, over real sockets: whole and in order, at the reader's
 * pace, and never ended cleanly when they are not whole.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { type IncomingMessage, request } from 'node:http';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SluiceError } from '../../../src/errors.ts';
import { json, problem, toSluiceError } from '../../../src/http/transport/answers.ts';
import type { Exchange } from '../../../src/http/transport/exchange.ts';
import { ResponseStream } from '../../../src/http/transport/response-stream.ts';
import { type Listener, openListener } from '../../../src/http/transport/server.ts';
import { inFull, isExhaustive } from '../../support/cases.ts';
import { head, openSocket, type RawSocket, statuses } from '../../support/sockets.ts';

const KIB = 1024;
const CHUNK_BYTES = 100 * KIB;
/** Three times what the kernel's buffers of a connection within one machine hold. */
const LARGE_CHUNKS = 300;
const WITHIN = { timeout: 60_000, interval: 5 };

let listener: Listener;
let sockets: RawSocket[];
let responses: IncomingMessage[];
/** how often a chunk was requested, and whether the source was closed */
let requested: number;
let returned: boolean;
/** how `stream` ended: null for well */
let ends: (Error | null)[];
/** what follows after a number of chunks */
let body: {
  readonly chunks: number;
  readonly chunkBytes?: number;
  readonly afterwards?: () => Promise<void>;
};
/** no further chunk is made */
let enough: boolean;

/** A chunk that says which it is in every byte. */
function chunkOf(index: number): Buffer {
  return Buffer.alloc(body.chunkBytes ?? CHUNK_BYTES, 33 + (index % 90));
}

async function* makeChunks(): AsyncGenerator<Buffer> {
  try {
    for (let index = 0; index < body.chunks && !enough; index += 1) {
      requested += 1;
      yield chunkOf(index);
    }
    await body.afterwards?.();
  } finally {
    returned = true;
  }
}

async function handle(exchange: Exchange): Promise<void> {
  try {
    await exchange.stream({ contentType: 'text/plain', chunks: makeChunks() });
    ends.push(null);
  } catch (thrown) {
    ends.push(thrown instanceof Error ? thrown : new Error(String(thrown)));
    exchange.answer(problem(toSluiceError(thrown, 'read')));
  }
}

beforeEach(async () => {
  sockets = [];
  responses = [];
  requested = 0;
  returned = false;
  enough = false;
  ends = [];
  body = { chunks: 1 };
  const routes = [
    { method: 'GET', path: '/stream', handler: handle },
    {
      method: 'GET',
      path: '/hello',
      handler: (exchange: Exchange) => exchange.answer(json('hello')),
    },
  ] as const;
  listener = await openListener(
    { setting: 'PORT', host: '127.0.0.1', port: 0, sites: new Map([['', routes]]) },
    {
      requestFailed: (_place, error) => expect.unreachable(String(error)),
      requestUnavailable: () => {},
    },
  );
});

afterEach(async () => {
  vi.useRealTimers();
  for (const response of responses) response.destroy();
  for (const { socket } of sockets) socket.destroy();
  await listener.close();
});

async function openRaw(): Promise<RawSocket> {
  const socket = await openSocket(listener.port);
  sockets.push(socket);
  return socket;
}

/** Asks, and reads nothing of the body yet. */
async function ask(headers: Record<string, string> = {}): Promise<IncomingMessage> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ host: '127.0.0.1', port: listener.port, path: '/stream', agent: false, headers })
      .once('response', resolve)
      .once('error', reject)
      .end();
  });
  responses.push(response);
  return response;
}

/** Reads a body to whatever end it comes. */
async function readOn(response: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  await new Promise<void>((resolve) => {
    response.on('data', (part: Buffer) => void parts.push(part));
    // A transfer that breaks off is an error to Node, too.
    response.once('error', () => undefined).once('close', resolve);
  });
  return Buffer.concat(parts);
}

/** Whether these are the first `chunks` chunks, and nothing else. */
function isExactly(bytes: Buffer, chunks: number): boolean {
  const made = Array.from({ length: chunks }, (_, index) => chunkOf(index));
  return bytes.equals(Buffer.concat(made));
}

function createHold(): { held: Promise<void>; proceed: () => void } {
  let proceed = (): void => {};
  const held = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  return { held, proceed };
}

/** Under fake timers: lets offers of the server pass until it has cut the body off. */
async function refuseOffers(): Promise<number> {
  let offers = 0;
  while (ends.length === 0) {
    await vi.waitUntil(() => vi.getTimerCount() > 1 || ends.length > 0, WITHIN);
    await vi.advanceTimersByTimeAsync(5000);
    offers += 1;
  }
  return offers;
}

/** Resolves once the server has stopped asking for more: the reader is in its way. */
async function untilHeldUp(): Promise<void> {
  let before = -1;
  await vi.waitUntil(
    () => {
      const isHeldUp = requested > 0 && requested === before;
      before = requested;
      return isHeldUp;
    },
    { timeout: 60_000, interval: 300 },
  );
}

describe('a body', () => {
  test('that is small has a length, and its connection lives on', async () => {
    const client = await openRaw();
    await client.send(head('GET', '/stream'));
    await vi.waitUntil(() => client.received().length > CHUNK_BYTES, WITHIN);
    await client.send(head('GET', '/hello'));
    const answer = await client.until('"hello"');
    expect(statuses(answer)).toEqual([200, 200]);
    expect(ends).toEqual([null]);
  });

  test('of nothing is an answer without content', async () => {
    body = { chunks: 0 };
    const response = await ask();
    expect(response.statusCode).toBe(200);
    expect(response.headers).toMatchObject({ 'content-type': 'text/plain', 'content-length': '0' });
    expect(await readOn(response)).toEqual(Buffer.alloc(0));
    expect(response.complete).toBe(true);
  });

  test('that is large arrives whole', async () => {
    body = { chunks: LARGE_CHUNKS };
    const response = await ask();
    expect(response.headers['transfer-encoding']).toBe('chunked');
    expect(isExactly(await readOn(response), LARGE_CHUNKS)).toBe(true);
    expect(response.complete).toBe(true);
    expect(ends).toEqual([null]);
  });

  test('in pieces leaves its connection alive', async () => {
    body = { chunks: 3 };
    const client = await openRaw();
    await client.send(head('GET', '/stream'));
    await client.until(/\r\n0\r\n\r\n$/);
    await client.send(head('GET', '/hello'));
    const answer = await client.until('"hello"');
    expect(statuses(answer)).toEqual([200, 200]);
  });

  test('reaches its reader to the last byte while more of it is made', async () => {
    const { held, proceed } = createHold();
    // Chunks as large as what is written at once, and none after the one that is held up: its rest
    // goes by itself when there is room, and not with what comes next.
    body = { chunks: 10_000, chunkBytes: 17 * KIB, afterwards: () => held };
    const response = await ask();
    await untilHeldUp();
    enough = true;
    let received = 0;
    response.on('data', (part: Buffer) => {
      received += part.length;
    });
    await vi.waitUntil(() => received === requested * 17 * KIB, WITHIN);
    proceed();
    await vi.waitUntil(() => response.complete, WITHIN);
    expect(received).toBe(requested * 17 * KIB);
  });

  test('is not made for HEAD', async () => {
    const client = await openRaw();
    await client.send(head('HEAD', '/stream'));
    const fields = (await client.closed()).toLowerCase();
    expect(fields).toContain('content-type: text/plain\r\n');
    expect(fields).toContain('transfer-encoding: chunked\r\n');
    expect(fields).toMatch(/\r\n\r\n$/);
    expect(requested).toBe(0);
  });

  test('is sent to a request that has one of its own', async () => {
    const client = await openRaw();
    await client.send(`${head('GET', '/stream', 'Content-Length: 10')}01234`);
    await client.send('56789');
    await client.until(/\r\n0\r\n\r\n$/);
    const chunked = head('GET', '/stream', 'Transfer-Encoding: chunked');
    await client.send(`${chunked}3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`);
    await client.until(/\r\n0\r\n\r\n[\s\S]*\r\n0\r\n\r\n$/);
    await client.send(head('GET', '/hello'));
    expect(statuses(await client.until('"hello"'))).toEqual([200, 200, 200]);
  });

  test('is refused to a request whose own is large, or never ends', async () => {
    const large = await openRaw();
    await large.send(head('GET', '/stream', 'Content-Length: 70000') + 'x'.repeat(70_000));
    expect(statuses(await large.until('body_too_large'))).toEqual([413]);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const endless = await openRaw();
    await endless.send(`${head('GET', '/stream', 'Content-Length: 10')}01234`);
    await vi.waitUntil(() => vi.getTimerCount() === 1, WITHIN);
    vi.advanceTimersByTime(5000);
    await vi.waitUntil(() => ends.length === 2, WITHIN);
    vi.advanceTimersByTime(5000);
    expect(statuses(await endless.until('HTTP/1.1 503'))).toEqual([503]);
    // Ten seconds later, by a clock of uWebSockets.js's own.
    if (isExhaustive) expect(statuses(await endless.closed())).toEqual([503]);
    expect(requested).toBe(0);
  });
});

describe('a reader', () => {
  test('that waits holds up the making, and then gets all of it', async () => {
    body = { chunks: LARGE_CHUNKS };
    const response = await ask();
    await untilHeldUp();
    expect(requested).toBeLessThan(LARGE_CHUNKS);
    expect(isExactly(await readOn(response), LARGE_CHUNKS)).toBe(true);
    expect(response.complete).toBe(true);
    expect(requested).toBe(LARGE_CHUNKS);
  });

  test('that reads in small bites gets all of it', async () => {
    body = { chunks: LARGE_CHUNKS };
    const response = await ask();
    const parts: Buffer[] = [];
    for await (const part of response) {
      parts.push(part as Buffer);
      await new Promise(setImmediate);
    }
    expect(isExactly(Buffer.concat(parts), LARGE_CHUNKS)).toBe(true);
  });

  // uWebSockets.js gives a reader 10 seconds, measured in steps of 4, by a clock of its own.
  inFull('that pauses for longer than uWebSockets.js would wait gets all of it', async () => {
    body = { chunks: LARGE_CHUNKS };
    const response = await ask();
    await untilHeldUp();
    await new Promise((resolve) => setTimeout(resolve, 17_000));
    expect(isExactly(await readOn(response), LARGE_CHUNKS)).toBe(true);
    expect(ends).toEqual([null]);
  });

  test('that takes nothing for a minute is cut off', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    body = { chunks: LARGE_CHUNKS };
    const response = await ask();
    expect(await refuseOffers()).toBeGreaterThanOrEqual(12);
    expect(ends[0]?.message).toMatch(/took nothing for a while/);
    expect(returned).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
    await readOn(response);
    expect(response.complete).toBe(false);
  });

  test('that leaves ends the making', async () => {
    body = { chunks: LARGE_CHUNKS };
    const response = await ask();
    await untilHeldUp();
    response.destroy();
    await vi.waitUntil(() => ends.length === 1, WITHIN);
    expect(ends).toEqual([null]);
    expect(returned).toBe(true);
    expect(requested).toBeLessThan(LARGE_CHUNKS);
  });
});

describe('chunks that fail', () => {
  const fail = async (): Promise<void> => {
    throw new Error('the database is away');
  };

  test('before anything was sent become an error answer, and the connection lives on', async () => {
    body = { chunks: 0, afterwards: fail };
    const client = await openRaw();
    await client.send(head('GET', '/stream'));
    await client.until('internal_error');
    await client.send(head('GET', '/hello'));
    const answer = await client.until('"hello"');
    expect(statuses(answer)).toEqual([500, 200]);
  });

  test('with an error of the table become that one', async () => {
    const refuse = async (): Promise<void> => {
      throw new SluiceError('overloaded', 'Later.', { retryAfterSeconds: 7 });
    };
    body = { chunks: 0, afterwards: refuse };
    const response = await ask();
    expect(response.statusCode).toBe(503);
    expect(response.headers['retry-after']).toBe('7');
    response.resume();
  });

  test('in the middle break the transfer, however little was left to send', async () => {
    body = { chunks: 5, afterwards: fail };
    const response = await ask();
    const received = await readOn(response);
    expect(response.complete).toBe(false);
    expect(isExactly(received, 5)).toBe(false);
    expect(
      received.equals(Buffer.concat([0, 1, 2, 3, 4].map(chunkOf)).subarray(0, received.length)),
    ).toBe(true);
    expect(ends.map((error) => error?.message)).toEqual(['the database is away']);
  });

  test('after the reader has left harm nobody', async () => {
    const { held: left, proceed: leave } = createHold();
    body = { chunks: 1, afterwards: () => left.then(fail) };
    const client = await openRaw();
    await client.send(head('GET', '/stream'));
    await vi.waitUntil(() => requested === 1, WITHIN);
    client.abort();
    leave();
    await vi.waitUntil(() => ends.length === 1, WITHIN);
    expect(returned).toBe(true);
  });
});

describe('time', () => {
  test('a body that takes too long to make is cut off', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { held, proceed } = createHold();
    body = { chunks: 2, afterwards: () => held };
    const response = await ask();
    const received = readOn(response);
    await vi.waitUntil(() => requested === 2, WITHIN);
    vi.advanceTimersByTime(15 * 60_000);
    await received;
    expect(response.complete).toBe(false);
    proceed();
    await vi.waitUntil(() => ends.length === 1, WITHIN);
    expect(ends[0]?.message).toMatch(/not sent within 900000 ms/);
    expect(returned).toBe(true);
  });

  test('a stop waits for a body', async () => {
    const { held, proceed } = createHold();
    body = { chunks: 3, afterwards: () => held };
    const response = await ask();
    const received = readOn(response);
    await vi.waitUntil(() => requested === 3, WITHIN);
    listener.drain();
    const closed = listener.close();
    proceed();
    expect(isExactly(await received, 3)).toBe(true);
    expect(response.complete).toBe(true);
    await closed;
  });

  test('a body that begins during a stop says that its connection is the last', async () => {
    const client = await openRaw();
    await client.send(head('GET', '/hello'));
    await client.until('"hello"');
    listener.drain();
    await client.send(head('GET', '/stream'));
    expect((await client.until(/!\s*$/)).toLowerCase()).toContain('connection: close\r\n');
  });

  test('a stop waits for a stuck reader only a moment', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    body = { chunks: LARGE_CHUNKS };
    const response = await ask();
    await vi.waitUntil(() => vi.getTimerCount() === 2, WITHIN);
    listener.drain();
    const closed = listener.close();
    expect(await refuseOffers()).toBeLessThan(12);
    await closed;
    expect(ends[0]?.message).toMatch(/took nothing for a while/);
    await readOn(response);
    expect(response.complete).toBe(false);
  });

  test('a stop that is over cuts what is left', async () => {
    const { held, proceed } = createHold();
    body = { chunks: 3, afterwards: () => held };
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const response = await ask();
    const received = readOn(response);
    await vi.waitUntil(() => requested === 3, WITHIN);
    listener.drain();
    const closed = listener.close();
    await vi.advanceTimersByTimeAsync(20_000);
    await closed;
    await received;
    expect(response.complete).toBe(false);
    proceed();
    await vi.waitUntil(() => returned, WITHIN);
  });
});

test('a quick reader behind a kernel that takes little at a time gets all of it', async () => {
  // As uWebSockets.js on a machine that is short of memory for sockets.
  const KERNEL_BYTES = 2 * KIB;
  const received: Buffer[] = [];
  let waiting = Buffer.alloc(0);
  let onWritable = (): boolean => false;
  const drain = (): void => {
    received.push(waiting.subarray(0, KERNEL_BYTES));
    waiting = waiting.subarray(KERNEL_BYTES);
  };
  const response = {
    cork: (write: () => void) => write(),
    write: (slice: Buffer) => {
      const isBehind = waiting.length > 0;
      waiting = Buffer.concat([waiting, slice]);
      if (!isBehind) drain();
      if (waiting.length > 0) {
        setImmediate(() => {
          drain();
          onWritable();
        });
      }
      return waiting.length === 0;
    },
    onWritable: (listener: () => boolean) => {
      onWritable = listener;
    },
    close: () => expect.unreachable(),
  } as unknown as HttpResponse;
  const stream = new ResponseStream(response, { writeHead: () => {}, isStopping: () => false });
  body = { chunks: 20 };
  expect(await stream.send(makeChunks())).toBe(true);
  expect(isExactly(Buffer.concat([...received, waiting, stream.rest]), 20)).toBe(true);
});

test('a reader that takes too little at a time is cut off', async () => {
  // No kernel's buffer is as small as that: a response that never sends all it is given.
  let over = (): void => {};
  let onWritable = (): boolean => false;
  let written = 0;
  const response = {
    cork: (write: () => void) => write(),
    write: (slice: Buffer) => {
      written += slice.length;
      setImmediate(() => onWritable());
      return false;
    },
    onWritable: (listener: () => boolean) => {
      onWritable = listener;
    },
    close: () => over(),
  } as unknown as HttpResponse;
  const stream = new ResponseStream(response, { writeHead: () => {}, isStopping: () => false });
  over = () => stream.stop();
  body = { chunks: LARGE_CHUNKS };
  await expect(stream.send(makeChunks())).rejects.toThrow(/takes too little at a time/);
  expect(returned).toBe(true);
  expect(written).toBeLessThan(600 * KIB);
});

test('a reader that took none of the last it was offered is not left with the rest', async () => {
  // A response that never sends anything. The body is over before its reader would be cut off.
  let over = (): void => {};
  const response = {
    cork: (write: () => void) => write(),
    write: () => false,
    onWritable: () => undefined,
    close: () => over(),
  } as unknown as HttpResponse;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const stream = new ResponseStream(response, { writeHead: () => {}, isStopping: () => false });
  over = () => stream.stop();
  body = { chunks: 1, chunkBytes: 17 * KIB };
  let isSent = false;
  const sending = stream.send(makeChunks()).then(() => {
    isSent = true;
  });
  const failed = expect(sending).rejects.toThrow(/took nothing for a while/);
  await vi.advanceTimersByTimeAsync(11 * 5000);
  expect(returned).toBe(true);
  expect(isSent).toBe(false);
  await vi.advanceTimersByTimeAsync(5000);
  await failed;
});
