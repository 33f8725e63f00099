/**
 * Every telemetry request is answered while PostgreSQL and Redis still hang: whatever it waits for,
 * with 503 and Retry-After. What was under way is stored once when they continue.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { EmbeddedDatabase } from '../../src/db/embedded/connect.ts';
import { clusterOf } from '../../src/db/embedded/installation.ts';
import { ask, freezeServer, type Lab, openLab, serverPid } from '../support/embedded-lab.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { openSocket, type RawSocket } from '../support/sockets.ts';
import { spansWithIds } from '../support/stored-blocks.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  type Answer,
  openEyes,
  post,
  rawSpan,
  request,
  storedSpanIds,
  traceBody,
} from './gateway.ts';

const ANSWER_MS = 1500;

let lab: Lab;
let postgres: EmbeddedDatabase;
let redis: TestRedis;
let server: TestServer;
let key: string;

beforeAll(async () => {
  lab = openLab();
  postgres = await lab.start(await lab.madeFolder());
  redis = await startRedis();
  server = await startServer({
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    INGEST_ANSWER_MS: String(ANSWER_MS),
  });
  key = server.firstKeys?.agent ?? '';
});
afterAll(async () => {
  await server.stop();
  await redis.kill();
  await lab.close();
});

const send = (body: unknown, withKey = key): Promise<Answer> =>
  post(`${server.observeUrl}/v1/traces`, withKey, body);

/** Sends a body until it is stored: a slow machine may take longer than the limit of this test. */
function sendUntilStored(body: unknown): Promise<Answer> {
  return waitFor(
    async () => {
      const answer = await send(body);
      return answer.status === 200 && answer;
    },
    { withinMs: 60_000, what: 'a request is answered 200' },
  );
}

function expectRefused({ status, headers, text }: Answer, message: string): void {
  expect([status, headers.get('retry-after'), JSON.parse(text)]).toEqual([
    503,
    '1',
    { code: expect.any(Number), message: expect.stringContaining(message) },
  ]);
}

/** A request of which the body does not end. */
async function openRequest(lengthHeader: string): Promise<RawSocket> {
  const socket = await openSocket(Number(new URL(server.observeUrl).port));
  const head = `POST /v1/traces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
  await socket.send(`${head}Content-Type: application/json\r\n${lengthHeader}\r\n\r\n`);
  return socket;
}

test('a body that does not end is answered, of declared length or not', async () => {
  const declared = await openRequest('Content-Length: 100');
  const chunked = await openRequest('Transfer-Encoding: chunked');
  await declared.send('{"resourceSpans":[');
  await chunked.send('5\r\n{"res\r\n');
  for (const socket of [declared, chunked]) {
    expect(await socket.until('arrive in time')).toMatch(/^HTTP\/1.1 503 [\s\S]*retry-after: 1/i);
    socket.abort();
  }
});

describe('while PostgreSQL hangs', () => {
  test('requests are answered, and stored once when they come again', async () => {
    await sendUntilStored(traceBody([rawSpan()]));
    const spans = Array.from({ length: 12 }, () => rawSpan());
    const bodies = spans.map((span) => traceBody([span]));
    const thaw = await freezeServer(postgres.home, postgres.url);
    try {
      // Of a key that is remembered: their batches, or their places in the line, hang.
      const answers = await Promise.all(bodies.map((body) => send(body)));
      for (const answer of answers) expectRefused(answer, 'not stored in time');
      // The same again: they wait for the first attempts.
      for (const answer of await Promise.all(bodies.slice(0, 3).map((body) => send(body)))) {
        expectRefused(answer, '');
      }
      // A key that has to be looked up.
      const unseen = `sluice_live_${'u'.repeat(43)}`;
      expectRefused(await send(traceBody([rawSpan()]), unseen), 'not stored in time');
    } finally {
      thaw();
    }
    const again = await Promise.all(bodies.map((body) => sendUntilStored(body)));
    expect(again.map(({ text }) => text)).toEqual(bodies.map(() => '{}'));
    const eyes = openEyes(postgres.url);
    try {
      const ids = spans.map(({ spanId }) => spanId);
      expect(await storedSpanIds(eyes, ids)).toEqual(new Set(ids));
      const copies = await spansWithIds(eyes, ids);
      expect(copies).toHaveLength(spans.length);
    } finally {
      await eyes.end();
    }
  });
});

test('while Redis hangs, requests are stored', async () => {
  redis.freeze();
  try {
    await sendUntilStored(traceBody([rawSpan()]));
  } finally {
    redis.thaw();
  }
});

test('while the synchronous standby is away, nothing is acknowledged, and /ready says so', async () => {
  const settings = join(clusterOf(postgres.home), 'postgresql.auto.conf');
  const before = await readFile(settings, 'utf8');
  const reload = async (text: string, expected: string): Promise<void> => {
    await writeFile(settings, text);
    process.kill(await serverPid(postgres.home), 'SIGHUP');
    await waitFor(
      async () => (await ask(postgres.url, 'SHOW synchronous_standby_names'))[0] === expected,
      { withinMs: 20_000, what: 'PostgreSQL reads its settings again' },
    );
  };
  const degraded = async (): Promise<unknown> =>
    (JSON.parse((await request(`${server.baseUrl}/ready`)).text) as { degraded?: unknown })
      .degraded;
  const span = rawSpan();
  const body = traceBody([span]);
  const copies = async (): Promise<number> => {
    const eyes = openEyes(postgres.url);
    try {
      return (await spansWithIds(eyes, [span.spanId])).length;
    } finally {
      await eyes.end();
    }
  };
  await reload(`${before}\nsynchronous_standby_names = 'nobody'\n`, 'nobody');
  try {
    expectRefused(await send(body), 'not stored in time');
    await waitFor(async () => JSON.stringify(await degraded()) === '["standby"]', {
      withinMs: 20_000,
      what: '/ready names the standby',
    });
    // The wait is cancelled: PostgreSQL commits here, with a warning, and the row can be seen.
    await waitFor(
      async () => {
        await ask(
          postgres.url,
          `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`,
        );
        return (await copies()) === 1;
      },
      { withinMs: 20_000, what: 'the row is committed on this server alone' },
    );
    expectRefused(await send(body), '');
  } finally {
    await reload(before, '');
  }
  await sendUntilStored(body);
  expect(await copies()).toBe(1);
  await waitFor(async () => (await degraded()) === undefined, {
    withinMs: 20_000,
    what: '/ready names nothing any more',
  });
});
