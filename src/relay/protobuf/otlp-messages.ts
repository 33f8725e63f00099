/**
 * The messages of an OTLP export request, as data: number, JSON name and type of every field (OTLP
 * 1.11, opentelemetry-proto). Fields that are not listed are skipped.
 *
 *   number: 'jsonName type'      message type `Name`, repeated `Name*`
 *
 * `id` is a trace or span id: bytes in protobuf, hexadecimal in OTLP/JSON. Enums are `int32`: OTLP/JSON
 * has them as numbers.
 */
import type { Signal } from '../../model/telemetry.ts';

/** Types that are not messages. */
export type ScalarType =
  | 'string'
  | 'bool'
  | 'int32'
  | 'sint32'
  | 'uint32'
  | 'fixed32'
  | 'int64'
  | 'uint64'
  | 'fixed64'
  | 'sfixed64'
  | 'double'
  | 'bytes'
  | 'id';

interface MessageTable {
  readonly fields: Readonly<Record<number, string>>;
  /** names; a message has at most one of them, the last one sent counts */
  readonly oneOf?: readonly string[];
}

const REQUEST_FIELDS = {
  resource: 'resource Resource',
  schemaUrl: 'schemaUrl string',
} as const;

export const MESSAGES: Readonly<Record<string, MessageTable>> = {
  TracesRequest: { fields: { 1: 'resourceSpans ResourceSpans*' } },
  MetricsRequest: { fields: { 1: 'resourceMetrics ResourceMetrics*' } },
  LogsRequest: { fields: { 1: 'resourceLogs ResourceLogs*' } },

  Resource: { fields: { 1: 'attributes KeyValue*', 2: 'droppedAttributesCount uint32' } },
  InstrumentationScope: {
    fields: {
      1: 'name string',
      2: 'version string',
      3: 'attributes KeyValue*',
      4: 'droppedAttributesCount uint32',
    },
  },
  KeyValue: { fields: { 1: 'key string', 2: 'value AnyValue' } },
  AnyValue: {
    fields: {
      1: 'stringValue string',
      2: 'boolValue bool',
      3: 'intValue int64',
      4: 'doubleValue double',
      5: 'arrayValue ArrayValue',
      6: 'kvlistValue KeyValueList',
      7: 'bytesValue bytes',
    },
    oneOf: [
      'stringValue',
      'boolValue',
      'intValue',
      'doubleValue',
      'arrayValue',
      'kvlistValue',
      'bytesValue',
    ],
  },
  ArrayValue: { fields: { 1: 'values AnyValue*' } },
  KeyValueList: { fields: { 1: 'values KeyValue*' } },

  ResourceSpans: {
    fields: {
      1: REQUEST_FIELDS.resource,
      2: 'scopeSpans ScopeSpans*',
      3: REQUEST_FIELDS.schemaUrl,
    },
  },
  ScopeSpans: {
    fields: { 1: 'scope InstrumentationScope', 2: 'spans Span*', 3: REQUEST_FIELDS.schemaUrl },
  },
  Span: {
    fields: {
      1: 'traceId id',
      2: 'spanId id',
      3: 'traceState string',
      4: 'parentSpanId id',
      5: 'name string',
      6: 'kind int32',
      7: 'startTimeUnixNano fixed64',
      8: 'endTimeUnixNano fixed64',
      9: 'attributes KeyValue*',
      10: 'droppedAttributesCount uint32',
      11: 'events Event*',
      12: 'droppedEventsCount uint32',
      13: 'links Link*',
      14: 'droppedLinksCount uint32',
      15: 'status Status',
      16: 'flags fixed32',
    },
  },
  Event: {
    fields: {
      1: 'timeUnixNano fixed64',
      2: 'name string',
      3: 'attributes KeyValue*',
      4: 'droppedAttributesCount uint32',
    },
  },
  Link: {
    fields: {
      1: 'traceId id',
      2: 'spanId id',
      3: 'traceState string',
      4: 'attributes KeyValue*',
      5: 'droppedAttributesCount uint32',
      6: 'flags fixed32',
    },
  },
  Status: { fields: { 2: 'message string', 3: 'code int32' } },

  ResourceLogs: {
    fields: { 1: REQUEST_FIELDS.resource, 2: 'scopeLogs ScopeLogs*', 3: REQUEST_FIELDS.schemaUrl },
  },
  ScopeLogs: {
    fields: {
      1: 'scope InstrumentationScope',
      2: 'logRecords LogRecord*',
      3: REQUEST_FIELDS.schemaUrl,
    },
  },
  LogRecord: {
    fields: {
      1: 'timeUnixNano fixed64',
      2: 'severityNumber int32',
      3: 'severityText string',
      5: 'body AnyValue',
      6: 'attributes KeyValue*',
      7: 'droppedAttributesCount uint32',
      8: 'flags fixed32',
      9: 'traceId id',
      10: 'spanId id',
      11: 'observedTimeUnixNano fixed64',
      12: 'eventName string',
    },
  },

  ResourceMetrics: {
    fields: {
      1: REQUEST_FIELDS.resource,
      2: 'scopeMetrics ScopeMetrics*',
      3: REQUEST_FIELDS.schemaUrl,
    },
  },
  ScopeMetrics: {
    fields: { 1: 'scope InstrumentationScope', 2: 'metrics Metric*', 3: REQUEST_FIELDS.schemaUrl },
  },
  Metric: {
    fields: {
      1: 'name string',
      2: 'description string',
      3: 'unit string',
      5: 'gauge Gauge',
      7: 'sum Sum',
      9: 'histogram Histogram',
      10: 'exponentialHistogram ExponentialHistogram',
      11: 'summary Summary',
      12: 'metadata KeyValue*',
    },
    oneOf: ['gauge', 'sum', 'histogram', 'exponentialHistogram', 'summary'],
  },
  Gauge: { fields: { 1: 'dataPoints NumberDataPoint*' } },
  Sum: {
    fields: {
      1: 'dataPoints NumberDataPoint*',
      2: 'aggregationTemporality int32',
      3: 'isMonotonic bool',
    },
  },
  Histogram: {
    fields: { 1: 'dataPoints HistogramDataPoint*', 2: 'aggregationTemporality int32' },
  },
  ExponentialHistogram: {
    fields: { 1: 'dataPoints ExponentialHistogramDataPoint*', 2: 'aggregationTemporality int32' },
  },
  Summary: { fields: { 1: 'dataPoints SummaryDataPoint*' } },
  NumberDataPoint: {
    fields: {
      2: 'startTimeUnixNano fixed64',
      3: 'timeUnixNano fixed64',
      4: 'asDouble double',
      5: 'exemplars Exemplar*',
      6: 'asInt sfixed64',
      7: 'attributes KeyValue*',
      8: 'flags uint32',
    },
    oneOf: ['asDouble', 'asInt'],
  },
  HistogramDataPoint: {
    fields: {
      2: 'startTimeUnixNano fixed64',
      3: 'timeUnixNano fixed64',
      4: 'count fixed64',
      5: 'sum double',
      6: 'bucketCounts fixed64*',
      7: 'explicitBounds double*',
      8: 'exemplars Exemplar*',
      9: 'attributes KeyValue*',
      10: 'flags uint32',
      11: 'min double',
      12: 'max double',
    },
  },
  ExponentialHistogramDataPoint: {
    fields: {
      1: 'attributes KeyValue*',
      2: 'startTimeUnixNano fixed64',
      3: 'timeUnixNano fixed64',
      4: 'count fixed64',
      5: 'sum double',
      6: 'scale sint32',
      7: 'zeroCount fixed64',
      8: 'positive Buckets',
      9: 'negative Buckets',
      10: 'flags uint32',
      11: 'exemplars Exemplar*',
      12: 'min double',
      13: 'max double',
      14: 'zeroThreshold double',
    },
  },
  Buckets: { fields: { 1: 'offset sint32', 2: 'bucketCounts uint64*' } },
  SummaryDataPoint: {
    fields: {
      2: 'startTimeUnixNano fixed64',
      3: 'timeUnixNano fixed64',
      4: 'count fixed64',
      5: 'sum double',
      6: 'quantileValues ValueAtQuantile*',
      7: 'attributes KeyValue*',
      8: 'flags uint32',
    },
  },
  ValueAtQuantile: { fields: { 1: 'quantile double', 2: 'value double' } },
  Exemplar: {
    fields: {
      2: 'timeUnixNano fixed64',
      3: 'asDouble double',
      4: 'spanId id',
      5: 'traceId id',
      6: 'asInt sfixed64',
      7: 'filteredAttributes KeyValue*',
    },
    oneOf: ['asDouble', 'asInt'],
  },
};

/** The request of each signal. */
export const REQUESTS: Readonly<Record<Signal, string>> = {
  traces: 'TracesRequest',
  metrics: 'MetricsRequest',
  logs: 'LogsRequest',
};
