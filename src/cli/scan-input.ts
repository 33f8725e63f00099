/** What `sluice scan` is given: an OTLP trace export, or plain text. */
import { OperatorError } from '../errors.ts';
import type { DecodedRequest, JsonObject, SpanEvent, SpanRow, Step } from '../model.ts';
import { decodeTraces } from '../otlp/traces.ts';

export type ScanInput =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'runs'; readonly runs: ReadonlyMap<string, readonly Step[]> };

const LOOKS_LIKE_EXPORT = /^\s*\{\s*"resourceSpans"\s*:/;

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
  };
}

function byTime(a: Step, b: Step): number {
  const difference = BigInt(a.startUnixNano) - BigInt(b.startUnixNano);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

function toRuns(request: DecodedRequest): Map<string, Step[]> {
  const resources = new Map(request.resources.map((resource) => [resource.id, resource]));
  const runs = new Map<string, Step[]>();
  for (const span of request.spans) {
    const resource = resources.get(span.resourceId);
    const steps = runs.get(span.traceId) ?? [];
    steps.push(toStep(span, resource?.scopeName ?? '', resource?.serviceName ?? null));
    runs.set(span.traceId, steps);
  }
  for (const steps of runs.values()) steps.sort(byTime);
  return runs;
}

/**
 * Reads what is to be scanned.
 *
 * @throws {OperatorError} when it starts like an OTLP export and is not one
 */
export function parseScanInput(bytes: Buffer): ScanInput {
  const text = bytes.toString('utf8');
  if (!LOOKS_LIKE_EXPORT.test(text)) return { kind: 'text', text };
  const result = decodeTraces(bytes);
  if (!result.ok) throw new OperatorError(`Not a trace export: ${result.path} ${result.message}`);
  return { kind: 'runs', runs: toRuns(result.request) };
}
