/**
 * OTLP bodies (opentelemetry-proto), for `/openapi.json` only: requests are checked by the decoder in
 * `src/otlp/`, which accepts more fields than are described here. A field that is null means its
 * default.
 */
import { z } from 'zod';

import { ENUM_MAX } from '../../../otlp/fields.ts';
import { component } from '../openapi/component.ts';

const traceId = z
  .string()
  .regex(/^[0-9a-fA-F]{32}$/)
  .describe('32 hexadecimal digits, not all zero.');
const spanId = z
  .string()
  .regex(/^[0-9a-fA-F]{16}$/)
  .describe('16 hexadecimal digits, not all zero.');
const uint64 = z.union([z.string().regex(/^\d{1,19}$/), z.int().min(0)]);
const nanoseconds = (description: string) => uint64.describe(`${description}, ns since 1970.`);
const uint32 = z.int().min(0).max(0xffffffff);
const text = z.string().optional();

const anyValue: z.ZodType = component(
  'AnyValue',
  z
    .object({
      stringValue: text,
      boolValue: z.boolean().optional(),
      intValue: z
        .union([z.string().regex(/^-?\d{1,19}$/), z.int()])
        .optional()
        .describe('A string where it has more than 53 bits.'),
      doubleValue: z.union([z.number(), z.string()]).optional(),
      bytesValue: text.describe('Base64.'),
      arrayValue: z.object({ values: z.array(z.lazy(() => anyValue)).optional() }).optional(),
      kvlistValue: z.object({ values: z.array(z.lazy(() => keyValue)).optional() }).optional(),
    })
    .describe('A value: one of these members. Nothing set is an empty value.'),
);

const keyValue: z.ZodType = component(
  'KeyValue',
  z.object({ key: z.string(), value: anyValue.optional() }).describe('An attribute.'),
);

const attributes = z.array(keyValue).optional();

const resource = component(
  'Resource',
  z
    .object({ attributes, droppedAttributesCount: uint32.optional() })
    .describe('What sends; its `service.name` names it.'),
);

const scope = component(
  'InstrumentationScope',
  z
    .object({ name: text, version: text, attributes })
    .describe('The instrumentation that made the records.'),
);

const enumValue = z
  .int()
  .min(-ENUM_MAX - 1)
  .max(ENUM_MAX);

const span = component(
  'Span',
  z
    .object({
      traceId,
      spanId,
      parentSpanId: z
        .union([spanId, z.literal('')])
        .optional()
        .describe('Absent, empty or zeros: the root, whose arrival finishes the run.'),
      name: text,
      kind: enumValue.optional().describe('0 to 5; other values are kept.'),
      startTimeUnixNano: nanoseconds('Begin').optional(),
      endTimeUnixNano: nanoseconds('End').optional(),
      attributes,
      events: z
        .array(z.object({ name: text, timeUnixNano: nanoseconds('When').optional(), attributes }))
        .optional(),
      links: z
        .array(z.object({ traceId: text, spanId: text, attributes }))
        .optional()
        .describe('Ids that are none are stored as they are sent.'),
      status: z
        .object({ code: enumValue.optional(), message: text })
        .optional()
        .describe('Code 0 unset, 1 ok, 2 error; 2 at the root makes the run `failed`.'),
      traceState: text,
      flags: uint32.optional(),
    })
    .describe('A step of a run. A span with another value in one of these fields is set aside.'),
);

const logRecord = component(
  'LogRecord',
  z
    .object({
      traceId: z
        .union([traceId, z.literal('')])
        .optional()
        .describe('The run it belongs to.'),
      spanId: z.union([spanId, z.literal('')]).optional(),
      timeUnixNano: nanoseconds('When it happened').optional(),
      observedTimeUnixNano: nanoseconds('When it was seen').optional(),
      severityNumber: enumValue.optional().describe('0 to 24; other values are kept.'),
      severityText: text,
      eventName: text,
      body: anyValue.optional(),
      attributes,
      flags: uint32.optional(),
    })
    .describe('A log record or event.'),
);

const numberPoint = z.object({
  attributes,
  startTimeUnixNano: nanoseconds('Begin').optional(),
  timeUnixNano: nanoseconds('When'),
  asInt: z.union([z.string().regex(/^-?\d{1,19}$/), z.int()]).optional(),
  asDouble: z.union([z.number(), z.string()]).optional(),
});
const temporality = z.int().min(1).max(2).describe('1 delta, 2 cumulative.');
const otherPoints = z.array(z.looseObject({ timeUnixNano: nanoseconds('When') })).optional();

const metric = component(
  'Metric',
  z
    .object({
      name: text,
      description: text,
      unit: text,
      gauge: z.object({ dataPoints: z.array(numberPoint).optional() }).optional(),
      sum: z
        .object({
          dataPoints: z.array(numberPoint).optional(),
          aggregationTemporality: temporality,
          isMonotonic: z.boolean().optional(),
        })
        .optional(),
      histogram: z
        .object({ dataPoints: otherPoints, aggregationTemporality: temporality })
        .optional(),
      exponentialHistogram: z
        .object({ dataPoints: otherPoints, aggregationTemporality: temporality })
        .optional(),
      summary: z.object({ dataPoints: otherPoints }).optional(),
    })
    .describe('A metric with exactly one of gauge, sum, histogram and so on.'),
);

export const traceRequest = component(
  'ExportTraceServiceRequest',
  z
    .object({
      resourceSpans: z
        .array(
          z.object({
            resource: resource.optional(),
            scopeSpans: z
              .array(z.object({ scope: scope.optional(), spans: z.array(span).optional() }))
              .optional(),
          }),
        )
        .optional(),
    })
    .describe('Spans, by the resource and scope they come from.'),
);

export const metricsRequest = component(
  'ExportMetricsServiceRequest',
  z
    .object({
      resourceMetrics: z
        .array(
          z.object({
            resource: resource.optional(),
            scopeMetrics: z
              .array(z.object({ scope: scope.optional(), metrics: z.array(metric).optional() }))
              .optional(),
          }),
        )
        .optional(),
    })
    .describe('Metrics, by the resource and scope they come from.'),
);

export const logsRequest = component(
  'ExportLogsServiceRequest',
  z
    .object({
      resourceLogs: z
        .array(
          z.object({
            resource: resource.optional(),
            scopeLogs: z
              .array(
                z.object({ scope: scope.optional(), logRecords: z.array(logRecord).optional() }),
              )
              .optional(),
          }),
        )
        .optional(),
    })
    .describe('Log records, by the resource and scope they come from.'),
);

/** The answer to an export: empty when every record was stored. */
const exportResponse = (signal: string, rejected: string, what: string) =>
  component(
    `Export${signal}ServiceResponse`,
    z
      .object({
        partialSuccess: z
          .object({
            [rejected]: z.string().regex(/^\d+$/).describe(`How many ${what} were set aside.`),
            errorMessage: z
              .string()
              .describe('Each reason with its count and the path of the first.'),
          })
          .optional(),
      })
      .describe(`Empty when all ${what} were stored; the answer comes after the commit.`),
  );

export const traceResponse = exportResponse('Trace', 'rejectedSpans', 'spans');
export const metricsResponse = exportResponse('Metrics', 'rejectedDataPoints', 'data points');
export const logsResponse = exportResponse('Logs', 'rejectedLogRecords', 'log records');
