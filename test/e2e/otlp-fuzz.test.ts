/**
 * Any bytes over real HTTP: what is valid is stored to the last row, what is damaged is refused
 * with a status that no client retries, and the server lives on, within its memory.
 */
import { deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { JsonObject } from '../../src/model/json.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { casesOf } from '../support/cases.ts';
import { canonicalRecords } from '../support/otlp-canonical.ts';
import { exportRequest } from '../support/otlp-requests.ts';
import { otlpHeaderLines, peakMemoryBytes, postBytes, throwAt } from '../support/sockets.ts';
import { storedRecords } from '../support/stored-blocks.ts';
import { type Answer, type Gateway, openGateway, otlpHeaders, request } from './gateway.ts';

const MIB = 1024 * 1024;
const ANSWER_WITHIN_MS = 20_000;
const PATIENCE = { patienceMs: 200, closeWithinMs: ANSWER_WITHIN_MS };
/** All of it together; what stays is what V8 and the prepared statements keep. */
const GROWTH_BYTES_MAX = 400 * MIB;
/** HTTP Version Not Supported: the one 5xx that is a client's fault. */
const BAD_VERSION = 505;

const ENCODERS = { identity: (bytes: Buffer) => bytes, gzip: gzipSync, deflate: deflateSync };

let gateway: Gateway;
let key: string;
let peakBefore: number;
beforeAll(async () => {
  gateway = await openGateway({ LOG_LEVEL: 'warn' });
  key = await gateway.addKey('agent', 100_000);
  peakBefore = await peakMemoryBytes(gateway.server.pid);
});
afterAll(() => gateway.close());

interface Sample {
  readonly signal: Signal;
  readonly body: JsonObject;
}

const sample: fc.Arbitrary<Sample> = fc
  .constantFrom<Signal[]>('traces', 'logs', 'metrics')
  .chain((signal) => exportRequest(signal).map((body) => ({ signal, body })));
const encoding = fc.constantFrom<(keyof typeof ENCODERS)[]>('identity', 'gzip', 'deflate');

function send(signal: Signal, body: Buffer, contentEncoding: string): Promise<Answer> {
  return request(`${gateway.server.observeUrl}/v1/${signal}`, {
    method: 'POST',
    headers: { ...otlpHeaders(key), 'content-encoding': contentEncoding },
    body: new Uint8Array(body),
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  });
}

const countRecords = (signal: Signal): Promise<number> => storedRecords(gateway.database, signal);

async function isHealthy(): Promise<void> {
  const { baseUrl, observeUrl } = gateway.server;
  for (const url of [baseUrl, observeUrl]) {
    expect((await request(`${url}/health`)).status).toBe(200);
  }
  expect(gateway.server.hasExited()).toBe(false);
}

/** Puts `insert` in the place of `remove` bytes; positions wrap, so that every edit hits. */
interface Edit {
  readonly at: number;
  readonly remove: number;
  readonly insert: Uint8Array;
}

const oneByte = fc.uint8Array({ minLength: 1, maxLength: 1 });
const someBytes = fc.uint8Array({ maxLength: 24 });
const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.record({ at: fc.nat(), remove: fc.constant(1), insert: oneByte }),
  fc.record({ at: fc.nat(), remove: fc.nat({ max: 64 }), insert: someBytes }),
  fc.record({ at: fc.nat(), remove: fc.constant(Number.MAX_SAFE_INTEGER), insert: someBytes }),
);
const edits = fc.array(edit, { minLength: 1, maxLength: 4 });

function damage(bytes: Buffer, list: readonly Edit[]): Buffer {
  return list.reduce((damaged, { at, remove, insert }) => {
    const start = at % (damaged.length + 1);
    return Buffer.concat([damaged.subarray(0, start), insert, damaged.subarray(start + remove)]);
  }, bytes);
}

