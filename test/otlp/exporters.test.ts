/**
 * What the OpenTelemetry JS SDK really sends, serialised by its own exporters' code and decoded
 * here.
 */

import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
  ValueType,
} from '@opentelemetry/api';
import { SeverityNumber } from '@opentelemetry/api-logs';
import {
  JsonLogsSerializer,
  JsonMetricsSerializer,
  JsonTraceSerializer,
} from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  InMemoryLogRecordExporter,
  LoggerProvider,
  SimpleLogRecordProcessor,
} from '@opentelemetry/sdk-logs';
import { AggregationType, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { expect, test } from 'vitest';
import { decodeLogs } from '../../src/otlp/logs.ts';
import { decodeMetrics } from '../../src/otlp/metrics.ts';
import { decodeTraces } from '../../src/otlp/traces.ts';
import { accepted, SPAN_ID, TRACE_ID } from './bodies.ts';
import { isTakenAlike } from './both-ways.ts';

const RESOURCE = resourceFromAttributes({ 'service.name': 'agent', 'host.cpus': 8 });
const PARENT = trace.setSpanContext(ROOT_CONTEXT, {
  traceId: TRACE_ID,
  spanId: SPAN_ID,
  traceFlags: TraceFlags.SAMPLED,
  isRemote: true,
});

function toBuffer(bytes: Uint8Array | undefined): Buffer {
  if (bytes === undefined) throw new Error('the exporter serialised nothing');
  return Buffer.from(bytes);
}

test('spans', async () => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    resource: RESOURCE,
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  const options = {
    kind: SpanKind.CLIENT,
    startTime: [1726000000, 123456789] as [number, number],
    attributes: {
      'gen_ai.request.model': 'm"1"',
      'gen_ai.usage.input_tokens': 12,
      'gen_ai.request.temperature': 0.5,
      'tool.ok': true,
      'gen_ai.response.finish_reasons': ['stop', 'length'],
      largest: Number.MAX_VALUE,
      'not.a.number': Number.NaN,
    },
    links: [{ context: { traceId: TRACE_ID, spanId: SPAN_ID, traceFlags: 1 } }],
  };
  const span = provider.getTracer('scope', '1.0').startSpan('chat m', options, PARENT);
  span.addEvent('exception', { 'exception.message': 'a\nb' }, [1726000000, 5]);
  span.setStatus({ code: SpanStatusCode.ERROR, message: 'boom' });
  span.end([1726000001, 1]);
  const body = toBuffer(JsonTraceSerializer.serializeRequest(exporter.getFinishedSpans()));
  await provider.shutdown();

  expect(isTakenAlike('traces', body)).toBe(true);
  const request = accepted(decodeTraces(body));
  expect(request.rejections).toEqual([]);
  expect(request.spans).toEqual([
    {
      traceId: TRACE_ID,
      startUnixNano: '1726000000123456789',
      endUnixNano: '1726000001000000001',
      root: null,
      serviceName: 'agent',
      session: null,
    },
  ]);
});

test('log records', async () => {
  const exporter = new InMemoryLogRecordExporter();
  const provider = new LoggerProvider({
    resource: RESOURCE,
    processors: [new SimpleLogRecordProcessor({ exporter })],
  });
  provider.getLogger('scope').emit({
    eventName: 'gen_ai.evaluation',
    timestamp: [1726000000, 7],
    observedTimestamp: [1726000000, 8],
    severityNumber: SeverityNumber.WARN,
    severityText: 'WARN',
    body: { text: 'hi', bytes: new Uint8Array([1, 2]), parts: [1, 2.5, null] },
    attributes: { nested: { $ref: 1 } },
    context: PARENT,
  });
  const body = toBuffer(JsonLogsSerializer.serializeRequest(exporter.getFinishedLogRecords()));
  await provider.shutdown();

  expect(isTakenAlike('logs', body)).toBe(true);
  const request = accepted(decodeLogs(body));
  expect(request.rejections).toEqual([]);
  expect(request.logs).toEqual([
    {
      traceId: TRACE_ID,
      timeUnixNano: '1726000000000000007',
      observedUnixNano: '1726000000000000008',
      serviceName: 'agent',
      session: null,
    },
  ]);
});

class CollectingReader extends MetricReader {
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }

  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

test('metrics', async () => {
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
  const meter = provider.getMeter('scope', '2');
  meter.createCounter('int', { valueType: ValueType.INT, unit: '{token}' }).add(3, { a: 'b' });
  meter.createUpDownCounter('double').add(-2);
  meter.createGauge('gauge').record(1.5);
  const histogram = meter.createHistogram('histogram', {
    advice: { explicitBucketBoundaries: [1, 10] },
  });
  const exponential = meter.createHistogram('exponential');
  for (const value of [0, 1, 4, 1000]) {
    histogram.record(value);
    exponential.record(value);
  }
  const { resourceMetrics } = await reader.collect();
  const body = toBuffer(JsonMetricsSerializer.serializeRequest(resourceMetrics));
  await provider.shutdown();

  // It holds an exponential histogram.
  expect(isTakenAlike('metrics', body)).toBe(false);
  const request = accepted(decodeMetrics(body));
  expect(request.rejections).toEqual([]);
  expect(request.points).toBe(5);
});
