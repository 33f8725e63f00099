/**
 * Sends a conversation as an agent run: spans created and exported by the OpenTelemetry SDK over
 * OTLP/HTTP JSON, with the names of the GenAI semantic conventions
 * (opentelemetry.io/docs/specs/semconv/gen-ai). Uses nothing of Sluice but an address and a key.
 *
 *   invoke_agent ─┬─ chat ── execute_tool ── chat ── … ── chat
 */
import { type Context, context, SpanKind, type Tracer, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  NodeTracerProvider,
} from '@opentelemetry/sdk-trace-node';

import type { Conversation, Turn } from './conversations.ts';

const MODEL = 'demo-model-1';
const PROVIDER = 'demo';
/** Durations of a model call and a tool call in the simulated run. */
const CHAT_MS = 900;
const TOOL_MS = 250;
const EXPORT_TIMEOUT_MS = 10_000;
const CHARS_PER_TOKEN = 4;

export interface Destination {
  /** address of the OTLP default paths, without a trailing slash */
  readonly observeUrl: string;
  readonly agentKey: string;
}

interface Part {
  readonly type: 'text' | 'tool_call' | 'tool_call_response';
  readonly [member: string]: unknown;
}
interface Message {
  readonly role: 'user' | 'assistant' | 'tool';
  readonly parts: readonly Part[];
}

function say(role: Message['role'], content: string): Message {
  return { role, parts: [{ type: 'text', content }] };
}

/** Simulated time: each step begins when the previous one has ended. */
function simulatedClock(startMs: number) {
  let nowMs = startMs;
  return {
    now: (): Date => new Date(nowMs),
    pass: (ms: number): void => {
      nowMs += ms;
    },
  };
}
type Clock = ReturnType<typeof simulatedClock>;

function tokens(messages: readonly Message[]): number {
  return Math.ceil(JSON.stringify(messages).length / CHARS_PER_TOKEN);
}

function answerOf(turn: Turn, callId: string): Message {
  if ('says' in turn) return say('assistant', turn.says);
  const call = { type: 'tool_call' as const, id: callId, name: turn.tool, arguments: turn.args };
  return { role: 'assistant', parts: [call] };
}

/** One call of the model, with its messages and answer. */
function chat(
  tracer: Tracer,
  clock: Clock,
  parent: Context,
  shown: readonly Message[],
  turn: Turn,
  callId: string,
): Message {
  const answer = answerOf(turn, callId);
  const finish = 'says' in turn ? 'stop' : 'tool_call';
  const span = tracer.startSpan(
    `chat ${MODEL}`,
    {
      kind: SpanKind.CLIENT,
      startTime: clock.now(),
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': PROVIDER,
        'gen_ai.request.model': MODEL,
        'gen_ai.response.model': MODEL,
        'gen_ai.response.finish_reasons': [finish],
        'gen_ai.usage.input_tokens': tokens(shown),
        'gen_ai.usage.output_tokens': tokens([answer]),
        'gen_ai.input.messages': JSON.stringify(shown),
        'gen_ai.output.messages': JSON.stringify([{ ...answer, finish_reason: finish }]),
      },
    },
    parent,
  );
  clock.pass(CHAT_MS);
  span.end(clock.now());
  return answer;
}

/** One call of a tool. */
function executeTool(
  tracer: Tracer,
  clock: Clock,
  parent: Context,
  turn: Extract<Turn, { tool: string }>,
  callId: string,
): Message {
  const span = tracer.startSpan(
    `execute_tool ${turn.tool}`,
    {
      kind: SpanKind.INTERNAL,
      startTime: clock.now(),
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': turn.tool,
        'gen_ai.tool.type': 'function',
        'gen_ai.tool.call.id': callId,
        'gen_ai.tool.call.arguments': JSON.stringify(turn.args),
        'gen_ai.tool.call.result': turn.result,
      },
    },
    parent,
  );
  clock.pass(TOOL_MS);
  span.end(clock.now());
  return {
    role: 'tool',
    parts: [{ type: 'tool_call_response', id: callId, response: turn.result }],
  };
}

/** Plays the whole conversation; its spans end in the tracer's processor. */
function play(tracer: Tracer, conversation: Conversation): string {
  const { agent, user, turns } = conversation;
  const runMs = turns.reduce((sum, turn) => sum + CHAT_MS + ('tool' in turn ? TOOL_MS : 0), 0);
  const clock = simulatedClock(Date.now() - runMs - (conversation.agoMs ?? 0));
  const messages: Message[] = [say('user', user)];
  const root = tracer.startSpan(
    `invoke_agent ${agent}`,
    {
      kind: SpanKind.INTERNAL,
      startTime: clock.now(),
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.provider.name': PROVIDER,
        'gen_ai.agent.name': agent,
        ...(conversation.userId && { 'user.id': conversation.userId }),
        ...(conversation.sessionId && { 'gen_ai.conversation.id': conversation.sessionId }),
        'gen_ai.request.model': MODEL,
        'gen_ai.input.messages': JSON.stringify(messages),
      },
    },
    context.active(),
  );
  const inside = trace.setSpan(context.active(), root);
  for (const [index, turn] of turns.entries()) {
    const callId = `call_${index + 1}`;
    messages.push(chat(tracer, clock, inside, [...messages], turn, callId));
    if ('tool' in turn) messages.push(executeTool(tracer, clock, inside, turn, callId));
  }
  root.setAttribute('gen_ai.output.messages', JSON.stringify(messages.slice(-1)));
  root.end(clock.now());
  return root.spanContext().traceId;
}

/**
 * Sends one conversation as a finished run.
 *
 * @returns the run's id (its trace id, 32 hexadecimal digits), once the server has answered 200
 * @throws the exporter's error when the server refuses or cannot be reached
 */
export async function sendRun(
  conversation: Conversation,
  { observeUrl, agentKey }: Destination,
): Promise<string> {
  const processor = new BatchSpanProcessor(
    new OTLPTraceExporter({
      url: `${observeUrl}/v1/traces`,
      headers: { Authorization: `Bearer ${agentKey}` },
      timeoutMillis: EXPORT_TIMEOUT_MS,
    }),
  );
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': conversation.agent }),
    // Said here, or OTEL_TRACES_SAMPLER of somebody's shell could drop the run.
    sampler: new AlwaysOnSampler(),
    spanProcessors: [processor],
  });
  try {
    const runId = play(provider.getTracer('sluice-demo'), conversation);
    // Of the processor, not of the provider: only this one rejects with the exporter's own error.
    await processor.forceFlush();
    return runId;
  } finally {
    await provider.shutdown();
  }
}
