/** The input of `sluice scan`: an OTLP export of traces or logs, or plain text. */
import { LogRuns } from '../db/telemetry/log-runs.ts';
import { OperatorError } from '../errors.ts';
import type { JsonObject, JsonValue } from '../model/json.ts';
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
const LOGS = /^\s*\{\s*"resourceLogs"\s*:/;

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

function toRuns(request: DecodedRequest): Map<string, Step[]> {
  const resources = new Map(request.resources.map((resource) => [resource.id, resource]));
  const runs = new Map<string, Step[]>();
  const add = (runId: string, step: Step): void => {
    const steps = runs.get(runId);
    if (steps === undefined) runs.set(runId, [step]);
    else steps.push(step);
  };
  for (const span of request.spans) {
    const { scopeName = '', serviceName = null } = resources.get(span.resourceId) ?? {};
    add(span.traceId, toStep(span, scopeName, serviceName));
  }
  const logRuns = new LogRuns().assign(request.logs, 0).runs;
  for (const log of request.logs) {
    const { scopeName = '', serviceName = null } = resources.get(log.resourceId) ?? {};
    const runId = log.traceId ?? logRuns.get(log)?.runId;
    if (runId !== undefined) add(runId, logToStep(log, scopeName, serviceName));
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
  const decode = TRACES.test(text) ? decodeTraces : LOGS.test(text) ? decodeLogs : null;
  if (decode === null) return { kind: 'text', text };
  const result = decode(bytes);
  if (!result.ok) throw new OperatorError(`Not an OTLP export: ${result.path} ${result.message}`);
  const { request } = result;
  return { kind: 'runs', runs: toRuns(request), rejections: request.rejections };
}
