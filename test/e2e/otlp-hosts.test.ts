/**
 * Where ingest is served, by port and by Host header, with keys of both prefixes; and how long a
 * connection lives: over any number of requests, until the server drains.
 */
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { someOf } from '../support/cases.ts';
import { runCommand } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { findFreePort, head, openSocket, otlpHeaderLines } from '../support/sockets.ts';
import { waitFor } from '../support/wait-for.ts';
import { openEyes, post, rawSpan, storedSpanIds, traceBody } from './gateway.ts';

const SIGNALS = ['traces', 'metrics', 'logs'] as const;
const BASE_PATH = '/platform/v1/ingest/otel';

interface HostAnswer {
  readonly status: number;
  readonly body: string;
  readonly connection: string | undefined;
  readonly reused: boolean;
}

/** Posts `{}` under a Host header of one's own, which fetch does not allow. */
function ask(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>>,
  agent?: Agent,
): Promise<HostAnswer> {
  return new Promise((resolve, reject) => {
    const type = { 'content-type': 'application/json' };
    const outgoing = httpRequest({
      host: '127.0.0.1',
      port,
      path,
      method: 'POST',
      headers: { ...type, ...headers },
      ...(agent === undefined ? {} : { agent }),
    });
    outgoing.once('error', reject);
    outgoing.once('response', (incoming: IncomingMessage) => {
      const { statusCode: status = 0 } = incoming;
      const { connection } = incoming.headers;
      text(incoming).then(
        (body) => resolve({ status, body, connection, reused: outgoing.reusedSocket }),
        reject,
      );
    });
    outgoing.end('{}');
  });
}

describe('two hosts on one port', () => {
  let database: TestDatabase;
  let server: TestServer;
  let port: number;
  let authorization: string;
  beforeAll(async () => {
    database = await createTestDatabase({ template: inject('migratedTemplate') });
    port = await findFreePort();
    server = await startServer({
      DATABASE_URL: database.url,
      PORT: String(port),
      OBSERVE_PORT: String(port),
      BASE_URL: `http://api.sluice.test:${port}`,
      OBSERVE_URL: `http://otel.sluice.test:${port}`,
    });
    authorization = `Bearer ${server.firstKeys?.agent}`;
  });
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  const observeHosts = (): string[] => [
    `otel.sluice.test:${port}`,
    `OTEL.Sluice.Test:${port}`,
    // What a proxy passes on that listens on the scheme's own port.
    'otel.sluice.test',
  ];
  const baseHosts = (): string[] => [
    `api.sluice.test:${port}`,
    `API.SLUICE.TEST:${port}`,
    'api.sluice.test',
    `127.0.0.1:${port}`,
    'somewhere.else',
  ];

  test('the observe host takes the bare paths, with and without its port, in any case', async () => {
    for (const host of someOf(observeHosts())) {
      for (const signal of SIGNALS) {
        const answer = await ask(port, `/v1/${signal}`, { host, authorization });
        expect(answer, `${host} ${signal}`).toMatchObject({ status: 200, body: '{}' });
      }
      const base = await ask(port, BASE_PATH, { host, authorization });
      expect(base.status, host).toBe(404);
    }
  });

  test('every other host is the base host: bare paths are gone there, key or not', async () => {
    for (const host of someOf(baseHosts())) {
      for (const signal of SIGNALS) {
        const answer = await ask(port, `/v1/${signal}`, { host });
        expect(answer.status, `${host} ${signal}`).toBe(410);
        const { served_path, served_url } = JSON.parse(answer.body) as Record<string, string>;
        expect(served_url).toBe(`http://api.sluice.test:${port}${served_path}`);
        const taken = await ask(port, served_path ?? '', { host, authorization });
        expect(taken, `${host} ${served_path}`).toMatchObject({ status: 200, body: '{}' });
      }
    }
  });
});

