/**
 * The messages of an OTLP export request: number, JSON name and type of every field (OTLP 1.11, opentelemetry-proto).
 * Fields that are not listed are skipped.
 *
 *   Message: number jsonName type, …      `*` repeated; `|` of several that exclude each other: the last one sent counts
 *
 * `id` is a trace or span id: bytes in protobuf, hexadecimal in OTLP/JSON. Enums are `int32`: OTLP/JSON
 * has them as numbers.
 */
import type { Signal } from '../../model/telemetry.ts';

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

interface FieldRow {
  readonly message: string;
  readonly number: number;
  readonly name: string;
  readonly type: string;
  readonly isList: boolean;
  readonly isOneOf: boolean;
}

const TABLE = `
TracesRequest: 1 resourceSpans ResourceSpans*
MetricsRequest: 1 resourceMetrics ResourceMetrics*
LogsRequest: 1 resourceLogs ResourceLogs*
Resource: 1 attributes KeyValue*, 2 droppedAttributesCount uint32
InstrumentationScope: 1 name string, 2 version string, 3 attributes KeyValue*,
  4 droppedAttributesCount uint32
KeyValue: 1 key string, 2 value AnyValue
AnyValue: 1 stringValue string|, 2 boolValue bool|, 3 intValue int64|, 4 doubleValue double|,
  5 arrayValue ArrayValue|, 6 kvlistValue KeyValueList|, 7 bytesValue bytes|
ArrayValue: 1 values AnyValue*
KeyValueList: 1 values KeyValue*
ResourceSpans: 1 resource Resource, 2 scopeSpans ScopeSpans*, 3 schemaUrl string
ScopeSpans: 1 scope InstrumentationScope, 2 spans Span*, 3 schemaUrl string
Span: 1 traceId id, 2 spanId id, 3 traceState string, 4 parentSpanId id, 5 name string,
  6 kind int32, 7 startTimeUnixNano fixed64, 8 endTimeUnixNano fixed64, 9 attributes KeyValue*,
  10 droppedAttributesCount uint32, 11 events Event*, 12 droppedEventsCount uint32, 13 links Link*,
  14 droppedLinksCount uint32, 15 status Status, 16 flags fixed32
Event: 1 timeUnixNano fixed64, 2 name string, 3 attributes KeyValue*,
  4 droppedAttributesCount uint32
Link: 1 traceId id, 2 spanId id, 3 traceState string, 4 attributes KeyValue*,
  5 droppedAttributesCount uint32, 6 flags fixed32
Status: 2 message string, 3 code int32
ResourceLogs: 1 resource Resource, 2 scopeLogs ScopeLogs*, 3 schemaUrl string
ScopeLogs: 1 scope InstrumentationScope, 2 logRecords LogRecord*, 3 schemaUrl string
LogRecord: 1 timeUnixNano fixed64, 2 severityNumber int32, 3 severityText string, 5 body AnyValue,
  6 attributes KeyValue*, 7 droppedAttributesCount uint32, 8 flags fixed32, 9 traceId id,
  10 spanId id, 11 observedTimeUnixNano fixed64, 12 eventName string
ResourceMetrics: 1 resource Resource, 2 scopeMetrics ScopeMetrics*, 3 schemaUrl string
ScopeMetrics: 1 scope InstrumentationScope, 2 metrics Metric*, 3 schemaUrl string
Metric: 1 name string, 2 description string, 3 unit string, 5 gauge Gauge|, 7 sum Sum|,
  9 histogram Histogram|, 10 exponentialHistogram ExponentialHistogram|, 11 summary Summary|,
  12 metadata KeyValue*
Gauge: 1 dataPoints NumberDataPoint*
Sum: 1 dataPoints NumberDataPoint*, 2 aggregationTemporality int32, 3 isMonotonic bool
Histogram: 1 dataPoints HistogramDataPoint*, 2 aggregationTemporality int32
ExponentialHistogram: 1 dataPoints ExponentialHistogramDataPoint*, 2 aggregationTemporality int32
Summary: 1 dataPoints SummaryDataPoint*
NumberDataPoint: 2 startTimeUnixNano fixed64, 3 timeUnixNano fixed64, 4 asDouble double|,
  5 exemplars Exemplar*, 6 asInt sfixed64|, 7 attributes KeyValue*, 8 flags uint32
HistogramDataPoint: 2 startTimeUnixNano fixed64, 3 timeUnixNano fixed64, 4 count fixed64,
  5 sum double, 6 bucketCounts fixed64*, 7 explicitBounds double*, 8 exemplars Exemplar*,
  9 attributes KeyValue*, 10 flags uint32, 11 min double, 12 max double
ExponentialHistogramDataPoint: 1 attributes KeyValue*, 2 startTimeUnixNano fixed64,
  3 timeUnixNano fixed64, 4 count fixed64, 5 sum double, 6 scale sint32, 7 zeroCount fixed64,
  8 positive Buckets, 9 negative Buckets, 10 flags uint32, 11 exemplars Exemplar*, 12 min double,
  13 max double, 14 zeroThreshold double
Buckets: 1 offset sint32, 2 bucketCounts uint64*
SummaryDataPoint: 2 startTimeUnixNano fixed64, 3 timeUnixNano fixed64, 4 count fixed64,
  5 sum double, 6 quantileValues ValueAtQuantile*, 7 attributes KeyValue*, 8 flags uint32
ValueAtQuantile: 1 quantile double, 2 value double
Exemplar: 2 timeUnixNano fixed64, 3 asDouble double|, 4 spanId id, 5 traceId id, 6 asInt sfixed64|,
  7 filteredAttributes KeyValue*
`;

const FIELD = /(\d+) (\w+) (\w+)([*|]?)/g;

export const FIELDS: readonly FieldRow[] = TABLE.split(/\n(?=\w)/).flatMap((line) => {
  const [message = '', fields = ''] = line.split(':');
  return [...fields.matchAll(FIELD)].map(([, number, name = '', type = '', mark]) => ({
    message,
    number: Number(number),
    name,
    type,
    isList: mark === '*',
    isOneOf: mark === '|',
  }));
});

export const REQUESTS: Readonly<Record<Signal, string>> = {
  traces: 'TracesRequest',
  metrics: 'MetricsRequest',
  logs: 'LogsRequest',
};
