/**
 * How the OpenTelemetry JS exporters get on with the server's answers: gzip bodies, 503 with
 * Retry-After, answers that are lost, partial success as their SDK logs it, and refusals they must not repeat.
 */

import { gunzipSync } from 'node:zlib';
import { DiagLogLevel, diag, type SpanKind } from '@opentelemetry/api';
import type { SeverityNumber } from '@opentelemetry/api-logs';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  InMemoryLogRecordExporter,
  LoggerProvider,
  SimpleLogRecordProcessor,
} from '@opentelemetry/sdk-logs';
import { AggregationTemporality, DataPointType, InstrumentType } from '@opentelemetry/sdk-metrics';
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Signal } from '../../src/model/telemetry.ts';
import {
  openRecordingProxy,
  type RecordedRequest,
  type RecordingProxy,
} from '../support/recording-proxy.ts';
import { storedLogs, storedPoints, storedSpans } from '../support/stored-blocks.ts';
import { openSharedGateway, type SharedGateway } from './shared-gateway.ts';

type Settings = NonNullable<ConstructorParameters<typeof OTLPTraceExporter>[0]>;

const SIGNALS = ['traces', 'metrics', 'logs'] as const;
const RETRY_AFTER = { status: 503, headers: { 'retry-after': '1' } };
const RESOURCE = resourceFromAttributes({ 'service.name': 'shop-agent' });
/** A member of an enum that its package keeps to itself. */
const GZIP = 'gzip' as NonNullable<Settings['compression']>;
const TIME = [1_763_640_000, 5] as [number, number];

let gateway: SharedGateway;
let proxy: RecordingProxy;
beforeAll(async () => {
  gateway = await openSharedGateway();
  proxy = await openRecordingProxy(gateway.server.observeUrl);
});
afterAll(async () => {
  await proxy.close();
  await gateway.close();
});
afterEach(() => diag.disable());

// ── What is exported: one record named `name`, and one the server has to set aside on request ──

async function makeSpans(names: readonly string[], kind: SpanKind) {
  const memory = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    resource: RESOURCE,
    sampler: new AlwaysOnSampler(),
    spanProcessors: [new SimpleSpanProcessor(memory)],
  });
  for (const name of names) {
    provider
      .getTracer('clients')
      .startSpan(name, name === 'bad' ? { kind } : {})
      .end();
  }
  await provider.forceFlush();
  return memory.getFinishedSpans();
}

async function makeLogs(names: readonly string[], severityNumber: SeverityNumber) {
  const memory = new InMemoryLogRecordExporter();
  const provider = new LoggerProvider({
    resource: RESOURCE,
    processors: [new SimpleLogRecordProcessor({ exporter: memory })],
  });
  for (const eventName of names) {
    const severity = eventName === 'bad' ? { severityNumber } : {};
    provider.getLogger('clients').emit({ eventName, timestamp: TIME, ...severity });
  }
  await provider.forceFlush();
  return memory.getFinishedLogRecords();
}

function makeMetrics(names: readonly string[]) {
  const metrics = names.map((name) => ({
    descriptor: {
      name,
      description: '',
      unit: '',
      type: InstrumentType.GAUGE,
      valueType: 0,
      advice: {},
    },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
    dataPointType: DataPointType.GAUGE as const,
    dataPoints: [
      {
        startTime: TIME,
        // A point at time 0 is one nobody can place.
        endTime: name === 'bad' ? ([0, 0] as [number, number]) : TIME,
        attributes: {},
        value: 1,
      },
    ],
  }));
  return { resource: RESOURCE, scopeMetrics: [{ scope: { name: 'clients' }, metrics }] };
}

interface Outcome {
  readonly error?: Error;
}

/** Exports one record per name with the real exporter; 'bad' is a record the server sets aside. */
async function exportNamed(
  signal: Signal,
  names: readonly string[],
  key: string = gateway.keys.agent,
): Promise<Outcome> {
  const settings = {
    url: `${proxy.url}/v1/${signal}`,
    headers: { authorization: `Bearer ${key}` },
    compression: GZIP,
  };
  const outcome = async (send: (done: (result: Outcome) => void) => void) =>
    await new Promise<Outcome>(send);
  if (signal === 'traces') {
    const spans = await makeSpans(names, 40_000 as SpanKind);
    const exporter = new OTLPTraceExporter(settings);
    return await outcome((done) => exporter.export(spans, done)).finally(() => exporter.shutdown());
  }
  if (signal === 'logs') {
    const records = await makeLogs(names, 40_000 as SeverityNumber);
    const exporter = new OTLPLogExporter(settings);
    return await outcome((done) => exporter.export(records, done)).finally(() =>
      exporter.shutdown(),
    );
  }
  const exporter = new OTLPMetricExporter(settings);
  return await outcome((done) => exporter.export(makeMetrics(names), done)).finally(() =>
    exporter.shutdown(),
  );
}

// ── The outcome ────────────────────────────────────────────────────────────────────────

