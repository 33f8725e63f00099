/**
 * `sluice relay` between the SDK's own protobuf exporters and a real server: the records are those of the
 * JSON exporters, and nothing that was acknowledged is lost, whatever ends the relay or the server.
 */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SeverityNumber } from '@opentelemetry/api-logs';
import { OTLPLogExporter as JsonLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import { OTLPMetricExporter as JsonMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter as JsonTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';

import type { Signal } from '../../src/model/telemetry.ts';
import { encodeProtobuf } from '../relay/otlp-protobuf.ts';
import { recordedLogs, recordedMetrics, recordedSpans } from '../relay/recorded-telemetry.ts';
import { runCommand } from '../support/command.ts';
import { canonicalRecords } from '../support/otlp-canonical.ts';
import { LISTS } from '../support/otlp-requests.ts';
import { openRecordingProxy } from '../support/recording-proxy.ts';
import { type RelayProcess, startRelay } from '../support/server.ts';
import { spansWithIds, storedLines } from '../support/stored-blocks.ts';
import { waitFor } from '../support/wait-for.ts';
import { randomId, rawSpan, storedSpanIds, traceBody } from './gateway.ts';
import { openSharedGateway, type SharedGateway } from './shared-gateway.ts';

const STORED_WITHIN_MS = 60_000;

let gateway: SharedGateway;
const folders: string[] = [];
const relays: RelayProcess[] = [];
beforeAll(async () => {
  gateway = await openSharedGateway();
});
afterAll(() => gateway.close());
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay.end('SIGKILL');
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-relay-e2e-'));
  folders.push(folder);
  return folder;
}

async function relayTo(
  url: string,
  key = gateway.keys.agent,
  queue = newFolder(),
): Promise<RelayProcess> {
  const env = { SLUICE_URL: url, SLUICE_API_KEY: key };
  const relay = await startRelay(['--queue-dir', queue], env);
  relays.push(relay);
  return relay;
}

interface Outcome {
  readonly error?: Error;
}
interface Exporter<Records> {
  export(records: Records, done: (outcome: Outcome) => void): void;
  shutdown(): Promise<void>;
}

async function exportWith<Records>(exporter: Exporter<Records>, records: Records) {
  const outcome = await new Promise<Outcome>((resolve) => exporter.export(records, resolve));
  await exporter.shutdown();
  return outcome;
}

/** All records of a workspace. */
async function recordsOf(signal: Signal, workspaceId: number): Promise<unknown[]> {
  const [list] = LISTS[signal];
  const lines = await storedLines(gateway.database, signal);
  const own = lines.filter((line) => line.workspaceId === workspaceId);
  return canonicalRecords(signal, { [list]: own.flatMap(({ text }) => JSON.parse(text)[list]) });
}

test.each(['observe', 'base'] as const)(
  'records of the protobuf exporters equal those of the JSON exporters: %s host',
  async (host) => {
    const direct = await gateway.addWorkspace(`direct-${host}-${randomId(8)}`);
    const relayed = await gateway.addWorkspace(`relayed-${host}-${randomId(8)}`);
    const { observeUrl, baseUrl } = gateway.server;
    const relay = await relayTo(host === 'base' ? baseUrl : observeUrl, relayed.agent);
    const headers = { authorization: `Bearer ${direct.agent}` };
    const [spans, logs, metrics] = await Promise.all([
      recordedSpans(),
      recordedLogs(SeverityNumber.WARN),
      recordedMetrics(),
    ]);
    const outcomes = [
      await exportWith(new JsonTraceExporter({ url: `${observeUrl}/v1/traces`, headers }), spans),
      await exportWith(new JsonLogExporter({ url: `${observeUrl}/v1/logs`, headers }), logs),
      await exportWith(
        new JsonMetricExporter({ url: `${observeUrl}/v1/metrics`, headers }),
        metrics,
      ),
      await exportWith(new OTLPTraceExporter({ url: `${relay.url}/v1/traces` }), spans),
      await exportWith(new OTLPLogExporter({ url: `${relay.url}/v1/logs` }), logs),
      await exportWith(new OTLPMetricExporter({ url: `${relay.url}/v1/metrics` }), metrics),
    ];
    expect(outcomes.map(({ error }) => error)).toEqual(Array(6).fill(undefined));
    for (const [signal, count] of [
      ['traces', 2],
      ['logs', 1],
      ['metrics', 5],
    ] as const) {
      const records = await recordsOf(signal, relayed.id);
      expect(records, signal).toHaveLength(count);
      expect(records, signal).toEqual(await recordsOf(signal, direct.id));
    }
  },
);

test('a wrong key is passed on: the exporter reports 401, and nothing is queued', async () => {
  const relay = await relayTo(gateway.server.observeUrl, 'sluice_live_wrong');
  const exporter = new OTLPTraceExporter({ url: `${relay.url}/v1/traces` });
  const { error } = await exportWith(exporter, await recordedSpans());
  expect(error?.message).toMatch(/Unauthorized|401/);
  expect(await (await fetch(`${relay.url}/health`)).json()).toMatchObject({ queue_bytes: 0 });
  expect(relay.output()).not.toContain('sluice_live_wrong');
});

test('a bad record is passed on as a partial success, its neighbour is stored', async () => {
  const relay = await relayTo(gateway.server.observeUrl);
  const spans = [rawSpan(), rawSpan({ kind: 'x' })];
  const response = await fetch(`${relay.url}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(traceBody(spans)),
  });
  expect(await response.json()).toMatchObject({ partialSuccess: { rejectedSpans: '1' } });
  const ids = spans.map(({ spanId }) => spanId);
  expect(await storedSpanIds(gateway.database, ids)).toEqual(new Set(ids.slice(0, 1)));
});

interface Sent {
  readonly spanId: string;
  readonly status: number | null;
}

/** Sends spans in protobuf over several connections until the relay has gone or `count` are sent. */
async function sendSpans(url: string, count: number, sent: Sent[]): Promise<void> {
  const sendOn = async (): Promise<void> => {
    while (sent.length < count) {
      const span = rawSpan();
      const body = encodeProtobuf(
        'traces',
        traceBody([span]) as Parameters<typeof encodeProtobuf>[1],
      );
      const headers = { 'content-type': 'application/x-protobuf' };
      const status = await fetch(`${url}/v1/traces`, { method: 'POST', headers, body }).then(
        (response) => response.arrayBuffer().then(() => response.status),
        () => null,
      );
      sent.push({ spanId: span.spanId, status });
      if (status === null) return;
    }
  };
  await Promise.all(Array.from({ length: 6 }, sendOn));
}

async function whenStored(sent: readonly Sent[]): Promise<void> {
  const acknowledged = sent.filter(({ status }) => status === 200).map(({ spanId }) => spanId);
  expect(acknowledged.length).toBeGreaterThan(0);
  const missing = async (): Promise<number> =>
    acknowledged.length - (await storedSpanIds(gateway.database, acknowledged)).size;
  await waitFor(async () => (await missing()) === 0, {
    withinMs: STORED_WITHIN_MS,
    what: 'every acknowledged span is stored',
  });
}

test('killed under load, with and without a server: nothing acknowledged is lost', async () => {
  const server = await openRecordingProxy(gateway.server.observeUrl);
  const queue = newFolder();
  const sent: Sent[] = [];
  for (const isServerAway of [false, true]) {
    if (isServerAway) server.refuse(...Array.from({ length: 3 }, () => ({ status: 503 })));
    const relay = await relayTo(server.url, gateway.keys.agent, queue);
    const before = sent.length;
    const load = sendSpans(relay.url, Number.POSITIVE_INFINITY, sent);
    await waitFor(() => sent.length > before + 60, {
      withinMs: STORED_WITHIN_MS,
      what: 'the load is under way',
    });
    expect(await relay.end('SIGKILL')).toBeNull();
    await load;
  }
  await relayTo(server.url, gateway.keys.agent, queue);
  await whenStored(sent);
  await server.close();
});

test('a server that is away and comes back gets everything, each span once', async () => {
  const server = await openRecordingProxy(gateway.server.observeUrl);
  server.refuse({ status: 503 }, { status: 429, headers: { 'retry-after': '1' } });
  const relay = await relayTo(server.url);
  const sent: Sent[] = [];
  await sendSpans(relay.url, 30, sent);
  expect(sent.filter(({ status }) => status !== 200)).toEqual([]);
  await whenStored(sent);
  const ids = sent.map(({ spanId }) => spanId);
  expect(await spansWithIds(gateway.database, ids)).toHaveLength(sent.length);
  expect(await relay.end('SIGTERM')).toBe(0);
  await server.close();
});

test('killed after the server stored requests: they are sent again, and each is stored once', async () => {
  const server = await openRecordingProxy(gateway.server.observeUrl);
  const queue = newFolder();
  const relay = await relayTo(server.url, gateway.keys.agent, queue);
  const sent: Sent[] = [];
  // The server stores them and never answers, so the relay queues and acknowledges them.
  for (let held = 0; held < 6; held += 1) server.holdAnswer();
  await sendSpans(relay.url, 1, sent);
  expect(sent.map(({ status }) => status)).toEqual(Array(6).fill(200));
  expect(server.recorded.map(({ status }) => status)).toEqual(Array(6).fill(200));
  expect(await relay.end('SIGKILL')).toBeNull();
  const next = await relayTo(server.url, gateway.keys.agent, queue);
  await waitFor(
    async () => {
      const health = await fetch(`${next.url}/health`);
      return ((await health.json()) as { queue_bytes: number }).queue_bytes === 0;
    },
    { withinMs: STORED_WITHIN_MS, what: 'the queue is sent' },
  );
  const bodies = server.recorded.map(({ body }) => body.toString('base64'));
  expect(bodies.slice(6).sort()).toEqual(bodies.slice(0, 6).sort());
  const ids = sent.map(({ spanId }) => spanId);
  const stored = await spansWithIds(gateway.database, ids);
  expect(stored.map(({ record }) => record.spanId).sort()).toEqual(ids.sort());
  await server.close();
});

test('one relay per queue folder; a stop leaves the queue to the next one', async () => {
  const queue = newFolder();
  const nowhere = 'http://127.0.0.1:9';
  const first = await relayTo(nowhere, gateway.keys.agent, queue);
  await expect(relayTo(nowhere, gateway.keys.agent, queue)).rejects.toThrow(/Another relay uses/);
  const sent: Sent[] = [];
  await sendSpans(first.url, 10, sent);
  expect(await first.end('SIGTERM')).toBe(0);
  await relayTo(gateway.server.observeUrl, gateway.keys.agent, queue);
  await whenStored(sent);
});

test('a queue folder that others could change is refused, and nothing in it changes', async () => {
  const root = newFolder();
  const open = join(root, 'open');
  const link = join(root, 'link');
  mkdirSync(open);
  chmodSync(open, 0o777);
  symlinkSync(newFolder(), link);
  const env = { SLUICE_URL: gateway.server.observeUrl, SLUICE_API_KEY: gateway.keys.agent };
  const refusals = [
    [open, 'can be written by other users (mode 0777)'],
    [join(open, 'queue'), 'can be written by all users (mode 0777)'],
    [link, 'is a symbolic link'],
  ] as const;
  for (const [queue, said] of refusals) {
    const { code, stderr } = await runCommand(['relay', '--queue-dir', queue], env);
    expect(code).toBe(1);
    expect(stderr).toContain(said);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  }
  expect(readdirSync(open)).toEqual([]);
});

test('the key comes from a file too; mistakes end the command with one message', async () => {
  const folder = newFolder();
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, `${gateway.keys.agent}\n`);
  const args = ['--key-file', keyFile, '--queue-dir', join(folder, 'queue')];
  const relay = await startRelay(args, { SLUICE_URL: gateway.server.observeUrl });
  relays.push(relay);
  const sent: Sent[] = [];
  await sendSpans(relay.url, 6, sent);
  await whenStored(sent);
  expect(relay.output()).not.toContain(gateway.keys.agent);
  const { code, stderr } = await runCommand(['relay'], {});
  expect(code).toBe(1);
  expect(stderr).toMatch(/SLUICE_URL[\s\S]*SLUICE_API_KEY/);
});