describe('two ports', () => {
  let database: TestDatabase;
  let server: TestServer;
  let settings: Record<string, string>;
  beforeAll(async () => {
    database = await createTestDatabase({ template: inject('migratedTemplate') });
    settings = { DATABASE_URL: database.url };
    server = await startServer({ ...settings, BARE_OTLP_ON_BASE: 'serve' });
  });
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  const portOf = (url: string): number => Number(new URL(url).port);

  test.each(SIGNALS)(
    'BARE_OTLP_ON_BASE=serve: /v1/%s on both, for those with a key',
    async (at) => {
      const authorization = `Bearer ${server.firstKeys?.agent}`;
      for (const url of [server.baseUrl, server.observeUrl]) {
        // The port alone decides: no name in Host is looked at.
        const host = 'anything.test';
        const taken = await ask(portOf(url), `/v1/${at}`, { host, authorization });
        expect(taken, url).toMatchObject({ status: 200, body: '{}' });
        expect((await ask(portOf(url), `/v1/${at}`, { host })).status, url).toBe(401);
      }
    },
  );

  async function createAgentKey(...options: string[]): Promise<string> {
    const args = ['key', 'create', '--kind', 'agent', '--name', 'x', '--json', ...options];
    const { code, stdout, stderr } = await runCommand(args, settings);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return (JSON.parse(stdout) as { key: string }).key;
  }

  test.each([
    ['live', []],
    ['obs', ['--prefix', 'obs']],
  ] as const)('a key that begins with sluice_%s_, made with %j', async (prefix, options) => {
    const key = await createAgentKey(...options);
    expect(key).toMatch(new RegExp(`^sluice_${prefix}_[A-Za-z0-9]{43}$`));
    const eyes = openEyes(database.url);
    for (const path of [`${server.observeUrl}/v1/traces`, `${server.baseUrl}${BASE_PATH}`]) {
      const span = rawSpan();
      expect(await post(path, key, traceBody([span]))).toMatchObject({ status: 200, text: '{}' });
      const stored = await storedSpanIds(eyes, [span.spanId]);
      expect(stored).toEqual(new Set([span.spanId]));
    }
    await eyes.end();
  });

  test('one connection carries any number of requests, refused ones among them', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const authorization = `Bearer ${server.firstKeys?.agent}`;
    const answers: HostAnswer[] = [];
    for (let count = 0; count < 100; count += 1) {
      const headers: Record<string, string> = count % 3 === 1 ? {} : { authorization };
      if (count % 3 === 2) headers['content-type'] = 'application/x-protobuf';
      answers.push(await ask(portOf(server.observeUrl), '/v1/traces', headers, agent));
    }
    agent.destroy();
    expect(answers.map(({ status }) => status)).toEqual(
      Array.from({ length: 100 }, (_, count) => [200, 401, 415][count % 3]),
    );
    expect(answers.filter(({ reused }) => !reused)).toHaveLength(1);
    expect(answers.filter(({ connection }) => connection === 'close')).toEqual([]);
  });
});

test('draining: what is under way is answered and stored, and its connection closed', async () => {
  const database = await createTestDatabase({ template: inject('migratedTemplate') });
  const server = await startServer({ DATABASE_URL: database.url });
  const port = Number(new URL(server.observeUrl).port);
  const key = server.firstKeys?.agent ?? '';
  const span = rawSpan();
  const body = Buffer.from(JSON.stringify(traceBody([span])));

  const [busy, idle] = [await openSocket(port), await openSocket(port)];
  await idle.send(head('GET', '/health'));
  await idle.until('healthy');
  const lines = [...otlpHeaderLines(key), `Content-Length: ${body.length}`];
  await busy.send(
    Buffer.concat([Buffer.from(head('POST', '/v1/traces', ...lines)), body.subarray(0, 9)]),
  );
  // Answered on another connection after the first bytes of this one: those have been read.
  expect((await post(`${server.observeUrl}/v1/logs`, key, {})).status).toBe(200);

  server.signal('SIGTERM');
  await waitFor(
    () =>
      openSocket(port).then(
        ({ socket }) => void socket.destroy(),
        () => true,
      ),
    { withinMs: 20_000, what: 'no connection is taken any more' },
  );
  await busy.send(body.subarray(9));
  const answer = await busy.closed();
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(answer).toMatch(/^connection: close\r$/im);
  await idle.closed();
  expect(await server.exited).toEqual({ code: 0, signal: null });

  const eyes = openEyes(database.url);
  expect(await storedSpanIds(eyes, [span.spanId])).toEqual(new Set([span.spanId]));
  await eyes.end();
  await database.drop();
});
