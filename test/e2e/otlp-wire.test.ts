/**
 * Requests as clients put them on the wire: `Expect: 100-continue`, heads that are long, many or in
 * pieces, bodies in chunks however cut; and compressed bombs, many at a time, whose cost in memory
 * is what is asserted, not their time.
 */
import { execFile } from 'node:child_process';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { isExhaustive, someOf } from '../support/cases.ts';
import {
  head,
  openSocket,
  otlpHeaderLines,
  peakMemoryBytes,
  postBytes,
  type RawSocket,
  statuses,
} from '../support/sockets.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  type Gateway,
  openGateway,
  otlpHeaders,
  rawSpan,
  request,
  storedSpanIds,
  traceBody,
} from './gateway.ts';

const MIB = 1024 * 1024;
const PATH = '/v1/traces';
const ANSWER_WITHIN_MS = 10_000;
/** The default, or a quarter of it: inflating takes most of this file's time. */
const DECODED_BYTES_MAX = (isExhaustive ? 64 : 16) * MIB;

let gateway: Gateway;
let key: string;
let url: string;
let sockets: RawSocket[];
beforeAll(async () => {
  gateway = await openGateway({
    LOG_LEVEL: 'warn',
    MAX_BODY_BYTES: String(8 * MIB),
    MAX_DECODED_BODY_BYTES: String(DECODED_BYTES_MAX),
  });
  key = await gateway.addKey('agent', 100_000);
  url = `${gateway.server.observeUrl}${PATH}`;
});
afterAll(() => gateway.close());
beforeEach(() => {
  sockets = [];
});
afterEach(() => {
  for (const { socket } of sockets) socket.destroy();
});

async function connect(): Promise<RawSocket> {
  const socket = await openSocket(Number(new URL(url).port));
  socket.socket.setNoDelay(true);
  sockets.push(socket);
  return socket;
}

/** A request with one span, and the span's id. */
function oneSpan(): { readonly spanId: string; readonly body: Buffer } {
  const span = rawSpan();
  return { spanId: span.spanId, body: Buffer.from(JSON.stringify(traceBody([span]))) };
}

async function expectStored(spanIds: readonly string[]): Promise<void> {
  expect(await storedSpanIds(gateway.database, spanIds)).toEqual(new Set(spanIds));
}

/** Waits until as many answers have come as requests were sent. */
async function answers(socket: RawSocket, count: number): Promise<number[]> {
  const isThere = (): boolean => statuses(socket.received()).length >= count;
  await waitFor(isThere, {
    withinMs: ANSWER_WITHIN_MS,
    what: () => `${count} answers; so far: ${socket.received()}`,
  });
  return statuses(socket.received());
}

describe('Expect: 100-continue', () => {
  test('a client that sends no body before 100 Continue', async () => {
    const { spanId, body } = oneSpan();
    const status = await new Promise<number>((resolve, reject) => {
      const outgoing = httpRequest(url, {
        method: 'POST',
        headers: {
          ...otlpHeaders(key),
          expect: '100-continue',
          'content-length': body.length,
        },
      });
      outgoing.once('error', reject);
      outgoing.once('continue', () => outgoing.end(body));
      outgoing.once('response', (incoming: IncomingMessage) => {
        incoming.resume().once('end', () => resolve(incoming.statusCode ?? 0));
      });
      outgoing.setTimeout(ANSWER_WITHIN_MS, () => outgoing.destroy(new Error('no 100')));
      outgoing.flushHeaders();
    });
    expect(status).toBe(200);
    await expectStored([spanId]);
  });

  test('a client that sends its body all the same', async () => {
    const { spanId, body } = oneSpan();
    const socket = await connect();
    await socket.send(postBytes(PATH, [...otlpHeaderLines(key), 'Expect: 100-continue'], body));
    expect(await answers(socket, 2)).toEqual([100, 200]);
    await expectStored([spanId]);
  });

  test('curl', async () => {
    const { spanId, body } = oneSpan();
    const headers = [...otlpHeaderLines(key), 'Expect: 100-continue'];
    const { stdout } = await promisify(execFile)('curl', [
      ...['--silent', '--show-error', '--max-time', '20', '--expect100-timeout', '15'],
      ...headers.flatMap((line) => ['--header', line]),
      ...['--data-binary', body.toString(), '--write-out', ' %{http_code}', url],
    ]);
    expect(stdout).toBe('{} 200');
    await expectStored([spanId]);
  });
});

