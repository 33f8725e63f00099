/**
 * Requests that a page of another site makes a browser send to this machine, by its own name (DNS
 * rebinding) or by ours: neither the operator's listener nor a relay answers them.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { ERRORS } from '../../src/errors.ts';
import { type RelayProcess, startRelay } from '../support/server.ts';
import { openSocket } from '../support/sockets.ts';
import { storedRecords } from '../support/stored-blocks.ts';
import { type Gateway, openGateway, rawSpan, traceBody } from './gateway.ts';

const LISTED = 'listed.example';
const EVIL = 'evil.example';
const UNKNOWN = ERRORS.unknown_host.status;
const CROSS = ERRORS.cross_origin.status;
const JSON_TYPE = 'application/json';
const PROTOBUF = 'application/x-protobuf';

let gateway: Gateway;
let folder: string;
const relays: RelayProcess[] = [];
/** origins of the listeners */
let admin: string;
let relay: string;
let relayForListed: string;

async function openRelay(name: string, args: readonly string[]): Promise<string> {
  const env = { SLUICE_URL: gateway.server.observeUrl, SLUICE_API_KEY: gateway.keys.agent };
  const process = await startRelay(['--queue-dir', join(folder, name), ...args], env);
  relays.push(process);
  return process.url;
}

beforeAll(async () => {
  gateway = await openGateway({ ADMIN_ALLOWED_HOSTS: LISTED });
  folder = mkdtempSync(join(tmpdir(), 'sluice-other-hosts-'));
  admin = new URL(gateway.server.metricsUrl).origin;
  relay = await openRelay('one', []);
  relayForListed = await openRelay('other', [
    '--allow-host',
    'second.example',
    '--allow-host',
    LISTED,
  ]);
});
afterAll(async () => {
  for (const one of relays) await one.end('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
  await gateway.close();
});

interface Sent {
  readonly method?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Unlike fetch, sends any Host. */
async function send(
  url: string,
  { method = 'GET', headers, body = '' }: Sent,
): Promise<{ readonly status: number; readonly type: string; readonly body: string }> {
  return await new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, async (incoming) => {
      const { statusCode: status = 0, headers: answered } = incoming;
      resolve({ status, type: answered['content-type'] ?? '', body: await text(incoming) });
    });
    sent.on('error', reject).end(body);
  });
}

const statusOf = async (url: string, headers: Sent['headers']): Promise<number> =>
  (await send(url, { headers })).status;

describe.each([
  ['the listener of the operator', () => admin, ['/metrics', '/health', '/ready']],
  ['a relay', () => relay, ['/metrics', '/health']],
])('%s', (_what, originOf, paths) => {
  test('answers by names of this machine', async () => {
    const { port } = new URL(originOf());
    for (const path of paths) {
      for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, '[::1]', 'LOCALHOST.']) {
        expect(await statusOf(`${originOf()}${path}`, { host }), `${host}${path}`).toBe(200);
      }
    }
  });

  test('answers nothing else, whatever the path', async () => {
    const { port } = new URL(originOf());
    const names = [
      EVIL,
      '127.0.0.1.evil.example',
      'localhost.evil.example',
      '0.0.0.0',
      'a@localhost',
    ];
    for (const path of [...paths, '/', '/nothing']) {
      for (const name of names) {
        const { status, body } = await send(`${originOf()}${path}`, {
          headers: { host: `${name}:${port}` },
        });
        expect(status, `${name}${path}`).toBe(UNKNOWN);
        expect(body).not.toContain(EVIL);
      }
    }
  });

  test('refuses pages of other sites, and answers its own', async () => {
    const { host } = new URL(originOf());
    for (const path of paths) {
      const url = `${originOf()}${path}`;
      for (const origin of [`http://${EVIL}`, 'null', 'http://localhost:3000']) {
        expect(await statusOf(url, { host, origin }), origin).toBe(CROSS);
      }
      expect(await statusOf(url, { host, origin: originOf() })).toBe(200);
    }
  });
});

test('the refusal of the operator is a problem, and names the setting', async () => {
  const { status, type, body } = await send(`${admin}/metrics`, { headers: { host: EVIL } });
  expect([status, type]).toEqual([UNKNOWN, 'application/problem+json']);
  expect(JSON.parse(body)).toMatchObject({
    type: '/docs/errors#unknown_host',
    reason: 'unknown_host',
    detail: expect.stringContaining('ADMIN_ALLOWED_HOSTS'),
  });
});

test.each([
  ['the listener of the operator', () => admin],
  ['a relay', () => relayForListed],
])('%s answers by a listed name, and its pages', async (_what, originOf) => {
  const url = `${originOf()}/metrics`;
  const { host } = new URL(url);
  expect(await statusOf(url, { host: `${LISTED}:80` })).toBe(200);
  expect(await statusOf(url, { host: `x.${LISTED}` })).toBe(UNKNOWN);
  expect(await statusOf(url, { host, origin: `https://${LISTED}` })).toBe(200);
  expect(await statusOf(url, { host, origin: `https://x.${LISTED}` })).toBe(CROSS);
});

test('a relay that is not on loopback answers by any name', async () => {
  const { port } = new URL(await openRelay('open', ['--listen', '0.0.0.0:0']));
  const url = `http://127.0.0.1:${port}/health`;
  expect(await statusOf(url, { host: 'relay:4318' })).toBe(200);
  expect(await statusOf(url, { host: 'relay:4318', origin: `http://${EVIL}` })).toBe(CROSS);
});

test('a relay answers a probe without Host', async () => {
  const socket = await openSocket(Number(new URL(relay).port));
  await socket.send('GET /health HTTP/1.0\r\n\r\n');
  expect(await socket.closed()).toMatch(/^HTTP\/1\.1 200 /);
});

test('telemetry by another name, or of a page, is neither sent nor queued, but counted', async () => {
  const body = JSON.stringify(traceBody([rawSpan()]));
  const post = (type: string, headers: Sent['headers']) =>
    send(`${relay}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': type, ...headers },
      body,
    });
  const { host } = new URL(relay);
  const stranger = await post(JSON_TYPE, { host: EVIL });
  expect([stranger.status, stranger.type]).toEqual([UNKNOWN, JSON_TYPE]);
  expect(JSON.parse(stranger.body)).toMatchObject({
    message: expect.stringContaining('--allow-host'),
  });
  expect(await post(PROTOBUF, { host: EVIL })).toMatchObject({ status: UNKNOWN, type: PROTOBUF });
  expect((await post('text/plain', { host, origin: `http://${EVIL}` })).status).toBe(CROSS);
  const metrics = (await send(`${relay}/metrics`, { headers: { host } })).body;
  const counted = (status: number): RegExp =>
    new RegExp(`^sluice_relay_requests_total\\{signal="traces",status="${status}"\\} (\\d+)$`, 'm');
  expect(counted(UNKNOWN).exec(metrics)?.[1]).toBe('2');
  expect(counted(CROSS).exec(metrics)?.[1]).toBe('1');
  expect(metrics).toMatch(/^sluice_relay_queue_bytes 0$/m);
  expect(await storedRecords(gateway.database, 'traces')).toBe(0);
});

test('base and observe, which programs reach by any name and with a key, answer as before', async () => {
  for (const url of [gateway.server.baseUrl, gateway.server.observeUrl]) {
    expect(await statusOf(`${url}/health`, { host: EVIL, origin: `http://${EVIL}` })).toBe(200);
  }
});
