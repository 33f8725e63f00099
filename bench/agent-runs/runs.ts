/**
 * Exports of agent runs, and of an ordinary service beside them. Data is a stream of runs of one service, cut
 * into requests of so many spans as an SDK's batches cut it, so a run may begin in one request and end in
 * the next. The same seed gives the same bytes.
 *
 *   plain    requests to a service: HTTP server, database, HTTP client; 5 spans each
 *   conv3    a run of 3 model calls: 1 agent, 3 model and 2 tool spans; conv10 and conv30 likewise
 */
import { hex, seeded } from '../bodies.ts';
import { makeConversation, type Random } from './conversation.ts';
import { type AgentData, MODEL_CALLS, type RunData } from './data.ts';
import { SPANS_PER_REQUEST, serviceSpans } from './service-spans.ts';
import { SERVICES, type Service, serviceOf } from './services.ts';
import { AI_SDK } from './shapes/ai-sdk.ts';
import { OPENINFERENCE } from './shapes/openinference.ts';
import { inferenceFacts, inferenceTexts, OTEL_GENAI } from './shapes/otel-genai.ts';
import type { Shape } from './shapes/shape.ts';
import { attributesOf, clockFrom, type Span, startOf, toSpan } from './spans.ts';

export const SHAPES: readonly Shape[] = [OTEL_GENAI, AI_SDK, OPENINFERENCE];

export const spansPerRun = (data: RunData): number =>
  data === 'plain' ? SPANS_PER_REQUEST : 2 * MODEL_CALLS[data];

/** The generator of a run: each run of each stream has one. */
const randomOf = (data: RunData, stream: number, run: number): Random =>
  seeded(Math.imul(run + 1, 0x9e3779b1) ^ Math.imul(stream + 1, 0x85ebca6b) ^ spansPerRun(data));

/** The spans of one run in a product's form, in the order in which they end: the agent's last. */
function runSpans(
  data: AgentData,
  shape: Shape,
  service: Service,
  random: Random,
  run: number,
): Span[] {
  const conversation = makeConversation(random, MODEL_CALLS[data]);
  const traceId = hex(random, 32);
  const rootId = hex(random, 16);
  const start = startOf(random, run);
  const next = clockFrom(random, start);
  const ids = { traceId, parentSpanId: rootId };
  const steps = conversation.calls.flatMap(({ tool }, place) => [
    toSpan(random, shape.model(service, conversation, place), ids, next(700, 9000)),
    ...(tool === null ? [] : [toSpan(random, shape.tool(service, tool), ids, next(4, 900))]),
  ]);
  const agent = shape.agent(service, conversation);
  const { end } = next(0, 1);
  return [...steps, toSpan(random, agent, { traceId, parentSpanId: null }, { start, end }, rootId)];
}

/** A log record for each model call of a run, as instrumentations that send events write it. */
function runRecords(data: AgentData, service: Service, random: Random, run: number) {
  const conversation = makeConversation(random, MODEL_CALLS[data]);
  const traceId = hex(random, 32);
  const next = clockFrom(random, startOf(random, run));
  return conversation.calls.map((_, place) => {
    const texts = inferenceTexts(service, conversation, place);
    const time = String(next(700, 9000).end);
    return {
      timeUnixNano: time,
      observedTimeUnixNano: time,
      severityNumber: 9,
      eventName: 'gen_ai.client.inference.operation.details',
      attributes: attributesOf({ ...inferenceFacts(service, texts), ...texts }),
      droppedAttributesCount: 0,
      flags: 1,
      traceId,
      spanId: hex(random, 16),
    };
  });
}

/** So many items of a stream of runs from `first` on. @param itemsOf the items of a run */
function cut<T>(
  itemsOf: (run: number) => readonly T[],
  perRun: number,
  first: number,
  count: number,
) {
  const run = Math.floor(first / perRun);
  const skipped = first - run * perRun;
  const items: T[] = [];
  for (let next = run; items.length < skipped + count; next += 1) items.push(...itemsOf(next));
  return items.slice(skipped, skipped + count);
}

const resourceOf = (service: string) => ({
  attributes: attributesOf({
    'service.name': service,
    'service.version': '1.4.2',
    'deployment.environment.name': 'production',
    'telemetry.sdk.language': 'nodejs',
    'telemetry.sdk.name': 'opentelemetry',
    'telemetry.sdk.version': '2.12.0',
    'host.name': 'worker-7',
  }),
  droppedAttributesCount: 0,
});

/** The streams take turns: each shape with each service. */
const STREAMS = SHAPES.length * SERVICES;
const HTTP_SCOPE = { name: '@opentelemetry/instrumentation-http', version: '0.223.0' };

function traces(service: string, scope: Shape['scope'], spans: readonly Span[]): Buffer {
  const scopeSpans = [{ scope, spans }];
  const resourceSpans = [{ resource: resourceOf(service), scopeSpans }];
  return Buffer.from(JSON.stringify({ resourceSpans }));
}

/** Spans of a stream from `first` on, as one trace export. */
function exported(data: RunData, stream: number, first: number, spans: number): Buffer {
  const perRun = spansPerRun(data);
  if (data === 'plain') {
    const requests = (run: number) => serviceSpans(randomOf(data, stream, run), run);
    return traces('shop-api', HTTP_SCOPE, cut(requests, perRun, first, spans));
  }
  const shape = SHAPES[stream % SHAPES.length] ?? OTEL_GENAI;
  const service = serviceOf(stream);
  const runs = (run: number) => runSpans(data, shape, service, randomOf(data, stream, run), run);
  return traces(service.name, shape.scope, cut(runs, perRun, first, spans));
}

/** Where a stream begins in its first run: not all of them at the beginning, where steps are short. */
const beginningOf = (stream: number, streams: number, perRun: number): number =>
  Math.floor((perRun * stream) / streams);

/**
 * One trace export.
 *
 * @param seed its shape, its service, and its place in their stream
 * @param spans how many spans it holds
 */
export function runBody(data: RunData, seed: number, spans: number): Buffer {
  const stream = seed % STREAMS;
  const beginning = beginningOf(stream, STREAMS, spansPerRun(data));
  return exported(data, stream, beginning + Math.floor(seed / STREAMS) * spans, spans);
}

/** One trace export of whole runs. @param seed as above @param runs how many runs it holds */
export function wholeRunsBody(data: RunData, seed: number, runs: number): Buffer {
  const spans = runs * spansPerRun(data);
  return exported(data, seed % STREAMS, Math.floor(seed / STREAMS) * spans, spans);
}

/** One log export: the model calls of agent runs as events. @param records how many it holds */
export function runLogBody(data: AgentData, seed: number, records: number): Buffer {
  const stream = seed % SERVICES;
  const service = serviceOf(stream);
  const perRun = MODEL_CALLS[data];
  const first = beginningOf(stream, SERVICES, perRun) + Math.floor(seed / SERVICES) * records;
  const runs = (run: number) => runRecords(data, service, randomOf(data, stream, run), run);
  const logRecords = cut(runs, perRun, first, records);
  const resource = resourceOf(service.name);
  const scopeLogs = [{ scope: OTEL_GENAI.scope, logRecords }];
  return Buffer.from(JSON.stringify({ resourceLogs: [{ resource, scopeLogs }] }));
}