test('valid requests are stored, every record of them', async () => {
  await fc.assert(
    fc.asyncProperty(sample, encoding, async ({ signal, body }, by) => {
      const before = await countRecords(signal);
      const encoded = ENCODERS[by](Buffer.from(JSON.stringify(body)));
      expect(await send(signal, encoded, by)).toMatchObject({ status: 200, text: '{}' });
      const stored = (await countRecords(signal)) - before;
      expect(stored).toBe(canonicalRecords(signal, body).length);
    }),
    { numRuns: casesOf(150) },
  );
  await isHealthy();
});

test('damaged bodies are 200 or 400, whatever they are encoded with', async () => {
  await fc.assert(
    fc.asyncProperty(
      sample,
      encoding,
      edits,
      fc.boolean(),
      async ({ signal, body }, by, list, damagedFirst) => {
        const bytes = Buffer.from(JSON.stringify(body));
        const encode = ENCODERS[by];
        const sent = damagedFirst ? encode(damage(bytes, list)) : damage(encode(bytes), list);
        const { status, headers, text } = await send(signal, sent, by);
        expect([200, 400]).toContain(status);
        expect(headers.get('content-type')).toBe('application/json');
        JSON.parse(text);
      },
    ),
    { numRuns: casesOf(400) },
  );
  await isHealthy();
});

test('bytes that are not what Content-Encoding says', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), encoding, async (bytes, by) => {
      const { status } = await send('traces', Buffer.from(bytes), by);
      expect([200, 400]).toContain(status);
    }),
    { numRuns: casesOf(100) },
  );
  await isHealthy();
});

const headerName = fc.constantFrom(
  'Content-Type',
  'Content-Encoding',
  'Content-Length',
  'Transfer-Encoding',
  'Expect',
  'Connection',
  'Upgrade',
  'Host',
  'X-Other',
);
const headerValue = fc.oneof(
  fc.constantFrom('', 'chunked', 'gzip, gzip', '0', '-1', '99999999999999999999', '100-continue'),
  fc.constantFrom('close', 'websocket', 'application/json; charset', 'a'.repeat(2000), 'GZIP'),
  fc.string({ unit: 'binary-ascii', maxLength: 40 }),
);

/** Statuses that say "your fault"; with a body whose end nobody knows there may be none at all. */
function expectNoServerError(received: readonly number[]): void {
  const bad = received.filter((status) => status >= 500 && status !== BAD_VERSION);
  expect(bad).toEqual([]);
}

test('odd headers: refused or taken, never a 5xx, never a connection that stays', async () => {
  const port = Number(new URL(gateway.server.observeUrl).port);
  const odd = fc.array(fc.tuple(headerName, headerValue), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(sample, odd, async ({ signal, body }, list) => {
      const lines = list.map(([name, value]) => `${name}: ${value}`);
      const headers = [...otlpHeaderLines(key), ...lines];
      const bytes = postBytes(`/v1/${signal}`, headers, Buffer.from(JSON.stringify(body)));
      expectNoServerError(await throwAt(port, bytes, PATIENCE));
    }),
    { numRuns: casesOf(80) },
  );
  await isHealthy();
});

test('requests damaged anywhere, their head included', async () => {
  const port = Number(new URL(gateway.server.observeUrl).port);
  await fc.assert(
    fc.asyncProperty(sample, edits, async ({ signal, body }, list) => {
      const whole = postBytes(
        `/v1/${signal}`,
        otlpHeaderLines(key),
        Buffer.from(JSON.stringify(body)),
      );
      expectNoServerError(await throwAt(port, damage(whole, list), PATIENCE));
    }),
    { numRuns: casesOf(80) },
  );
  await isHealthy();
});

test('after all of that the server has not grown beyond its bound', async () => {
  const growth = (await peakMemoryBytes(gateway.server.pid)) - peakBefore;
  expect(growth).toBeLessThan(GROWTH_BYTES_MAX);
  expect(gateway.server.stderr()).not.toMatch(/unhandled|uncaught/i);
});
