/**
 * Builds export requests for the decoder's tests: the frame around records, and records that are
 * valid in every field, to be changed one field at a time.
 */

import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import type { DecodedRequest } from '../../src/model/telemetry.ts';
import type { DecodeResult } from '../../src/otlp/envelope.ts';

export const TRACE_ID = '5b8efff798038103d269b633813fc60c';
export const SPAN_ID = 'eee19b7ec3c1b174';

/** The body of an export with one resource and one scope, in JSON bytes. */
export function tracesBody(spans: JsonValue): Buffer {
  return toBody({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
}

export function logsBody(logRecords: JsonValue): Buffer {
  return toBody({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
}

export function metricsBody(metrics: JsonValue): Buffer {
  return toBody({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] });
}

export function toBody(value: JsonValue): Buffer {
  return Buffer.from(JSON.stringify(value));
}

export function span(changes: JsonObject = {}): JsonObject {
  return { traceId: TRACE_ID, spanId: SPAN_ID, ...changes };
}

/** One metric with one point, which lacks nothing but its value. */
export function metric(kind: string, point: JsonValue, data: JsonObject = {}): JsonObject {
  return { name: 'm', [kind]: { ...data, dataPoints: [point] } };
}

/** One attribute value as a list of one attribute named `k`. */
export function attributes(value: JsonValue): JsonValue {
  return [{ key: 'k', value }];
}

/** The request, or a failed test that says why there is none. */
export function accepted(result: DecodeResult): DecodedRequest {
  if (!result.ok) throw new Error(`undecodable at "${result.path}": ${result.message}`);
  return result.request;
}