describe('heads', () => {
  const fullHead = (body: Buffer, ...more: string[]): string =>
    postBytes(PATH, [...otlpHeaderLines(key), ...more], body).toString('latin1');

  test('many headers, and long ones', async () => {
    const spanIds: string[] = [];
    const many = Array.from({ length: 80 }, (_, index) => `X-Header-${index}: ${index}`);
    for (const more of [many, [`X-Long: ${'a'.repeat(3000)}`]]) {
      const { spanId, body } = oneSpan();
      const socket = await connect();
      await socket.send(fullHead(body, ...more));
      expect(await answers(socket, 1)).toEqual([200]);
      spanIds.push(spanId);
    }
    await expectStored(spanIds);
  });

  /** Everything the server said until it closed the connection. */
  async function refused(...pieces: string[]): Promise<number[]> {
    const socket = await connect();
    for (const piece of pieces) {
      // The server may have closed before it took all.
      await socket.send(piece).catch(() => undefined);
    }
    return statuses(await socket.closed());
  }

  test('a head past every limit is refused and its connection closed', async () => {
    const { body } = oneSpan();
    const long = fullHead(body, `X-Long: ${'a'.repeat(600 * 1024)}`);
    const many = fullHead(body, ...Array.from({ length: 1000 }, (_, index) => `X-${index}: 1`));
    for (const whole of [long, many]) {
      const received = await refused(whole.slice(0, 9000), whole.slice(9000));
      expect(received.filter((status) => status !== 431)).toEqual([]);
    }
    expect((await request(`${gateway.server.observeUrl}/health`)).status).toBe(200);
  });

  /** Sends in two pieces that arrive as two. */
  async function sendCut(whole: string, at: number): Promise<RawSocket> {
    const socket = await connect();
    const probe = await connect();
    await socket.send(whole.slice(0, at));
    // Answered after the first piece was sent: the server has read that piece by now.
    await probe.send(head('GET', '/health'));
    await probe.until('healthy');
    // A refusal of the first piece may have closed the connection.
    await socket.send(whole.slice(at)).catch(() => undefined);
    return socket;
  }

  test('cut in two at every offset behind the request line', async () => {
    const { body } = oneSpan();
    const whole = fullHead(body);
    const lineEnd = whole.indexOf('\r\n') + 2;
    const offsets = Array.from({ length: whole.length - lineEnd }, (_, index) => lineEnd + index);
    const received = await Promise.all(
      offsets.map(async (at) => answers(await sendCut(whole, at), 1)),
    );
    expect(new Set(received.flat())).toEqual(new Set([200]));
  });

  test('cut within the request line: taken, or refused at once, but never left waiting', async () => {
    // uWebSockets.js takes a request line that ends early for one without a version.
    const { body } = oneSpan();
    const whole = fullHead(body);
    const offsets = Array.from({ length: whole.indexOf('\r\n') }, (_, index) => index + 1);
    const received = await Promise.all(
      offsets.map(async (at) => answers(await sendCut(whole, at), 1)),
    );
    expect([...new Set(received.flat())].filter((status) => status !== 505)).toEqual([200]);
  });
});

