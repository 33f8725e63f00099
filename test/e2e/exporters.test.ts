/**
 * The OpenTelemetry JS SDK's own OTLP/HTTP exporters against the running server, on both hosts:
 * what they were given is what PostgreSQL holds, to the nanosecond.
 */
import {
  type HrTime,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
  ValueType,
} from '@opentelemetry/api';
import { SeverityNumber } from '@opentelemetry/api-logs';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import {
  AggregationType,
  type DataPoint,
  MeterProvider,
  MetricReader,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import {
  type StoredPoint,
  type StoredRecord,
  storedLogs,
  storedPoints,
  storedSpans,
} from '../support/stored-blocks.ts';
import { type Gateway, openGateway, post, randomId } from './gateway.ts';

const RESOURCE = resourceFromAttributes({ 'service.name': 'shop-agent', 'host.cpus': 8 });
const HOSTS = ['observe', 'base'] as const;
type Host = (typeof HOSTS)[number];

const PATHS = {
  observe: { traces: '/v1/traces', metrics: '/v1/metrics', logs: '/v1/logs' },
  base: {
    traces: '/platform/v1/ingest/otel',
    metrics: '/platform/v1/ingest/otel/metrics',
    logs: '/platform/v1/ingest/otel/logs',
  },
} as const;

let gateway: Gateway;
beforeAll(async () => {
  gateway = await openGateway();
});
afterAll(() => gateway.close());
afterEach(() => void vi.unstubAllEnvs());

function destination(host: Host, signal: keyof typeof PATHS.base) {
  const { baseUrl, observeUrl } = gateway.server;
  return {
    url: `${host === 'base' ? baseUrl : observeUrl}${PATHS[host][signal]}`,
    headers: { authorization: `Bearer ${gateway.keys.agent}` },
  };
}

/** One row of a query that must give exactly one. */
async function onlyRow(sql: string, values: unknown[]): Promise<Record<string, unknown>> {
  const { rows } = await gateway.database.query<Record<string, unknown>>(sql, values);
  expect(rows).toHaveLength(1);
  return rows[0] ?? {};
}

function nanos([seconds, rest]: HrTime): string {
  return String(BigInt(seconds) * 1_000_000_000n + BigInt(rest));
}

/** A value as OTLP's JSON has it. */
function anyValue(value: unknown): object {
  if (value === null) return {};
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') {
    return Number.isInteger(value) ? { intValue: value } : { doubleValue: value };
  }
  if (value instanceof Uint8Array) {
    return { bytesValue: Buffer.from(value).toString('base64') };
  }
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  return { kvlistValue: { values: attributes(value as object) } };
}
const attributes = (values: object): object[] =>
  Object.entries(values).map(([key, value]) => ({ key, value: anyValue(value) }));

/** The only stored record of a trace that `select` takes. */
async function onlyRecord(
  stored: typeof storedSpans,
  traceId: string,
  select: (record: StoredRecord['record']) => boolean = () => true,
): Promise<StoredRecord | undefined> {
  const records = await stored(gateway.database);
  const own = records.filter(({ record }) => record.traceId === traceId && select(record));
  expect(own).toHaveLength(1);
  return own[0];
}

test.each(HOSTS)('spans sent to the %s host', async (host) => {
  const processor = new BatchSpanProcessor(new OTLPTraceExporter(destination(host, 'traces')));
  const provider = new BasicTracerProvider({
    resource: RESOURCE,
    sampler: new AlwaysOnSampler(),
    spanProcessors: [processor],
  });
  const tracer = provider.getTracer('agent-lib', '4.2');
  const root = tracer.startSpan('invoke_agent shop', { startTime: [1_763_640_000, 0] });
  const link = { traceId: randomId(16), spanId: randomId(8), traceFlags: TraceFlags.SAMPLED };
  const span = tracer.startSpan(
    'chat m"1" 日本',
    {
      kind: SpanKind.CLIENT,
      startTime: [1_763_640_000, 123_456_789],
      attributes: {
        'gen_ai.request.model': 'm"1"\n',
        'gen_ai.usage.input_tokens': 12,
        'gen_ai.request.temperature': 0.5,
        stream: true,
        finish_reasons: ['stop', 'length'],
      },
      links: [{ context: link, attributes: { why: 'retry' } }],
    },
    trace.setSpan(ROOT_CONTEXT, root),
  );
  span.addEvent('exception', { 'exception.message': 'a\nb' }, [1_763_640_000, 999_999_999]);
  span.setStatus({ code: SpanStatusCode.ERROR, message: 'boom' });
  span.end([1_763_640_001, 1]);
  root.end([1_763_640_002, 0]);
  await processor.forceFlush();
  await provider.shutdown();

  const { traceId, spanId } = span.spanContext();
  const isChat = ({ name }: { name?: string }) => name?.startsWith('chat ') === true;
  const stored = await onlyRecord(storedSpans, traceId, isChat);
  expect(stored?.record).toEqual({
    traceId,
    spanId,
    parentSpanId: root.spanContext().spanId,
    name: 'chat m"1" 日本',
    kind: 3,
    startTimeUnixNano: '1763640000123456789',
    endTimeUnixNano: '1763640001000000001',
    status: { code: 2, message: 'boom' },
    flags: 257,
    attributes: attributes({
      'gen_ai.request.model': 'm"1"\n',
      'gen_ai.usage.input_tokens': 12,
      'gen_ai.request.temperature': 0.5,
      stream: true,
      finish_reasons: ['stop', 'length'],
    }),
    events: [
      {
        name: 'exception',
        timeUnixNano: '1763640000999999999',
        attributes: attributes({ 'exception.message': 'a\nb' }),
        droppedAttributesCount: 0,
      },
    ],
    links: [
      {
        traceId: link.traceId,
        spanId: link.spanId,
        flags: 257,
        attributes: attributes({ why: 'retry' }),
        droppedAttributesCount: 0,
      },
    ],
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  });
  expect(stored?.runId).toBe(traceId);
  expect(stored?.service).toBe('shop-agent');
  expect(stored?.resource).toMatchObject({
    attributes: attributes({ 'service.name': 'shop-agent', 'host.cpus': 8 }),
  });
  expect(stored?.scope).toMatchObject({ name: 'agent-lib', version: '4.2' });
  const run = await onlyRow('SELECT * FROM runs WHERE run_id = $1', [traceId]);
  expect(run).toMatchObject({
    state: 'completed',
    name: 'invoke_agent shop',
    service_name: 'shop-agent',
    spans: 2,
    log_records: 0,
    start_unix_nano: '1763640000000000000',
    end_unix_nano: '1763640002000000000',
  });
});

