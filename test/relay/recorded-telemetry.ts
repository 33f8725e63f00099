/** Spans, log records and metrics as the OpenTelemetry SDK records them, for its exporters. */
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
  ValueType,
} from '@opentelemetry/api';
import type { SeverityNumber } from '@opentelemetry/api-logs';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  InMemoryLogRecordExporter,
  LoggerProvider,
  type ReadableLogRecord,
  SimpleLogRecordProcessor,
} from '@opentelemetry/sdk-logs';
import {
  AggregationType,
  MeterProvider,
  MetricReader,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';

const RESOURCE = resourceFromAttributes({ 'service.name': 'shop-agent', 'host.cpus': 8 });
const LINKED = {
  traceId: '5b8efff798038103d269b633813fc60c',
  spanId: 'eee19b7ec3c1b174',
  traceFlags: TraceFlags.SAMPLED,
};
const PARENT = trace.setSpanContext(ROOT_CONTEXT, { ...LINKED, isRemote: true });

/** A run of two spans with everything that a span can have. */
export async function recordedSpans(): Promise<ReadableSpan[]> {
  const memory = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    resource: RESOURCE,
    sampler: new AlwaysOnSampler(),
    spanProcessors: [new SimpleSpanProcessor(memory)],
  });
  const tracer = provider.getTracer('agent-lib', '4.2');
  const root = tracer.startSpan('invoke_agent shop', { startTime: [1_763_640_000, 0] });
  const span = tracer.startSpan(
    'chat m"1" 日本',
    {
      kind: SpanKind.CLIENT,
      startTime: [1_763_640_000, 123_456_789],
      attributes: {
        'gen_ai.request.model': 'm"1"\n',
        'gen_ai.usage.input_tokens': 12,
        'gen_ai.request.temperature': 0.5,
        negative: -7,
        stream: true,
        finish_reasons: ['stop', 'length'],
      },
      links: [{ context: LINKED, attributes: { why: 'retry' } }],
    },
    trace.setSpan(ROOT_CONTEXT, root),
  );
  span.addEvent('exception', { 'exception.message': 'a\nb' }, [1_763_640_000, 999_999_999]);
  span.setStatus({ code: SpanStatusCode.ERROR, message: 'boom' });
  span.end([1_763_640_001, 1]);
  root.end([1_763_640_002, 0]);
  const spans = memory.getFinishedSpans();
  await provider.forceFlush();
  return spans;
}

/** One log record with nested values. */
export async function recordedLogs(severityNumber: SeverityNumber): Promise<ReadableLogRecord[]> {
  const memory = new InMemoryLogRecordExporter();
  const provider = new LoggerProvider({
    resource: RESOURCE,
    processors: [new SimpleLogRecordProcessor({ exporter: memory })],
  });
  provider.getLogger('agent-lib', '4.2').emit({
    eventName: 'gen_ai.evaluation',
    timestamp: [1_763_640_000, 7],
    observedTimestamp: [1_763_640_000, 8],
    severityNumber,
    severityText: 'WARN',
    body: { text: 'hi', bytes: new Uint8Array([1, 2]), parts: [1, 2.5, null] },
    attributes: { nested: { $ref: 1, list: ['a', 1] } },
    context: PARENT,
  });
  await provider.forceFlush();
  return memory.getFinishedLogRecords();
}

class CollectingReader extends MetricReader {
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }

  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

/** A metric of each kind that the SDK has. */
export async function recordedMetrics(): Promise<ResourceMetrics> {
  const reader = new CollectingReader();
  const aggregation = { type: AggregationType.EXPONENTIAL_HISTOGRAM } as const;
  const provider = new MeterProvider({
    resource: RESOURCE,
    readers: [reader],
    views: [{ instrumentName: 'exponential', aggregation }],
  });
  const meter = provider.getMeter('agent-lib', '4.2');
  const unit = { unit: '{token}', description: 'tokens used' };
  meter.createCounter('counter', { valueType: ValueType.INT, ...unit }).add(3, { kind: 'input' });
  meter.createUpDownCounter('updown').add(-2.5);
  meter.createGauge('gauge').record(1.5);
  const advice = { explicitBucketBoundaries: [1, 10] };
  const histogram = meter.createHistogram('histogram', { advice });
  const exponential = meter.createHistogram('exponential');
  for (const value of [0, 1, 4, 1000]) {
    histogram.record(value);
    exponential.record(value);
  }
  const { resourceMetrics } = await reader.collect();
  await provider.shutdown();
  return resourceMetrics;
}
