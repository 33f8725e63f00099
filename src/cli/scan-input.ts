/**
 * The input of `sluice scan`: an OTLP export of traces or logs, or one export per line, as the OpenTelemetry
 * Collector's file exporter writes them; else plain text.
 */
import { hash } from 'node:crypto';

import { LogRuns } from '../db/telemetry/log-runs.ts';
import { OperatorError } from '../errors.ts';
import type { JsonObject, JsonValue } from '../model/json.ts';
import { SentSpans } from '../model/repeated-spans.ts';
import { inTimeOrder } from '../model/step-order.ts';
import type { SpanEvent, Step } from '../model/steps.ts';
import type { DecodedRequest, LogRow, Rejection, SpanRow } from '../model/telemetry.ts';
import { decodeLogs } from '../otlp/logs.ts';
import { decodeTraces } from '../otlp/traces.ts';

export type ScanInput =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'runs';
      readonly runs: ReadonlyMap<string, readonly Step[]>;
      /** rejected records, by reason */
      readonly rejections: readonly Rejection[];
    };

const TRACES = /^\s*\{\s*"resourceSpans"\s*:/;
const METRICS = /^\s*\{\s*"resourceMetrics"\s*:/;
const EXPORT = /^\s*\{\s*"resource(?:Spans|Logs|Metrics)"\s*:/;

function toStep(span: SpanRow, scopeName: string, serviceName: string | null): Step {
  const events = span.events === null ? [] : (JSON.parse(span.events) as SpanEvent[]);
  return {
    source: 'span',
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    name: span.name,
    startUnixNano: span.startUnixNano,
    endUnixNano: span.endUnixNano,
    statusCode: span.statusCode,
    statusMessage: span.statusMessage,
    scopeName,
    serviceName,
    attributes: JSON.parse(span.attributes) as JsonObject,
    events: events.map(({ name, attributes }) => ({ name, attributes: attributes ?? {} })),
    body: null,
    dropped: span.droppedAttributes + span.droppedEvents,
    hasRemoteParent: (span.flags & 0x300) === 0x300,
  };
}

function logToStep(log: LogRow, scopeName: string, serviceName: string | null): Step {
  const time = log.timeUnixNano === '0' ? log.observedUnixNano : log.timeUnixNano;
  return {
    source: 'log',
    spanId: log.spanId,
    parentSpanId: null,
    name: log.eventName,
    startUnixNano: time,
    endUnixNano: time,
    statusCode: 0,
    statusMessage: '',
    scopeName,
    serviceName,
    attributes: JSON.parse(log.attributes) as JsonObject,
    events: [],
    body: log.body === null ? null : (JSON.parse(log.body) as JsonValue),
    dropped: log.droppedAttributes,
    hasRemoteParent: false,
  };
}

function toRuns(requests: readonly DecodedRequest[]): Map<string, readonly Step[]> {
  const runs = new Map<string, Step[]>();
  const add = (runId: string, step: Step): void => {
    const steps = runs.get(runId);
    if (steps === undefined) runs.set(runId, [step]);
    else steps.push(step);
  };
  const logRuns = new LogRuns();
  const sent = new SentSpans<true>();
  for (const request of requests) {
    const resources = new Map(request.resources.map((resource) => [resource.id, resource]));
    const { runs: assigned } = logRuns.assign(request, 0);
    for (const span of request.spans) {
      const content = hash('sha256', JSON.stringify(span), 'base64');
      if (sent.repeatedBy(true, span.traceId, span.spanId, content) !== null) continue;
      const { scopeName = '', serviceName = null } = resources.get(span.resourceId) ?? {};
      const runId = assigned.get(span)?.runId ?? span.traceId;
      add(runId, toStep(span, scopeName, serviceName));
    }
    for (const log of request.logs) {
      const { scopeName = '', serviceName = null } = resources.get(log.resourceId) ?? {};
      const runId = assigned.get(log)?.runId ?? log.traceId;
      if (runId !== null) add(runId, logToStep(log, scopeName, serviceName));
    }
  }
  return new Map([...runs].map(([runId, steps]) => [runId, inTimeOrder(steps)]));
}

/**
 * Parses the input.
 *
 * @throws {OperatorError} when it starts like an OTLP export and is not one
 */
export function parseScanInput(bytes: Buffer): ScanInput {
  const text = bytes.toString('utf8');
  const first = firstLine(text);
  if (EXPORT.test(first) && isWhole(first)) return parseLines(text);
  if (!EXPORT.test(text)) return { kind: 'text', text };
  return runsOf([decoded(bytes, text, 'Not an OTLP export')]);
}

function firstLine(text: string): string {
  const trimmed = text.trimStart();
  const end = trimmed.indexOf('\n');
  return end === -1 || trimmed.slice(end).trim() === '' ? '' : trimmed.slice(0, end);
}

function isWhole(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

function parseLines(text: string): ScanInput {
  const requests: DecodedRequest[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    // Metrics have no text that a rule could match.
    if (line.trim() === '' || METRICS.test(line)) continue;
    requests.push(decoded(Buffer.from(line), line, `Line ${index + 1} is not an OTLP export`));
  }
  return runsOf(requests);
}

function decoded(bytes: Buffer, text: string, fault: string): DecodedRequest {
  const decode = TRACES.test(text) ? decodeTraces : decodeLogs;
  const result = decode(bytes);
  if (result.ok) return result.request;
  throw new OperatorError(`${fault}: ${result.path} ${result.message}`);
}

function runsOf(requests: readonly DecodedRequest[]): ScanInput {
  const rejections = requests.flatMap((request) => request.rejections);
  return { kind: 'runs', runs: toRuns(requests), rejections };
}