test.each(HOSTS)('log records sent to the %s host', async (host) => {
  const processor = new BatchLogRecordProcessor({
    exporter: new OTLPLogExporter(destination(host, 'logs')),
  });
  const provider = new LoggerProvider({ resource: RESOURCE, processors: [processor] });
  const [traceId, spanId] = [randomId(16), randomId(8)];
  provider.getLogger('agent-log').emit({
    eventName: 'gen_ai.evaluation',
    timestamp: [1_763_640_000, 7],
    observedTimestamp: [1_763_640_000, 8],
    severityNumber: SeverityNumber.WARN,
    severityText: 'WARN',
    body: { text: 'hi', bytes: new Uint8Array([1, 2]), parts: [1, 2.5, null] },
    attributes: { nested: { $ref: 1 }, list: ['a', 2] },
    context: trace.setSpanContext(ROOT_CONTEXT, {
      traceId,
      spanId,
      traceFlags: TraceFlags.SAMPLED,
    }),
  });
  await processor.forceFlush();
  await provider.shutdown();

  const stored = await onlyRecord(storedLogs, traceId);
  expect(stored?.record).toEqual({
    traceId,
    spanId,
    timeUnixNano: '1763640000000000007',
    observedTimeUnixNano: '1763640000000000008',
    severityNumber: 13,
    severityText: 'WARN',
    eventName: 'gen_ai.evaluation',
    body: anyValue({ text: 'hi', bytes: new Uint8Array([1, 2]), parts: [1, 2.5, null] }),
    attributes: attributes({ nested: { $ref: 1 }, list: ['a', 2] }),
    droppedAttributesCount: 0,
    flags: 1,
  });
  expect(stored?.service).toBe('shop-agent');
  expect(stored?.scope).toMatchObject({ name: 'agent-log' });
});

/** Collects on demand, so that the test holds the very points it exports. */
class CollectingReader extends MetricReader {
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }
  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

async function recordMetrics(scope: string): Promise<ResourceMetrics> {
  const reader = new CollectingReader();
  const provider = new MeterProvider({
    resource: RESOURCE,
    readers: [reader],
    views: [
      {
        instrumentName: 'exponential',
        aggregation: { type: AggregationType.EXPONENTIAL_HISTOGRAM },
      },
    ],
  });
  const meter = provider.getMeter(scope, '2');
  const counter = { valueType: ValueType.INT, unit: '{token}', description: 'tokens used' };
  meter.createCounter('counter', counter).add(3, { kind: 'input' });
  meter.createUpDownCounter('updown').add(-2.5);
  meter.createGauge('gauge').record(1.5);
  const histogram = meter.createHistogram('histogram', {
    advice: { explicitBucketBoundaries: [1, 10] },
  });
  const exponential = meter.createHistogram('exponential');
  for (const value of [0, 1, 4, 1000]) {
    histogram.record(value);
    exponential.record(value);
  }
  const { resourceMetrics, errors } = await reader.collect();
  expect(errors).toEqual([]);
  await provider.shutdown();
  return resourceMetrics;
}

/** The stored points of a scope, by the name of their metric. */
async function pointsOf(scope: string): Promise<StoredPoint[]> {
  const points = (await storedPoints(gateway.database)).filter((point) => point.scope === scope);
  return points.toSorted((a, b) => String(a.metric.name).localeCompare(String(b.metric.name)));
}