describe('bodies in chunks', () => {
  const chunk = (bytes: Buffer): Buffer =>
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
  const END = Buffer.from('0\r\n\r\n');

  /** A gzip body of one span as a chunked request: its head, and the body's chunks. */
  function chunked(chunkBytes: number, sentKey = key) {
    const { spanId, body } = oneSpan();
    const encoded = gzipSync(body);
    const lines = [...otlpHeaderLines(sentKey), 'Content-Encoding: gzip'];
    const chunks: Buffer[] = [];
    for (let at = 0; at < encoded.length; at += chunkBytes) {
      chunks.push(chunk(encoded.subarray(at, at + chunkBytes)));
    }
    const first = Buffer.from(head('POST', PATH, ...lines, 'Transfer-Encoding: chunked'));
    return { spanId, first, chunks: [...chunks, END] };
  }

  test('of one byte each, sent one by one', async () => {
    const { spanId, first, chunks } = chunked(1);
    const socket = await connect();
    for (const piece of [first, ...chunks]) await socket.send(piece);
    expect(await answers(socket, 1)).toEqual([200]);
    await expectStored([spanId]);
  });

  // What an exporter with gzip does: each batch chunked, in one segment, on the same connection.
  test.each([1, 7, 100_000])('of %i bytes, all at once, batch after batch', async (chunkBytes) => {
    const socket = await connect();
    const spanIds: string[] = [];
    for (let batch = 1; batch <= 5; batch += 1) {
      const { spanId, first, chunks } = chunked(chunkBytes);
      await socket.send(Buffer.concat([first, ...chunks]));
      expect(await answers(socket, batch)).toEqual(Array(batch).fill(200));
      spanIds.push(spanId);
    }
    await expectStored(spanIds);
  });

  test('with nothing in them, batch after batch', async () => {
    const socket = await connect();
    const lines = [...otlpHeaderLines(key), 'Content-Encoding: gzip', 'Transfer-Encoding: chunked'];
    const whole = Buffer.concat([
      Buffer.from(head('POST', PATH, ...lines)),
      chunk(gzipSync('{}')),
      END,
    ]);
    for (let batch = 1; batch <= 5; batch += 1) {
      await socket.send(whole);
      expect(await answers(socket, batch)).toEqual(Array(batch).fill(200));
    }
  });

  test('refused before they are read, batch after batch', async () => {
    const socket = await connect();
    for (let batch = 1; batch <= 5; batch += 1) {
      const { first, chunks } = chunked(100_000, 'sluice_live_unknown');
      await socket.send(Buffer.concat([first, ...chunks]));
      expect(await answers(socket, batch)).toEqual(Array(batch).fill(401));
    }
  });

  test('that end in the middle, with the client gone: nothing is stored, nothing stays', async () => {
    const { spanId, first, chunks } = chunked(10);
    const socket = await connect();
    await socket.send(Buffer.concat([first, ...chunks.slice(0, 5)]));
    socket.abort();
    const whole = oneSpan();
    const answer = await request(url, {
      method: 'POST',
      headers: otlpHeaders(key),
      body: new Uint8Array(whole.body),
    });
    expect(answer.status).toBe(200);
    const stored = await storedSpanIds(gateway.database, [spanId, whole.spanId]);
    expect(stored).toEqual(new Set([whole.spanId]));
  });
});

describe('bombs', () => {
  const PARALLEL = 32;
  const GROWTH_BYTES_MAX = (isExhaustive ? 600 : 400) * MIB;

  /** JSON of exactly so many bytes that says nothing. */
  const blank = (bytes: number): Buffer => Buffer.from(`{${' '.repeat(bytes - 2)}}`);

  let peakBefore: number;
  beforeAll(async () => {
    peakBefore = await peakMemoryBytes(gateway.server.pid);
  });

  async function throwMany(count: number, body: Buffer): Promise<Set<number>> {
    const headers = { ...otlpHeaders(key), 'content-encoding': 'gzip' };
    const bytes = new Uint8Array(body);
    const all = Array.from({ length: count }, async () => {
      const { status } = await request(url, { method: 'POST', headers, body: bytes });
      return status;
    });
    return new Set(await Promise.all(all));
  }

  async function expectBounded(): Promise<void> {
    const growth = (await peakMemoryBytes(gateway.server.pid)) - peakBefore;
    expect(growth).toBeLessThan(GROWTH_BYTES_MAX);
    expect((await request(`${gateway.server.observeUrl}/health`)).status).toBe(200);
  }

  test('one byte past the limit, 32 at a time', async () => {
    const bomb = gzipSync(blank(DECODED_BYTES_MAX + 1));
    expect(bomb.length).toBeLessThan(128 * 1024);
    for (const status of await throwMany(PARALLEL, bomb)) expect([413, 503]).toContain(status);
    await expectBounded();
  });

  test('ten gigabytes, 8 at a time', async () => {
    const member = gzipSync(Buffer.alloc(64 * MIB, ' '));
    const bomb = Buffer.concat(Array(160).fill(member));
    for (const status of someOf(await throwMany(8, bomb))) expect([413, 503]).toContain(status);
    await expectBounded();
  });

  test('exactly at the limit, some at a time: accepted, or answered with Retry-After', async () => {
    const statusesSeen = await throwMany(6, gzipSync(blank(DECODED_BYTES_MAX)));
    for (const status of someOf(statusesSeen)) expect([200, 503]).toContain(status);
    await expectBounded();
    // Those that were answered 503 while they were inflated may still be before it.
    const alone = gzipSync(blank(DECODED_BYTES_MAX));
    await waitFor(async () => (await throwMany(1, alone)).has(200), {
      withinMs: 60_000,
      what: 'a body at the limit is accepted',
    });
  });
});
