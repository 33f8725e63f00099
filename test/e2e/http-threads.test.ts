/**
 * Several threads that take requests are one server: what was acknowledged is stored, limits and
 * revoked keys hold over all of them, the metrics are their sums, and a large body holds up one. They
 * stop in order; one that fails takes the server down in order; a taken port is named.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createKey, revokeKey } from '../../src/db/people/keys.ts';
import { findWorkspace } from '../../src/db/people/workspaces.ts';
import { REFRESH_AFTER_MS } from '../../src/http/limits/authentication.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { casesOf } from '../support/exhaustive.ts';
import { canStartRedis } from '../support/programs.ts';
import { quickAttempt } from '../support/quick-attempt.ts';
import { openSocket } from '../support/raw-socket.ts';
import { startRedis } from '../support/redis.ts';
import { launchServer, ROOT, startServer, type TestServer } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  type Gateway,
  openGateway,
  post,
  rawSpan,
  request,
  storedSpanIds,
  traceBody,
} from './gateway.ts';

const THREADS = 3;
/** Connections are spread by chance: that so many all go to one of three threads does not happen. */
const CONNECTIONS = 32;
const SETTLES_WITHIN_MS = 60_000;
const WINDOW_MS = 60_000;
/** Requests per minute of the key that a burst uses up; three times as many are sent. */
const ADMITTED = casesOf(1000, 3);

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** One request; on a connection of its own unless an agent keeps some. */
function ask(
  url: string,
  options: { readonly key?: string; readonly body?: string; readonly agent?: Agent } = {},
): Promise<Answer> {
  const { key, body, agent = false } = options;
  const headers = {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const outgoing = httpRequest(url, { method, agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    outgoing.once('error', reject).end(body);
  });
}

/** The same request on as many new connections at a time. */
function askAll(url: string, options: Parameters<typeof ask>[1] = {}): Promise<Answer[]> {
  return Promise.all(Array.from({ length: CONNECTIONS }, () => ask(url, options)));
}

function statuses(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Numbers of the threads that wrote log lines with this message. */
function threadsThatSaid(server: Pick<TestServer, 'stderr'>, message: string): Set<unknown> {
  const lines = server.stderr().split('\n').slice(0, -1);
  const said = lines.map((line) => JSON.parse(line) as { msg: string; thread?: number });
  return new Set(said.filter(({ msg }) => msg === message).map(({ thread }) => thread));
}

async function samples(server: TestServer): Promise<Map<string, number>> {
  const { text } = await request(server.metricsUrl);
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.replace(/ \S+$/, ''), Number(line.split(' ').at(-1))]));
}