/** The exponential buckets as the SDK reports them. */
function exponentialBuckets(point: DataPoint<unknown> | undefined): object {
  const { scale, zeroCount, positive, negative } = (point as DataPoint<unknown>).value as Record<
    string,
    object
  >;
  return { scale, zeroCount, positive, negative };
}

test.each(HOSTS)('metrics of four kinds sent to the %s host', async (host) => {
  const scope = `meter-${host}`;
  const sent = await recordMetrics(scope);
  const exporter = new OTLPMetricExporter(destination(host, 'metrics'));
  await new Promise<void>((resolve, reject) => {
    exporter.export(sent, ({ error }) => (error === undefined ? resolve() : reject(error)));
  });
  await exporter.shutdown();

  const points = new Map<string, DataPoint<unknown>>();
  for (const { descriptor, dataPoints } of sent.scopeMetrics[0]?.metrics ?? []) {
    const [point] = dataPoints;
    if (point !== undefined) points.set(descriptor.name, point);
  }
  const cumulative = { aggregationTemporality: 2 };
  const distribution = { count: 4, sum: 1005, min: 0, max: 1000 };
  const buckets = { bucketCounts: [2, 1, 1], explicitBounds: [1, 10] };
  const expected = [
    { kind: 'sum', data: { ...cumulative, isMonotonic: true }, values: { asInt: 3 } },
    {
      kind: 'exponentialHistogram',
      data: cumulative,
      values: { ...distribution, ...exponentialBuckets(points.get('exponential')) },
    },
    { kind: 'gauge', data: {}, values: { asDouble: 1.5 } },
    { kind: 'histogram', data: cumulative, values: { ...distribution, ...buckets } },
    { kind: 'sum', data: { ...cumulative, isMonotonic: false }, values: { asDouble: -2.5 } },
  ];
  const stored = await pointsOf(scope);
  expect(stored.map(({ metric }) => metric.name)).toEqual([
    'counter',
    'exponential',
    'gauge',
    'histogram',
    'updown',
  ]);
  for (const [index, { metric, kind, data, point, service }] of stored.entries()) {
    const sentPoint = points.get(String(metric.name));
    expect({ kind, data }).toEqual({ kind: expected[index]?.kind, data: expected[index]?.data });
    expect(service).toBe('shop-agent');
    expect(point).toMatchObject({
      ...expected[index]?.values,
      startTimeUnixNano: nanos(sentPoint?.startTime ?? [0, 0]),
      timeUnixNano: nanos(sentPoint?.endTime ?? [0, 0]),
    });
  }
  expect(stored[0]?.metric).toMatchObject({ unit: '{token}', description: 'tokens used' });
  expect(stored[0]?.point.attributes).toEqual([{ key: 'kind', value: { stringValue: 'input' } }]);
});

// The SDK cannot make a summary; collectors forward them from Prometheus.
test.each(HOSTS)('a summary sent to the %s host', async (host) => {
  const scope = `summaries-${host}`;
  const point = {
    startTimeUnixNano: '1763640000000000000',
    timeUnixNano: '1763640000000000009',
    count: '9007199254740993',
    sum: 12.5,
    quantileValues: [
      { quantile: 0.5, value: 1 },
      { quantile: 1, value: 9.25 },
    ],
  };
  const { url } = destination(host, 'metrics');
  const answer = await post(url, gateway.keys.agent, {
    resourceMetrics: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'scraper' } }] },
        scopeMetrics: [
          {
            scope: { name: scope },
            metrics: [{ name: 'latency', unit: 's', summary: { dataPoints: [point] } }],
          },
        ],
      },
    ],
  });
  expect(answer).toMatchObject({ status: 200, text: '{}' });
  expect(await pointsOf(scope)).toEqual([
    {
      workspaceId: expect.any(Number),
      service: 'scraper',
      scope,
      metric: { name: 'latency', unit: 's' },
      kind: 'summary',
      data: {},
      point,
    },
  ]);
});

test('an exporter configured by nothing but what the server prints', async () => {
  for (const [, name, value] of gateway.server
    .stdout()
    .matchAll(/^ {4}export (OTEL_\w+)="?([^"\n]*)"?$/gm)) {
    vi.stubEnv(name ?? '', value ?? '');
  }
  expect(process.env.OTEL_EXPORTER_OTLP_ENDPOINT).toBe(gateway.server.observeUrl);
  const processor = new BatchSpanProcessor(new OTLPTraceExporter());
  const provider = new BasicTracerProvider({ spanProcessors: [processor] });
  const span = provider.getTracer('plain').startSpan('chat pasted');
  span.end();
  await processor.forceFlush();
  await provider.shutdown();
  const stored = await onlyRecord(storedSpans, span.spanContext().traceId);
  expect(stored).toMatchObject({ record: { name: 'chat pasted' }, scope: { name: 'plain' } });
});