/** The names of the stored records of the workspace. */
async function namesOf(signal: Signal): Promise<unknown[]> {
  const isOwn = ({ workspaceId }: { workspaceId: number }) => workspaceId === gateway.workspace.id;
  if (signal === 'metrics') {
    const points = await storedPoints(gateway.database);
    return points.filter(isOwn).map(({ metric }) => metric.name);
  }
  const records = await (signal === 'traces' ? storedSpans : storedLogs)(gateway.database);
  return records.filter(isOwn).map(({ record }) => record.name ?? record.eventName);
}

async function countNamed(signal: Signal, name: string): Promise<number> {
  return (await namesOf(signal)).filter((one) => one === name).length;
}

/** The requests made while `work` ran. */
async function requestsOf(
  work: () => Promise<Outcome>,
): Promise<[Outcome, readonly RecordedRequest[]]> {
  const before = proxy.recorded.length;
  const outcome = await work();
  return [outcome, proxy.recorded.slice(before)];
}

/** What the SDK logs while a test runs. */
function listen(): string[] {
  const lines: string[] = [];
  const note = (...parts: unknown[]): void => void lines.push(parts.map(String).join(' '));
  const logger = { error: note, warn: note, info: note, debug: note, verbose: note };
  diag.setLogger(logger, { logLevel: DiagLogLevel.ALL, suppressOverrideMessage: true });
  return lines;
}

describe.each(SIGNALS)('%s', (signal) => {
  test('compressed with gzip', async () => {
    const name = `${signal} gzip`;
    const [outcome, sent] = await requestsOf(() => exportNamed(signal, [name]));
    expect(outcome.error).toBeUndefined();
    expect(sent.map(({ path, status }) => ({ path, status }))).toEqual([
      { path: `/v1/${signal}`, status: 200 },
    ]);
    const [only] = sent;
    expect(only?.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(only?.body ?? '').toString()).toContain(name);
    expect(await countNamed(signal, name)).toBe(1);
  });

  test('503 with Retry-After: sent again, stored once', async () => {
    const name = `${signal} retried`;
    proxy.refuse(RETRY_AFTER);
    const [outcome, sent] = await requestsOf(() => exportNamed(signal, [name]));
    expect(outcome.error).toBeUndefined();
    expect(sent.map(({ status }) => status)).toEqual([503, 200]);
    expect(sent[1]?.body).toEqual(sent[0]?.body);
    expect(await countNamed(signal, name)).toBe(1);
  });

  test('an answer that is lost after the commit: sent again, stored once', async () => {
    const name = `${signal} answer lost`;
    proxy.loseAnswer();
    const [outcome, sent] = await requestsOf(() => exportNamed(signal, [name, 'bad']));
    expect(outcome.error).toBeUndefined();
    expect(sent.map(({ status }) => status)).toEqual([200, 200]);
    expect(sent[1]?.body).toEqual(sent[0]?.body);
    expect(await countNamed(signal, name)).toBe(1);
  });

  test('a partial success is a success, logged with its count and reason, not repeated', async () => {
    const lines = listen();
    const name = `${signal} neighbour`;
    const [outcome, sent] = await requestsOf(() => exportNamed(signal, [name, 'bad']));
    expect(outcome.error).toBeUndefined();
    expect(sent.map(({ status }) => status)).toEqual([200]);
    const logged = lines.find((line) => line.startsWith('Received Partial Success response:'));
    expect(logged).toMatch(/"rejected(?:Spans|DataPoints|LogRecords)":"?1"?[,}]/);
    expect(logged).toMatch(/bad_(?:kind|time|severity) \(1, first at resource/);
    expect(await countNamed(signal, name)).toBe(1);
    expect(await countNamed(signal, 'bad')).toBe(0);
  });

  test('a refusal is reported once and not repeated', async () => {
    const name = `${signal} refused`;
    const [outcome, sent] = await requestsOf(() => exportNamed(signal, [name], 'sluice_live_no'));
    expect(outcome.error?.message).toMatch(/Unauthorized|401/);
    expect(sent.map(({ status }) => status)).toEqual([401]);
    expect(await countNamed(signal, name)).toBe(0);
  });
});

test('what is accepted in full is not logged as a partial success', async () => {
  const lines = listen();
  const outcome = await exportNamed('traces', ['quiet']);
  expect(outcome.error).toBeUndefined();
  expect(lines.filter((line) => /partial|deserialize/i.test(line))).toEqual([]);
});

test('one exporter, batch after batch over its connection', async () => {
  const exporter = new OTLPTraceExporter({
    url: `${gateway.server.observeUrl}/v1/traces`,
    headers: { authorization: `Bearer ${gateway.keys.agent}` },
    compression: GZIP,
  });
  for (let batch = 0; batch < 10; batch += 1) {
    const spans = await makeSpans([`batch ${batch}`], 0);
    const { error } = await new Promise<Outcome>((done) => exporter.export(spans, done));
    expect(error, `batch ${batch}`).toBeUndefined();
    expect(await countNamed('traces', `batch ${batch}`)).toBe(1);
  }
  await exporter.shutdown();
});