describe('a server of three threads', () => {
  let gateway: Gateway;
  let server: TestServer;
  beforeAll(async () => {
    gateway = await openGateway({
      HTTP_THREADS: String(THREADS),
      LOG_LEVEL: 'debug',
      MAX_BODY_BYTES: String(40 * 1024 * 1024),
    });
    server = gateway.server;
  });
  afterAll(() => gateway.close());

  async function makeKey(rateLimitPerMinute: number) {
    const { id: workspaceId } = await findWorkspace(gateway.database, 'default');
    const kind = 'agent';
    const made = {
      workspaceId,
      kind,
      name: 'threads',
      rateLimitPerMinute,
      brand: 'sluice',
    } as const;
    return await createKey(gateway.database, made);
  }

  test('spans sent over many connections are all stored, and the metrics are sums', async () => {
    const traces = 'sluice_ingest_requests_total{signal="traces",status="200"}';
    const before = await samples(server);
    const sent = Array.from({ length: CONNECTIONS }, () => rawSpan());
    const answers = await Promise.all(
      sent.map((span) =>
        ask(`${server.observeUrl}/v1/traces`, {
          key: gateway.keys.agent,
          body: JSON.stringify(traceBody([span])),
        }),
      ),
    );
    expect(statuses(answers)).toEqual({ 200: CONNECTIONS });
    const ids = sent.map(({ spanId }) => spanId);
    expect(await storedSpanIds(gateway.database, ids)).toEqual(new Set(ids));
    const writers = threadsThatSaid(server, 'batch committed');
    expect(writers.size).toBeGreaterThan(1);
    for (const thread of writers) expect([1, 2, 3]).toContain(thread);

    const after = await samples(server);
    const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
    expect(grown(traces)).toBe(CONNECTIONS);
    expect(grown('sluice_store_rows_total')).toBe(CONNECTIONS);
    expect(after.get('sluice_store_inflight_bytes')).toBe(0);
    expect(after.get('sluice_limits_shared')).toBe(0);
    expect(after.get('sluice_pass_rounds_total{outcome="finished"}')).toBeGreaterThan(0);
  });

  test('every thread answers every route, and knows what only the main thread does', async () => {
    const ready = await askAll(`${server.baseUrl}/ready`);
    expect(statuses(ready)).toEqual({ 200: CONNECTIONS });
    const said = {
      db: 'ok',
      migrations: 'ok',
      corpus: 'ok',
      pass: 'ok',
      clock: 'ok',
      accepting: 'ok',
    };
    for (const { text } of ready) {
      expect(JSON.parse(text)).toEqual({ status: 'ready', probes: said });
    }
    for (const path of ['/health', '/docs', '/app/sign-in', '/openapi.json']) {
      expect(statuses(await askAll(`${server.baseUrl}${path}`)), path).toEqual({
        200: CONNECTIONS,
      });
    }
    const key = gateway.keys.workspace;
    const rules = await askAll(`${server.baseUrl}/platform/v1/atr/rules`, { key });
    expect(statuses(rules)).toEqual({ 200: CONNECTIONS });
    expect(new Set(rules.map(({ text }) => text)).size).toBe(1);
    const admin = new URL('/ready', server.metricsUrl).href;
    expect(JSON.parse((await ask(admin)).text)).toEqual({ status: 'ready', probes: said });
  });

  test('of a burst in one window exactly as many are admitted as the key allows', async () => {
    const answers = await quickAttempt(WINDOW_MS, async () => {
      const { key } = await makeKey(ADMITTED);
      const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
      const received: Answer[] = [];
      let next = 0;
      const sender = async (): Promise<void> => {
        while (next < 3 * ADMITTED) {
          next += 1;
          received.push(await ask(`${server.observeUrl}/v1/traces`, { key, body: '{}', agent }));
        }
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, sender));
      agent.destroy();
      return received;
    });
    expect(statuses(answers)).toEqual({ 200: ADMITTED, 429: 2 * ADMITTED });
    expect((await samples(server)).get('sluice_limits_counted_here_total')).toBe(0);
  });

  test('a key that is revoked ends in all threads before one could have forgotten it', async () => {
    await quickAttempt(REFRESH_AFTER_MS, async () => {
      const { id, key } = await makeKey(1000);
      const url = `${server.observeUrl}/v1/traces`;
      expect(statuses(await askAll(url, { key, body: '{}' }))).toEqual({ 200: CONNECTIONS });
      await revokeKey(gateway.database, id);
      await waitFor(
        async () => statuses(await askAll(url, { key, body: '{}' }))[401] === CONNECTIONS,
        { withinMs: SETTLES_WITHIN_MS, what: 'the key to be refused on every connection' },
      );
    });
  });

  test('while one thread decodes a body of 32 MiB, others answer', async () => {
    // Read to its end, and wrong at the very last byte: nothing is stored that would take time.
    const text = 'x'.repeat(2500);
    const attributes = [{ key: 'text', value: { stringValue: text } }];
    const spans = Array.from({ length: 14_000 }, () => rawSpan({ attributes }));
    const body = `${JSON.stringify(traceBody(spans)).slice(0, -1)}]`;
    expect(body.length).toBeGreaterThan(32 * 1024 * 1024);
    const { port } = new URL(server.observeUrl);
    const socket = await openSocket(Number(port));
    const head = [
      'POST /v1/traces HTTP/1.1',
      'host: test',
      `authorization: Bearer ${gateway.keys.agent}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
    ];
    await socket.send(`${head.join('\r\n')}\r\n\r\n${body.slice(0, -1)}`);
    // Its thread has read all of that before it answers anybody else on its other connections.
    await askAll(`${server.observeUrl}/health`);
    const order: string[] = [];
    const large = socket.until('HTTP/1.1').then(() => order.push('large'));
    await socket.send(body.slice(-1));
    const small = Array.from({ length: CONNECTIONS }, async () => {
      const { status } = await ask(`${server.observeUrl}/health`);
      expect(status).toBe(200);
      order.push('small');
    });
    await Promise.all([large, ...small]);
    // 503 from a machine on which that takes longer than an answer may.
    expect(socket.received()).toMatch(/^HTTP\/1\.1 (400|503) /);
    expect(order.indexOf('large')).toBeGreaterThan(0);
    socket.abort();
  });

  test.each(['1', '2'])(
    'a second server of %s threads does not share its port',
    async (threads) => {
      const { port } = new URL(server.baseUrl);
      const second = launchServer({
        DATABASE_URL: gateway.databaseUrl,
        HTTP_THREADS: threads,
        LOG_LEVEL: 'error',
        PORT: port,
      });
      const { code } = await second.exited;
      const stderr =
        `sluice: Port ${port} on 127.0.0.1 is taken or not allowed: ` +
        'set PORT to a free port.\n';
      expect({ code, stderr: second.stderr() }).toEqual({ code: 1, stderr });
      expect((await ask(`${server.baseUrl}/health`)).status).toBe(200);
    },
  );

  test('SIGTERM in a burst: a clean end, and every span that was acknowledged is stored', async () => {
    const kept: string[] = [];
    let refused = 0;
    const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
    const sender = async (): Promise<void> => {
      for (;;) {
        const spans = Array.from({ length: 10 }, () => rawSpan());
        const body = JSON.stringify(traceBody(spans));
        const options = { key: gateway.keys.agent, body, agent };
        const answer = await ask(`${server.observeUrl}/v1/traces`, options).catch(() => null);
        if (answer?.status !== 200) {
          refused += 1;
          return;
        }
        kept.push(...spans.map(({ spanId }) => spanId));
      }
    };
    const burst = Promise.all(Array.from({ length: CONNECTIONS }, sender));
    await waitFor(() => kept.length > 2000, {
      withinMs: SETTLES_WITHIN_MS,
      what: '2,000 spans to be acknowledged',
    });
    expect(await server.stop()).toEqual({ code: 0, signal: null });
    await burst;
    agent.destroy();
    expect(refused).toBe(CONNECTIONS);
    expect(await storedSpanIds(gateway.database, kept)).toEqual(new Set(kept));
    expect(server.stderr()).not.toContain('a shutdown step failed');
    expect(server.stderr()).toContain('"msg":"stopped"');
  });
});

describe('two threads', () => {
  let home: TestDatabase;
  let folder: string;
  beforeAll(async () => {
    home = await createTestDatabase();
    folder = await mkdtemp(join(tmpdir(), 'sluice-threads-'));
  });
  afterAll(async () => {
    await home.drop();
    await rm(folder, { recursive: true, force: true });
  });

  test('one that fails is reported, and the server stops in order with exit code 1', async () => {
    const file = join(folder, 'fail');
    const server = await startServer({
      DATABASE_URL: home.url,
      HTTP_THREADS: '2',
      NODE_OPTIONS: `--require ${join(ROOT, 'test', 'support', 'failing-thread.cjs')}`,
      SLUICE_TEST_FAIL_FILE: file,
    });
    const { agent = '' } = server.firstKeys ?? {};
    const url = `${server.observeUrl}/v1/traces`;
    expect((await post(url, agent, traceBody([rawSpan()]))).status).toBe(200);
    await writeFile(file, '');
    expect(await server.exited).toEqual({ code: 1, signal: null });
    expect(server.stderr()).toContain('a thread failed; the server is stopping');
    expect(server.stderr()).toContain('made to fail');
    expect(server.stderr()).toContain('"msg":"stopped"');
  });

  test.runIf(canStartRedis)(
    'with a Redis each counts there, and the admin port says so',
    async () => {
      const redis = await startRedis();
      const settings = { DATABASE_URL: home.url, HTTP_THREADS: '2', REDIS_URL: redis.url };
      const server = await startServer(settings);
      const admin = new URL('/ready', server.metricsUrl).href;
      try {
        await waitFor(async () => (await samples(server)).get('sluice_limits_shared') === 1, {
          withinMs: SETTLES_WITHIN_MS,
          what: 'both threads to count in Redis',
        });
        await redis.kill();
        for (const url of [admin, `${server.baseUrl}/ready`]) {
          await waitFor(async () => (await ask(url)).text.includes('"degraded":["redis"]'), {
            withinMs: SETTLES_WITHIN_MS,
            what: `${url} to name redis`,
          });
          expect((await ask(url)).status).toBe(200);
        }
        await waitFor(async () => (await samples(server)).get('sluice_limits_shared') === 0, {
          withinMs: SETTLES_WITHIN_MS,
          what: 'a thread to say that it counts by itself',
        });
      } finally {
        expect(await server.stop()).toEqual({ code: 0, signal: null });
        await redis.kill();
      }
    },
  );

  test('a second signal ends them at once, and not by an abort', async () => {
    const fresh = await createTestDatabase();
    const server = await startServer({ DATABASE_URL: fresh.url, HTTP_THREADS: '2' });
    const held = await openSocket(Number(new URL(server.observeUrl).port));
    // A request under way, by a valid key: the clean stop would wait for its body.
    const head = [
      'POST /v1/traces HTTP/1.1',
      'host: test',
      'content-type: application/json',
      'expect: 100-continue',
    ].concat([`authorization: Bearer ${server.firstKeys?.agent}`, 'content-length: 2']);
    await held.send(`${head.join('\r\n')}\r\n\r\n`);
    await held.until('HTTP/1.1 100');
    await held.send('{');
    await waitFor(
      () => {
        server.signal('SIGTERM');
        return server.hasExited();
      },
      { withinMs: SETTLES_WITHIN_MS, what: 'the process to end' },
    );
    expect(await server.exited).toEqual({ code: 143, signal: null });
    held.abort();
    await fresh.drop();
  });
});
